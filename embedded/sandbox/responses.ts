import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { type AnswerIdentity, chatDeltas, type ChatRequest, readChatRequest } from './chat.ts';
import type { Delta, DeltaEnd } from './deltas.ts';
import { EventStream } from './event-stream.ts';
import { BadRequest, Input } from './input.ts';
import type { Reply } from './reply.ts';
import { usageOf } from './usage.ts';

const objectsIn = (value: unknown): JsonObject[] => listOf(value).filter(isObject);

/** State that a server of responses keeps for its clients, and this one does not. */
const STORED = ['previous_response_id', 'conversation', 'prompt', 'background'];

/** Reads a request for a response: its input is understood as the messages of a chat. */
export function readResponseRequest({ body }: Input): ChatRequest {
  for (const name of STORED) {
    if (body[name] != null && body[name] !== false) {
      throw new BadRequest(`${name} needs what is not stored here.`, name);
    }
  }
  const { input, instructions, max_output_tokens: maxTokens, text, tool_choice: choice } = body;
  if (typeof input !== 'string' && !Array.isArray(input)) {
    throw new BadRequest('input must be a text or an array of items.', 'input');
  }
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : objectsIn(input);
  const { format } = isObject(text) ? text : {};
  const { type, ...schema } = isObject(format) ? format : {};
  return readChatRequest(
    new Input({
      ...body,
      messages: [
        ...(typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : []),
        ...items.flatMap(messageOf),
      ],
      max_tokens: maxTokens,
      tools: objectsIn(body['tools'])
        .filter((tool) => tool['type'] === 'function')
        .map((tool) => ({ type: 'function', function: tool })),
      tool_choice: isObject(choice) ? { type: 'function', function: choice } : choice,
      response_format: type === undefined ? null : { type, json_schema: schema },
      n: 1,
      logprobs: false,
      top_logprobs: null,
      stream_options: null,
    }),
  );
}

function messageOf({
  type = 'message',
  role,
  content,
  name,
  output,
  ...rest
}: JsonObject): JsonObject[] {
  if (type === 'message') return [{ role, content }];
  if (type === 'function_call') {
    const call = { function: { name, arguments: rest['arguments'] } };
    return [{ role: 'assistant', content: null, tool_calls: [call] }];
  }
  return type === 'function_call_output' ? [{ role: 'tool', content: output }] : [];
}

/** The items that a response has so far, and what each addition to them is called. */
class Output {
  readonly items: JsonObject[] = [];
  readonly #id: string;
  #finishLast: () => JsonObject[] = () => [];

  constructor(id: string) {
    this.#id = id;
  }

  /** The events by which a delta of the answer is told. */
  add(delta: Delta): JsonObject[] {
    const opening =
      delta.kind === 'tool' || this.items.length === 0
        ? [...this.finish(), ...this.#open(delta)]
        : [];
    const item = this.items.at(-1)!;
    const place = { item_id: item['id'], output_index: this.items.length - 1 };
    if (delta.kind === 'tool') return opening;
    if (delta.kind === 'arguments') {
      item['arguments'] = `${String(item['arguments'])}${delta.text}`;
      return [{ type: 'response.function_call_arguments.delta', ...place, delta: delta.text }];
    }
    const part = objectsIn(item['content'])[0]!;
    part['text'] = `${String(part['text'])}${delta.text}`;
    const said = { ...place, content_index: 0, delta: delta.text, logprobs: [] };
    return [...opening, { type: 'response.output_text.delta', ...said }];
  }

  /** The events that end the last item. */
  finish(): JsonObject[] {
    const events = this.#finishLast();
    this.#finishLast = () => [];
    return events;
  }

  #open(delta: Delta): JsonObject[] {
    const index = this.items.length;
    const isCall = delta.kind === 'tool';
    const id = `${isCall ? 'fc' : 'msg'}_${this.#id}_${index}`;
    const item: JsonObject = isCall
      ? { type: 'function_call', call_id: delta.call.id, name: delta.call.name, arguments: '' }
      : { type: 'message', role: 'assistant', content: [] };
    Object.assign(item, { id, status: 'in_progress' });
    this.items.push(item);
    const place = { item_id: id, output_index: index };
    const added = { type: 'response.output_item.added', output_index: index, item: { ...item } };
    const done = (): JsonObject => {
      item['status'] = 'completed';
      return { type: 'response.output_item.done', output_index: index, item };
    };
    if (isCall) {
      this.#finishLast = () => [
        { type: 'response.function_call_arguments.done', ...place, arguments: item['arguments'] },
        done(),
      ];
      return [added];
    }
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    item['content'] = [part];
    const inPart = { ...place, content_index: 0 };
    this.#finishLast = () => [
      { type: 'response.output_text.done', ...inPart, text: part.text, logprobs: [] },
      { type: 'response.content_part.done', ...inPart, part },
      done(),
    ];
    return [added, { type: 'response.content_part.added', ...inPart, part: { ...part } }];
  }
}

