import { CALLER_NAMES } from '#shared/dialects/chat-of-message.ts';
import { IGNORED_TOOLS } from '#shared/dialects/response-tools.ts';
import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { mayRound, parseExactly } from '#shared/kernel/exact-json.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { memberText } from '#shared/kernel/json-text.ts';
import { GrowingText } from '../growing-text.ts';
import { calledBy, callsIn, reasoningIn, textIn } from '../responses/output.ts';
import { Arguments } from '../tool-calls.ts';
import type { AnswerWriter } from '../translated-stream.ts';

export interface MessageWriterOptions {
  /** The chat that the request has become. */
  body: string;
  requestId: string;
  /** The model's id in the catalogue. */
  model: string;
  /** The client wants nothing of what the model thinks. */
  omitsThoughts: boolean;
  /** The types of the tools that its request had and the chat has not. */
  ignoredTools?: string | undefined;
  /** Takes each event of a stream as JSON text; without it nothing is streamed. */
  emit?: (payload: string) => void;
}

type BlockKind = 'text' | 'thinking' | 'tool_use';

interface Block {
  kind: BlockKind;
  /** Of a call. */
  id: string;
  name: string;
  /** All of it, where the answer is whole; of a stream what waits until the blocks before it have ended. */
  text: GrowingText;
  /** Knows when the input of a call is whole. */
  input: Arguments;
}

/**
 * Writes the answer of a chat server as a message of Anthropic's interface: an object in the end, and the events that lead to
 * it. Clients want one block to end before the next begins, while chat servers may take turns between calls: what belongs to
 * a later block waits until those before it are known to have ended.
 */
export class MessageWriter implements AnswerWriter {
  readonly #options: MessageWriterOptions;
  readonly #stops: readonly unknown[];
  /** What the caller calls tools, by their names at the server. */
  readonly #callerNames: ReadonlyMap<string, string>;
  readonly #blocks: Block[] = [];
  /** Calls by their index in the chunks of the stream. */
  readonly #calls = new Map<number, Block>();
  /** The place of the block that is being sent, and whether it has begun. */
  #at = 0;
  #hasBegun = false;
  #reason: unknown;
  #stop: string | null = null;
  #isRefused = false;

  constructor(options: MessageWriterOptions) {
    this.#options = options;
    // The rest may be megabytes.
    const stop: unknown = JSON.parse(memberText(options.body, 'stop') ?? 'null');
    this.#stops = typeof stop === 'string' ? [stop] : listOf(stop);
    const names = JSON.parse(memberText(options.body, CALLER_NAMES) ?? '[]') as [string, string][];
    this.#callerNames = new Map(names);
  }

  begin(): void {
    // What was read is known with the end of most answers, and told there.
    const message = this.#message([], null, messageUsage(NOTHING_YET));
    this.#emit({ type: 'message_start', message });
  }

  take(choice: JsonObject): void {
    const said = choice['delta'] ?? choice['message'];
    if (isObject(said)) this.#takeSaid(said);
    if (choice['finish_reason'] == null) return;
    this.#reason = choice['finish_reason'];
    this.#stop = this.#stopIn(choice) ?? this.#stop;
  }

  end(usage: Usage | UnknownUsage, reasoningTokens: number, isFinished = true): JsonObject {
    while (this.#at < this.#blocks.length) this.#goOn();
    const stopReason = isFinished ? this.#stopReason() : null;
    const told = messageUsage(usage, reasoningTokens);
    const delta = { stop_reason: stopReason, stop_sequence: this.#stopSequence(stopReason) };
    this.#emit({ type: 'message_delta', delta, usage: told });
    return this.#message(this.#blocks.map(wholeBlock), stopReason, told);
  }

  lastEvent(): string {
    return JSON.stringify({ type: 'message_stop' });
  }

  #takeSaid(said: JsonObject): void {
    const thought = reasoningIn(said);
    if (!this.#options.omitsThoughts) this.#say('thinking', thought);
    this.#say('text', textIn(said, 'content'));
    const refusal = textIn(said, 'refusal');
    if (refusal !== '') this.#isRefused = true;
    this.#say('text', refusal);
    for (const [at, call] of callsIn(said).entries()) this.#takeCall(call, at);
  }

  #say(kind: 'text' | 'thinking', text: string): void {
    if (text === '') return;
    const last = this.#blocks.at(-1);
    this.#add(last?.kind === kind ? last : this.#open(kind), text);
  }

  #takeCall(call: JsonObject, at: number): void {
    const key = typeof call['index'] === 'number' ? call['index'] : at;
    const { callId, name, input } = calledBy(call);
    let block = this.#calls.get(key);
    if (block === undefined) {
      block = this.#open('tool_use');
      this.#calls.set(key, block);
    }
    if (block.name === '') block.name = this.#callerNames.get(name) ?? name;
    if (block.id === '') block.id = callId;
    block.input.take(input);
    this.#add(block, input);
  }

