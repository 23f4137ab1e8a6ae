import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { dropMembers, memberText, setMember } from '#shared/kernel/json-text.ts';
import { AnnouncedEvents } from '../announced-events.ts';
import type { EventStream } from '../event-relay.ts';
import { namerOf, type OurNames } from '../our-names.ts';
import { readUsage } from '../usage.ts';
import { messageUsage } from './message-writer.ts';

/** The event that ends a message which its server has finished. */
export const MESSAGE_END = 'message_stop';

/** Whether this event begins an answer, so that its client has seen something of it. */
export function beginsMessage({ type }: JsonObject): boolean {
  return (
    type === 'content_block_start' || type === 'content_block_delta' || type === 'message_delta'
  );
}

/** Whether its server says that a message is whole. */
export function isWholeMessage({ stop_reason: reason }: JsonObject): boolean {
  return reason != null;
}

/**
 * The counts of a server that speaks Anthropic's interface, whose input leaves out what was read from a cache or written to
 * one. Undefined when it gave none that can be used.
 */
export function readMessageUsage(usage: unknown, energy: Endpoint['energy']): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const { input_tokens: fresh, output_tokens: output } = usage;
  const written = usage['cache_creation_input_tokens'] ?? 0;
  const cached = usage['cache_read_input_tokens'] ?? 0;
  const parts = [fresh, written, cached];
  const input = parts.every(isCount) ? parts.reduce((sum, part) => sum + part, 0) : undefined;
  const counts = {
    ...usage,
    prompt_tokens: input,
    input_tokens: undefined,
    completion_tokens: output,
    prompt_tokens_details: { cached_tokens: cached },
  };
  return readUsage(counts, energy);
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** Everything that a message holds of what was generated, for counting. */
export function textOfMessage({ content }: JsonObject): string {
  return listOf(content).filter(isObject).map(textOfBlock).join('');
}

function textOfBlock({ text, thinking, name, input }: JsonObject): string {
  const said = [text, thinking, name].filter((one) => typeof one === 'string').join('');
  return input === undefined ? said : said + JSON.stringify(input);
}

/** A message with what is ours in it: id, name of the model, and the place of the receipt; and usage, where it is told anew. */
export function asOurMessage(
  text: string,
  parsed: JsonObject,
  names: OurNames,
  usage?: Usage | UnknownUsage,
): string {
  let ours = namerOf(names)(text, parsed);
  if (Object.hasOwn(parsed, 'receipt')) ours = dropMembers(ours, ['receipt']);
  const told = usage === undefined ? undefined : toldUsageOf(usage, parsed['usage']);
  return told === undefined ? ours : setMember(ours, 'usage', JSON.stringify(told));
}

/** Usage where the upstream's own words do not say what the receipt says; undefined where they do. */
function toldUsageOf(usage: Usage | UnknownUsage, theirs: unknown): JsonObject | undefined {
  if (usage.source === 'upstream' && isObject(theirs)) return undefined;
  return { ...(isObject(theirs) ? theirs : {}), ...messageUsage(usage) };
}

/** The counts that a server tells of the prompt, and of the answer. */
const OF_PROMPT = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'];
const OF_ANSWER = ['output_tokens'];

/** Passes the events of an upstream's message on as they come, and keeps the last two back: what was used, and the end. */
export class NativeMessage extends AnnouncedEvents implements EventStream {
  readonly #names: OurNames;
  readonly #energy: Endpoint['energy'];
  /** Told in parts: of the prompt at the beginning, of the answer at the end. */
  readonly #counts: JsonObject = {};
  #delta: { text: string; usage: unknown } | undefined;
  #last: string | undefined;
  #hasReason = false;

  constructor(
    {
      emit,
      model,
      requestId,
    }: { emit: (payload: string) => void; model: string; requestId: string },
    energy: Endpoint['energy'],
  ) {
    super(emit);
    this.#names = { id: answerIdOf('messages', requestId), model };
    this.#energy = energy;
  }

  /** What is told before the end is no count of the answer. */
  get usage(): Usage | undefined {
    return this.#delta === undefined ? undefined : readMessageUsage(this.#counts, this.#energy);
  }

  get isUsageOfAll(): boolean {
    return this.usage !== undefined;
  }

  get isFinished(): boolean {
    return this.#last !== undefined && this.#hasReason;
  }

  accept(given: string, event: JsonObject): boolean {
    const { type, message, delta, usage } = event;
    if (type === MESSAGE_END) {
      this.#last ??= given;
      return false;
    }
    if (type === 'message_start' && isObject(message)) {
      this.named(message);
      this.#count(message['usage'], OF_PROMPT);
      this.announce(this.#ours(given, message));
      return false;
    }
    // A sign of life is nothing of an answer that has not begun.
    if (type === 'ping') return this.hasBegun && this.emit(given);
    this.#letGo();
    if (type === 'message_delta') {
      this.#count(usage, [...OF_PROMPT, ...OF_ANSWER]);
      this.#delta = { text: given, usage };
      this.#hasReason ||= isObject(delta) && isWholeMessage(delta);
      return false;
    }
    return this.emit(given, textSaidIn(event));
  }

  finish(usage: Usage | UnknownUsage): string {
    this.#letGo(usage);
    return this.#last!;
  }

  /** Sends what was held as the last word on its usage: as it came, or with the counts of the receipt. */
  #letGo(usage?: Usage | UnknownUsage): void {
    if (this.#delta === undefined) return;
    const { text, usage: theirs } = this.#delta;
    const told = usage === undefined ? undefined : toldUsageOf(usage, theirs);
    this.emit(told === undefined ? text : setMember(text, 'usage', JSON.stringify(told)));
    if (usage === undefined) this.#delta = undefined;
  }

  #count(usage: unknown, names: readonly string[]): void {
    if (!isObject(usage)) return;
    for (const name of [...names, this.#energy?.usageField])
      if (name !== undefined && usage[name] != null) this.#counts[name] = usage[name];
  }

  #ours(event: string, message: JsonObject): string {
    const ours = asOurMessage(memberText(event, 'message')!, message, this.#names);
    return setMember(event, 'message', ours);
  }
}

/** The part of an answer that an event brings. */
function textSaidIn({ type, delta, content_block: block }: JsonObject): string {
  if (type === 'content_block_start' && isObject(block))
    return textOfBlock({ ...block, input: undefined });
  if (type !== 'content_block_delta' || !isObject(delta)) return '';
  const said = delta['text'] ?? delta['thinking'] ?? delta['partial_json'];
  return typeof said === 'string' ? said : '';
}
