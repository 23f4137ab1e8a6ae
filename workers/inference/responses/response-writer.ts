import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { GrowingText } from '../growing-text.ts';
import { isObject, type JsonObject } from '#shared/kernel/json-object.ts';
import {
  calledBy,
  callsIn,
  cutShortBy,
  type ItemKind,
  itemIdOf,
  logprobsIn,
  reasoningIn,
  reasoningPart,
  refusalPart,
  textIn,
  textPart,
} from './output.ts';

export interface ResponseWriterOptions {
  /** The request as its caller sent it: much of it is repeated in the answer. */
  body: string;
  requestId: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** The model's id in the catalogue. */
  model: string;
  /** The id of the response that it goes on from. */
  previous?: string | undefined;
  /** Takes each event of a stream as JSON text; without it nothing is streamed. */
  emit?: (payload: string) => void;
}

/** A part of an item: text that grows. */
interface Part {
  kind: 'reasoning_text' | 'output_text' | 'refusal';
  text: GrowingText;
  logprobs: unknown[];
}

interface Item {
  kind: ItemKind;
  id: string;
  index: number;
  parts: Part[];
  callId: string;
  name: string;
  /** Arguments of a function, input of a custom tool. */
  input: GrowingText;
  isDone: boolean;
}

/** What a stream of a chat server says of a call before it has named it. */
interface Unnamed {
  callId: string;
  input: GrowingText;
}

/**
 * Writes the answer of a chat server as a response of OpenAI's newer interface: an object in the end, and the events that
 * lead to it, in their order and numbered. Text and reasoning end when something else begins; calls stay open until the
 * end, because servers may take turns between them.
 */
export class ResponseWriter {
  readonly #options: ResponseWriterOptions;
  readonly #request: JsonObject;
  readonly #items: Item[] = [];
  /** Calls by their index in the chunks of the stream. */
  readonly #calls = new Map<number, Item | Unnamed>();
  #speaking: Item | undefined;
  #reason: unknown;
  #sequence = 0;

  constructor(options: ResponseWriterOptions) {
    this.#options = options;
    this.#request = JSON.parse(options.body) as JsonObject;
  }

  /** Announces the response. */
  begin(): void {
    const response = this.#response('in_progress');
    this.#emit('response.created', { response });
    this.#emit('response.in_progress', { response });
  }

  /** Takes a choice of a chat completion, or a piece of one. */
  take(choice: JsonObject): void {
    const said = choice['delta'] ?? choice['message'];
    if (isObject(said)) this.#takeSaid(said, logprobsIn(choice));
    if (choice['finish_reason'] != null) this.#reason = choice['finish_reason'];
  }