/** A response before it has begun, or as far as it has come. */
function responseOf(
  input: Input,
  { id, created }: AnswerIdentity,
  status: string,
  output: readonly JsonObject[],
): JsonObject {
  const { instructions, max_output_tokens: maxTokens, tools, tool_choice: choice } = input.body;
  return {
    id,
    object: 'response',
    created_at: created,
    status,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: instructions ?? null,
    max_output_tokens: maxTokens ?? null,
    metadata: input.object('metadata'),
    model: input.text('model'),
    output: [...output],
    parallel_tool_calls: input.body['parallel_tool_calls'] !== false,
    previous_response_id: null,
    store: false,
    temperature: input.body['temperature'] ?? 1,
    text: input.body['text'] ?? { format: { type: 'text' } },
    tool_choice: choice ?? 'auto',
    tools: tools ?? [],
    top_p: input.body['top_p'] ?? 1,
    usage: null,
  };
}

/** The usage object of responses. */
function responseUsage(
  request: ChatRequest,
  fault: Reply['fault'],
  tokens: number,
): JsonObject | null {
  const used = usageOf(fault, request.promptTokens, tokens);
  if (used === undefined) return null;
  const {
    prompt_tokens: input,
    completion_tokens: generated,
    prompt_tokens_details: ofInput,
    completion_tokens_details: ofOutput,
    ...rest
  } = used;
  return {
    input_tokens: input,
    input_tokens_details: { ...(ofInput as JsonObject), cache_write_tokens: 0 },
    output_tokens: generated,
    output_tokens_details: ofOutput,
    ...rest,
  };
}

function ended(
  input: Input,
  request: ChatRequest,
  identity: AnswerIdentity,
  output: Output,
  { finish, tokens }: DeltaEnd,
  fault: Reply['fault'],
): JsonObject {
  const status = finish === 'length' ? 'incomplete' : 'completed';
  const stated = fault['no-finish'] === true ? 'in_progress' : status;
  if (finish === 'length' && output.items.length > 0) output.items.at(-1)!['status'] = status;
  return {
    ...responseOf(input, identity, stated, output.items),
    usage: responseUsage(request, fault, tokens),
  };
}

/** Streams a response: events with their names, numbered, and no `[DONE]`. */
export async function streamResponse(
  input: Input,
  request: ChatRequest,
  identity: AnswerIdentity,
  reply: Reply,
): Promise<void> {
  const { fault } = reply;
  const stream = new EventStream(reply);
  let number = 0;
  const send = (event: JsonObject): Promise<void> | undefined => {
    const { type, ...rest } = event;
    const json = JSON.stringify({ type, sequence_number: number, ...rest });
    number += 1;
    return stream.frame(json, String(type));
  };
  const response = responseOf(input, identity, 'in_progress', []);
  await send({ type: 'response.created', response });
  await send({ type: 'response.in_progress', response });
  const output = new Output(identity.id);
  const deltas = chatDeltas(request, 0, fault.say);
  let next = deltas.next();
  for (; next.done !== true && !stream.over; next = deltas.next()) {
    const turn = reply.pacer.turn();
    if (turn !== undefined) await turn;
    for (const event of output.add(next.value)) await send(event);
  }
  if (stream.over || next.done !== true) return;
  for (const event of output.finish()) await send(event);
  const last = ended(input, request, identity, output, next.value, fault);
  if (fault['no-finish'] !== true) {
    await send({ type: `response.${String(last['status'])}`, response: last });
  }
  await stream.done('');
}

/** A whole response. */
export function wholeResponse(
  input: Input,
  request: ChatRequest,
  identity: AnswerIdentity,
  fault: Reply['fault'],
): JsonObject {
  const output = new Output(identity.id);
  const deltas = chatDeltas(request, 0, fault.say);
  let next = deltas.next();
  for (; next.done !== true; next = deltas.next()) output.add(next.value);
  output.finish();
  return ended(input, request, identity, output, next.value, fault);
}
