import { CustomInput } from '#shared/dialects/custom-tools.ts';
import { emptyResponse, type ResponseNames } from '#shared/dialects/response-object.ts';
import { type ChatTools, chatToolsOf } from '#shared/dialects/response-tools.ts';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { GrowingText } from '../growing-text.ts';
import type { AnswerWriter } from '../translated-stream.ts';
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
  summaryPart,
  textIn,
  textPart,
} from './output.ts';

export interface ResponseWriterOptions extends ResponseNames {
  /** The request as its caller sent it: much of it is repeated in the answer. */
  body: string;
  /** Takes each event of a stream as JSON text; without it nothing is streamed. */
  emit?: (payload: string) => void;
}

/** A part of an item: text that grows. Parts of the kind `reasoning_summary_text` stand in its `summary`. */
interface Part {
  kind: 'reasoning_text' | 'reasoning_summary_text' | 'output_text' | 'refusal';
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
  namespace?: string | undefined;
  /** Arguments of a function, input of a custom tool. */
  input: GrowingText;
  /** Of a custom tool, which is a function at the server: reads its input from the arguments. */
  custom?: CustomInput | undefined;
  isDone: boolean;
}

type Called = Pick<Item, 'callId' | 'name' | 'namespace' | 'custom'>;

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
export class ResponseWriter implements AnswerWriter {
  readonly #options: ResponseWriterOptions;
  readonly #request: JsonObject;
  readonly #tools: ChatTools;
  /** Callers who ask for a summary read no other reasoning, and no chat server summarises. */
  readonly #reasoningKind: 'reasoning_text' | 'reasoning_summary_text';
  readonly #items: Item[] = [];
  /** Calls by their index in the chunks of the stream. */
  readonly #calls = new Map<number, Item | Unnamed>();
  #speaking: Item | undefined;
  #reason: unknown;
  #sequence = 0;

  constructor(options: ResponseWriterOptions) {
    this.#options = options;
    this.#request = JSON.parse(options.body) as JsonObject;
    this.#tools = chatToolsOf(this.#request);
    const { reasoning } = this.#request;
    const isSummary = isObject(reasoning) && (reasoning['summary'] ?? 'none') !== 'none';
    this.#reasoningKind = isSummary ? 'reasoning_summary_text' : 'reasoning_text';
  }

  begin(): void {
    const response = this.#response('in_progress');
    this.#emit('response.created', { response });
    this.#emit('response.in_progress', { response });
  }

  take(choice: JsonObject): void {
    const said = choice['delta'] ?? choice['message'];
    if (isObject(said)) this.#takeSaid(said, logprobsIn(choice));
    if (choice['finish_reason'] != null) this.#reason = choice['finish_reason'];
  }

  end(usage: Usage | UnknownUsage, reasoningTokens: number, isFinished = true): JsonObject {
    for (const call of this.#calls.values())
      if (!('kind' in call))
        this.#addInput(this.#openCall('function_call', { ...call, name: '' }), String(call.input));
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

  output(): JsonObject[] {
    return this.#items.map((item) => itemOf(item, item.isDone ? 'completed' : 'incomplete'));
  }

  /** It holds the response. */
  lastEvent(response: JsonObject): string {
    return this.#event(`response.${String(response['status'])}`, { response });
  }

  #takeSaid(said: JsonObject, logprobs: readonly unknown[]): void {
    const reasoning = reasoningIn(said);
    if (reasoning !== '') this.#say('reasoning', this.#reasoningKind, reasoning, []);
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
      this.#emit(`response.${partEventOf(part)}.added`, { ...placeOf(item), part: partOf(part) });
    }
    if (text === '') return;
    part.text.add(text);
    for (const one of logprobs) part.logprobs.push(one);
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
    const { isCustom, ...called } = this.#tools.callerNameOf(name);
    const isFunction = kind === 'function_call' && isCustom === true;
    const item = this.#openCall(isFunction ? 'custom_tool_call' : kind, {
      ...called,
      callId: unnamed.callId,
      custom: isFunction ? new CustomInput() : undefined,
    });
    this.#calls.set(key, item);
    this.#addInput(item, String(unnamed.input));
  }

  #openCall(
    kind: 'function_call' | 'custom_tool_call',
    { callId, name, namespace, custom }: Called,
  ): Item {
    this.#endSpeaking();
    return this.#open(kind, { callId, name, namespace, custom });
  }

  #addInput(item: Item, given: string): void {
    this.#sayInput(item, item.custom === undefined ? given : item.custom.take(given));
  }

  #sayInput(item: Item, delta: string): void {
    if (delta === '') return;
    item.input.add(delta);
    this.#emit(`${INPUT_EVENTS[item.kind]}.delta`, { ...whereIs(item), delta });
  }

  #open(kind: ItemKind, called: Called = { callId: '', name: '' }): Item {
    const index = this.#items.length;
    const id = itemIdOf(kind, this.#options.requestId, index);
    const item: Item = {
      ...called,
      kind,
      id,
      index,
      parts: [],
      callId: called.callId === '' ? `call_${id}` : called.callId,
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
    if (item.custom !== undefined) this.#sayInput(item, item.custom.end());
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
    this.#emit(`response.${partEventOf(part)}.done`, { ...place, part: partOf(part) });
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

  /** The response so far, without its output. */
  #response(status: string): JsonObject {
    return emptyResponse(this.#options, status, this.#request, this.#tools);
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
    // Clients that hold an answer against its schema want the second as well, which is not read of chats.
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: Math.min(reasoningTokens, outputTokens) },
    total_tokens: inputTokens + outputTokens,
    ...(source === 'counted' ? { source } : {}),
    ...(extrapolated === undefined ? {} : { extrapolated }),
  };
}

type Status = 'in_progress' | 'completed' | 'incomplete';

function itemOf(item: Item, status: Status): JsonObject {
  const { kind, id, parts, callId, name, namespace, input: given } = item;
  const partsOf = (isSummary: boolean) =>
    parts.filter((part) => (part.kind === SUMMARY) === isSummary).map(partOf);
  const content = partsOf(false);
  if (kind === 'reasoning') return { id, type: kind, summary: partsOf(true), content, status };
  if (kind === 'message') return { id, type: kind, status, role: 'assistant', content };
  const input = String(given);
  const called = kind === 'function_call' ? { arguments: input } : { input };
  const inside = namespace === undefined ? {} : { namespace };
  return { id, type: kind, status, call_id: callId, ...inside, name, ...called };
}

function partOf({ kind, text: said, logprobs }: Part): JsonObject {
  const text = String(said);
  if (kind === 'reasoning_text') return reasoningPart(text);
  if (kind === SUMMARY) return summaryPart(text);
  return kind === 'refusal' ? refusalPart(text) : textPart(text, logprobs);
}

const SUMMARY = 'reasoning_summary_text';

/** What events of a part are called beside those of its text. */
function partEventOf({ kind }: Part): string {
  return kind === SUMMARY ? 'reasoning_summary_part' : 'content_part';
}

function whereIs({ id, index }: Item): JsonObject {
  return { item_id: id, output_index: index };
}

function placeOf(item: Item): JsonObject {
  const { parts } = item;
  const index = parts.at(-1)?.kind === SUMMARY ? 'summary_index' : 'content_index';
  return { ...whereIs(item), [index]: Math.max(0, parts.length - 1) };
}