  /**
   * Ends what is open, and returns the response.
   * @param isFinished whether its server says that the answer is whole
   */
  end(usage: Usage | UnknownUsage, reasoningTokens: number, isFinished = true): JsonObject {
    for (const call of this.#calls.values())
      if (!('kind' in call))
        this.#addInput(this.#openCall('function_call', call.callId, ''), String(call.input));
    if (this.#items.length === 0) this.#say('message', 'output_text', '', []);
    const cut = cutShortBy(this.#reason);
    for (const item of this.#items) this.#done(item);
    const status = isFinished ? (cut === undefined ? 'completed' : 'incomplete') : 'failed';
    const response = this.#response(status);
    if (cut !== undefined && isFinished) response['incomplete_details'] = { reason: cut };
    if (!isFinished) response['error'] = UNFINISHED;
    response['output'] = this.#items.map((item) => itemOf(item, this.#statusOf(item)));
    response['usage'] = responseUsage(usage, reasoningTokens);
    return response;
  }

  /** The last event of the stream, which holds the response. */
  lastEvent(response: JsonObject): string {
    return this.#event(`response.${String(response['status'])}`, { response });
  }

  #takeSaid(said: JsonObject, logprobs: readonly unknown[]): void {
    const reasoning = reasoningIn(said);
    if (reasoning !== '') this.#say('reasoning', 'reasoning_text', reasoning, []);
    const text = textIn(said, 'content');
    if (text !== '') this.#say('message', 'output_text', text, logprobs);
    const refusal = textIn(said, 'refusal');
    if (refusal !== '') this.#say('message', 'refusal', refusal, []);
    for (const [at, call] of callsIn(said).entries()) this.#takeCall(call, at);
  }

  #say(
    kind: 'reasoning' | 'message',
    partKind: Part['kind'],
    text: string,
    logprobs: readonly unknown[],
  ): void {
    if (this.#speaking?.kind !== kind) {
      this.#endSpeaking();
      this.#speaking = this.#open(kind);
    }
    const item = this.#speaking;
    let part = item.parts.at(-1);
    if (part?.kind !== partKind) {
      if (part !== undefined) this.#donePart(item, part);
      part = { kind: partKind, text: new GrowingText(), logprobs: [] };
      item.parts.push(part);
      this.#emit('response.content_part.added', { ...placeOf(item), part: partOf(part) });
    }
    if (text === '') return;
    part.text.add(text);
    part.logprobs.push(...logprobs);
    const delta = partKind === 'output_text' ? { delta: text, logprobs } : { delta: text };
    this.#emit(`response.${partKind}.delta`, { ...placeOf(item), ...delta });
  }

  #takeCall(call: JsonObject, at: number): void {
    const key = typeof call['index'] === 'number' ? call['index'] : at;
    const { kind, callId, name, input } = calledBy(call);
    const known = this.#calls.get(key);
    if (known !== undefined && 'kind' in known) return this.#addInput(known, input);
    const unnamed: Unnamed = known ?? { callId: '', input: new GrowingText() };
    unnamed.callId ||= callId;
    unnamed.input.add(input);
    // Its item begins with the name of what is called.
    if (name === '') {
      this.#calls.set(key, unnamed);
      return;
    }
    const item = this.#openCall(kind, unnamed.callId, name);
    this.#calls.set(key, item);
    this.#addInput(item, String(unnamed.input));
  }

  #openCall(kind: 'function_call' | 'custom_tool_call', callId: string, name: string): Item {
    this.#endSpeaking();
    return this.#open(kind, callId, name);
  }

  #addInput(item: Item, delta: string): void {
    if (delta === '') return;
    item.input.add(delta);
    this.#emit(`${INPUT_EVENTS[item.kind]}.delta`, { ...whereIs(item), delta });
  }

  #open(kind: ItemKind, callId = '', name = ''): Item {
    const index = this.#items.length;
    const id = itemIdOf(kind, this.#options.requestId, index);
    const item: Item = {
      kind,
      id,
      index,
      parts: [],
      callId: callId === '' ? `call_${id}` : callId,
      name,
      input: new GrowingText(),
      isDone: false,
    };
    this.#items.push(item);
    this.#emit('response.output_item.added', {
      output_index: index,
      item: itemOf(item, 'in_progress'),
    });
    return item;
  }

  #endSpeaking(): void {
    if (this.#speaking !== undefined) this.#done(this.#speaking);
    this.#speaking = undefined;
  }

  #done(item: Item): void {
    if (item.isDone) return;
    item.isDone = true;
    const part = item.parts.at(-1);
    if (part !== undefined) this.#donePart(item, part);
    const input = String(item.input);
    if (item.kind === 'function_call')
      this.#emit('response.function_call_arguments.done', { ...whereIs(item), arguments: input });
    if (item.kind === 'custom_tool_call')
      this.#emit('response.custom_tool_call_input.done', { ...whereIs(item), input });
    this.#emit('response.output_item.done', {
      output_index: item.index,
      item: itemOf(item, this.#statusOf(item)),
    });
  }

  /** Only the item that the end of the answer cut off is incomplete. */
  #statusOf(item: Item): Status {
    const isCut = cutShortBy(this.#reason) !== undefined && item === this.#items.at(-1);
    return isCut ? 'incomplete' : 'completed';
  }

  #donePart(item: Item, part: Part): void {
    const place = placeOf(item);
    const { kind, logprobs } = part;
    const text = String(part.text);
    const whole =
      kind === 'refusal'
        ? { refusal: text }
        : kind === 'output_text'
          ? { text, logprobs }
          : { text };
    this.#emit(`response.${kind}.done`, { ...place, ...whole });
    this.#emit('response.content_part.done', { ...place, part: partOf(part) });
  }

  #emit(type: string, fields: JsonObject): void {
    const { emit } = this.#options;
    if (emit !== undefined) emit(this.#event(type, fields));
  }

  #event(type: string, fields: JsonObject): string {
    const event = JSON.stringify({ type, sequence_number: this.#sequence, ...fields });
    this.#sequence += 1;
    return event;
  }

  /** The response so far, without its output. What was not set is as OpenAI has it, or null. */
  #response(status: string): JsonObject {
    const { requestId, startedAt, model } = this.#options;
    const asked = (name: string, otherwise: unknown = null): unknown =>
      this.#request[name] ?? otherwise;
    return {
      id: answerIdOf('responses', requestId),
      object: 'response',
      created_at: Math.floor(startedAt / 1_000),
      status,
      background: false,
      error: null,
      incomplete_details: null,
      instructions: asked('instructions'),
      max_output_tokens: asked('max_output_tokens'),
      max_tool_calls: asked('max_tool_calls'),
      metadata: asked('metadata', {}),
      model,
      output: [],
      parallel_tool_calls: asked('parallel_tool_calls', true),
      previous_response_id: this.#options.previous ?? null,
      prompt_cache_key: asked('prompt_cache_key'),
      reasoning: { effort: null, summary: null, ...(asked('reasoning', {}) as object) },
      safety_identifier: asked('safety_identifier'),
      service_tier: 'default',
      store: false,
      temperature: asked('temperature'),
      text: { format: { type: 'text' }, ...present(asked('text', {}) as JsonObject) },
      tool_choice: asked('tool_choice', 'auto'),
      tools: (asked('tools', []) as JsonObject[]).map(toolEcho),
      top_logprobs: asked('top_logprobs', 0),
      top_p: asked('top_p'),
      truncation: 'disabled',
      usage: null,
      user: asked('user'),
    };
  }
}