  #open(kind: BlockKind): Block {
    const block = { kind, id: '', name: '', text: new GrowingText(), input: new Arguments() };
    this.#blocks.push(block);
    return block;
  }

  #add(block: Block, text: string): void {
    while (this.#blocks[this.#at] !== block && this.#hasEnded(this.#blocks[this.#at])) this.#goOn();
    const isItsTurn = this.#blocks[this.#at] === block;
    if (this.#options.emit === undefined || !isItsTurn) return block.text.add(text);
    // A call begins with its name.
    if (block.kind === 'tool_use' && block.name === '') return block.text.add(text);
    this.#start(block);
    this.#sendDelta(block, text);
  }

  /** Whether nothing more comes of a block behind which another has begun. */
  #hasEnded(block: Block | undefined): boolean {
    if (block === undefined || block === this.#blocks.at(-1)) return false;
    return block.kind !== 'tool_use' || (block.input.areWhole && block.name !== '');
  }

  /** Ends the block that is being sent, and goes on to the next. */
  #goOn(): void {
    const block = this.#blocks[this.#at]!;
    this.#start(block);
    this.#emit({ type: 'content_block_stop', index: this.#at });
    this.#at += 1;
    this.#hasBegun = false;
  }

  /** Begins a block, with what has waited for that. */
  #start(block: Block): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    if (block.id === '') block.id = this.#callId();
    this.#emit({ type: 'content_block_start', index: this.#at, content_block: emptyBlock(block) });
    this.#sendDelta(block, String(block.text));
  }

  #sendDelta({ kind }: Block, text: string): void {
    if (text !== '')
      this.#emit({ type: 'content_block_delta', index: this.#at, delta: deltaOf(kind, text) });
  }

  /** Of a call to which its server gave no id. */
  #callId(): string {
    return `${this.#options.requestId.replace(/^req_/, 'toolu_')}_${this.#at}`;
  }

  #stopReason(): string {
    if (this.#isRefused || this.#reason === 'content_filter') return 'refusal';
    if (this.#reason === 'length') return 'max_tokens';
    // Some servers say "stop" behind calls, which clients would then not run.
    if (this.#calls.size > 0) return 'tool_use';
    return this.#stop === null ? 'end_turn' : 'stop_sequence';
  }

  #stopSequence(reason: string | null): string | null {
    return reason === 'stop_sequence' ? this.#stop : null;
  }

  /** The sequence at which the answer ended, where its server says which: vLLM and SGLang do. */
  #stopIn({ stop_reason: ofVllm, matched_stop: ofSglang }: JsonObject): string | undefined {
    const named = ofVllm ?? ofSglang;
    return typeof named === 'string' && this.#stops.includes(named) ? named : undefined;
  }

  #message(content: JsonObject[], stopReason: string | null, usage: JsonObject): JsonObject {
    const { requestId, model, ignoredTools } = this.#options;
    return {
      id: answerIdOf('messages', requestId),
      type: 'message',
      role: 'assistant',
      model,
      content,
      stop_reason: stopReason,
      stop_sequence: this.#stopSequence(stopReason),
      usage,
      ...(ignoredTools === undefined ? {} : { metadata: { [IGNORED_TOOLS]: ignoredTools } }),
    };
  }

  #emit(event: JsonObject): void {
    this.#options.emit?.(JSON.stringify(event));
  }
}

const NOTHING_YET: UnknownUsage = { source: 'unknown', reason: 'not_counted' };

/**
 * Tokens as Anthropic's interface counts them, where those that came from a cache are not part of the input. Counts of ours
 * say so. Clients insist on numbers: where nothing is known they are zero, and `source` says that.
 */
export function messageUsage(usage: Usage | UnknownUsage, thinkingTokens = 0): JsonObject {
  if (usage.source === 'unknown') {
    const isStart = usage === NOTHING_YET;
    return { ...counts(0, 0, 0), ...(isStart ? {} : { source: 'unknown' }) };
  }
  const { inputTokens, cachedInputTokens, outputTokens, source, extrapolated } = usage;
  const thought = Math.min(thinkingTokens, outputTokens);
  return {
    ...counts(inputTokens - cachedInputTokens, cachedInputTokens, outputTokens),
    ...(thought === 0 ? {} : { output_tokens_details: { thinking_tokens: thought } }),
    ...(source === 'counted' ? { source } : {}),
    ...(extrapolated === undefined ? {} : { extrapolated }),
  };
}

function counts(input: number, cached: number, output: number): JsonObject {
  return {
    input_tokens: input,
    // What was written to a cache few servers of chat completions tell, and it is not read.
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output,
  };
}

function emptyBlock({ kind, id, name }: Block): JsonObject {
  if (kind === 'text') return { type: kind, text: '' };
  if (kind === 'thinking') return { type: kind, thinking: '', signature: '' };
  return { type: kind, id, name, input: {} };
}

function deltaOf(kind: BlockKind, text: string): JsonObject {
  if (kind === 'text') return { type: 'text_delta', text };
  if (kind === 'thinking') return { type: 'thinking_delta', thinking: text };
  return { type: 'input_json_delta', partial_json: text };
}

function wholeBlock(block: Block): JsonObject {
  const text = String(block.text);
  const empty = emptyBlock(block);
  if (block.kind === 'text') return { ...empty, text };
  if (block.kind === 'thinking') return { ...empty, thinking: text };
  return { ...empty, input: inputOf(text) };
}

/** What Anthropic has its callers write for an input that is not JSON: that of a call which was cut short. */
const INVALID = 'INVALID_JSON';

function inputOf(text: string): JsonObject {
  if (text.trim() === '') return {};
  try {
    const input: unknown = JSON.parse(text);
    if (isObject(input)) return mayRound(text) ? (exactly(text) ?? input) : input;
  } catch {
    // Said by its name.
  }
  return { [INVALID]: text };
}

/** Undefined of what is nested so deep that it cannot be looked at number by number. */
function exactly(text: string): JsonObject | undefined {
  try {
    return parseExactly(text) as JsonObject;
  } catch {
    return undefined;
  }
}