const UNFINISHED = {
  code: 'server_error',
  message: 'The upstream provider did not finish its answer; the output is what came of it.',
};

const INPUT_EVENTS: Record<ItemKind, string> = {
  function_call: 'response.function_call_arguments',
  custom_tool_call: 'response.custom_tool_call_input',
  message: '',
  reasoning: '',
};

/** Tokens as OpenAI's newer interface counts them. Counts of ours say so; what is not known is null. */
export function responseUsage(usage: Usage | UnknownUsage, reasoningTokens = 0): JsonObject | null {
  if (usage.source === 'unknown') return null;
  const { inputTokens, cachedInputTokens, outputTokens, source, extrapolated } = usage;
  return {
    input_tokens: inputTokens,
    // Clients that hold an answer against its schema want the second as well; no upstream tells us.
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: Math.min(reasoningTokens, outputTokens) },
    total_tokens: inputTokens + outputTokens,
    ...(source === 'counted' ? { source } : {}),
    ...(extrapolated === undefined ? {} : { extrapolated }),
  };
}

/** Strict clients want both of these on every function. */
function toolEcho(tool: JsonObject): JsonObject {
  return tool['type'] === 'function' ? { parameters: null, strict: null, ...tool } : tool;
}

type Status = 'in_progress' | 'completed' | 'incomplete';

function itemOf({ kind, id, parts, callId, name, input: given }: Item, status: Status): JsonObject {
  const content = parts.map(partOf);
  const input = String(given);
  if (kind === 'reasoning') return { id, type: kind, summary: [], content, status };
  if (kind === 'message') return { id, type: kind, status, role: 'assistant', content };
  const called = kind === 'function_call' ? { arguments: input } : { input };
  return { id, type: kind, status, call_id: callId, name, ...called };
}

function partOf({ kind, text: said, logprobs }: Part): JsonObject {
  const text = String(said);
  if (kind === 'reasoning_text') return reasoningPart(text);
  return kind === 'refusal' ? refusalPart(text) : textPart(text, logprobs);
}

function whereIs({ id, index }: Item): JsonObject {
  return { item_id: id, output_index: index };
}

function placeOf(item: Item): JsonObject {
  return { ...whereIs(item), content_index: Math.max(0, item.parts.length - 1) };
}

function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
}
