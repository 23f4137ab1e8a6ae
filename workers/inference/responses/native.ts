import { isDeepStrictEqual } from 'node:util';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { dropMembers, memberText, setMember } from '#shared/kernel/json-text.ts';
import { isAnnouncement } from '#shared/receipts/response-events.ts';
import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import { AnnouncedEvents } from '../announced-events.ts';
import type { OurNames } from '../our-names.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { readUsage } from '../usage.ts';
import type { EventStream } from '../event-relay.ts';
import { ItemsSoFar } from './items-so-far.ts';
import { responseUsage, type ResponseWriterOptions } from './response-writer.ts';

/** What callers know a response by, and what it goes on from. */
type NativeNames = OurNames & Pick<ResponseWriterOptions, 'previous'>;

/** Events that end a response which its server has finished. */
export const ENDINGS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete']);
/** What a server calls a response that is whole: as far as it was to go. */
const ENDED: ReadonlySet<unknown> = new Set(['completed', 'incomplete']);

/** Whether this event begins an answer, so that its client has seen something of it. */
export function beginsResponse({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.startsWith('response.') && !isAnnouncement(type);
}

/** The words of a response that failed, or of the event that says so, in the shape of an error; undefined when it did not. */
export function failureIn(body: JsonObject): JsonObject | undefined {
  const response = isObject(body['response']) ? body['response'] : body;
  const failed = body['type'] === 'response.failed' || response['status'] === 'failed';
  return failed ? { error: response['error'] ?? 'The response failed.' } : undefined;
}

/** Whether its server says that a response is whole. */
export function isWholeResponse({ status }: JsonObject): boolean {
  return ENDED.has(status);
}

/**
 * What is the upstream's in a response and not its client's business: its own id, its name of the model, what it would
 * store and has gone on from, and what it has where our receipt stands.
 */
export function asOurs(
  text: string,
  parsed: JsonObject,
  { id, model, previous }: NativeNames,
  usage?: Usage | UnknownUsage,
): string {
  let ours = parsed['id'] === id ? text : setMember(text, 'id', JSON.stringify(id));
  if (parsed['model'] !== model) ours = setMember(ours, 'model', JSON.stringify(model));
  if (parsed['store'] !== false) ours = setMember(ours, 'store', 'false');
  const wentOnFrom = previous ?? null;
  if ((parsed['previous_response_id'] ?? null) !== wentOnFrom)
    ours = setMember(ours, 'previous_response_id', JSON.stringify(wentOnFrom));
  if (Object.hasOwn(parsed, 'receipt')) ours = dropMembers(ours, ['receipt']);
  if (usage === undefined) return ours;
  const told = toldUsageOf(usage, parsed['usage']);
  const isAsCame = told === (parsed['usage'] ?? null);
  return isAsCame ? ours : setMember(ours, 'usage', JSON.stringify(told));
}

/** Usage in the upstream's own words, with what the receipt says wherever that stands; null where it is not known. */
function toldUsageOf(usage: Usage | UnknownUsage, theirs: unknown): unknown {
  if (usage.source !== 'upstream' || !isObject(theirs)) return responseUsage(usage);
  const { inputTokens, cachedInputTokens, outputTokens } = usage;
  const details = theirs['input_tokens_details'];
  const told = {
    ...theirs,
    input_tokens: inputTokens,
    ...(isObject(details) && details['cached_tokens'] != null
      ? { input_tokens_details: { ...details, cached_tokens: cachedInputTokens } }
      : {}),
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  return isDeepStrictEqual(told, theirs) ? theirs : told;
}

/** Everything that a response holds of what was generated, for counting. */
export function textOfResponse({ output }: JsonObject): string {
  return listOf(output).filter(isObject).map(textOfItem).join('');
}

function textOfItem({ content, summary, name, arguments: args, input }: JsonObject): string {
  const parts = [content, summary].flatMap(listOf);
  const texts = parts.filter(isObject).flatMap(({ text, refusal }) => [text, refusal]);
  return [...texts, name, args, input].filter((text) => typeof text === 'string').join('');
}

/** Passes the events of an upstream's response on as they come, and keeps the last one back. */
export class NativeStream extends AnnouncedEvents implements EventStream {
  readonly #names: NativeNames;
  readonly #energy: Endpoint['energy'];
  readonly #items = new ItemsSoFar();
  #last: { text: string; response: JsonObject } | undefined;
  usage: Usage | undefined;
  isUsageOfAll = false;

  constructor(
    {
      emit,
      model,
      requestId,
      previous,
    }: Pick<ResponseWriterOptions, 'model' | 'requestId' | 'previous'> & {
      emit: (payload: string) => void;
    },
    energy: Endpoint['energy'],
  ) {
    super(emit);
    this.#names = { id: answerIdOf('responses', requestId), model, previous };
    this.#energy = energy;
  }

  override get kept(): number {
    return super.kept + this.#items.kept;
  }

  get isFinished(): boolean {
    return this.#last !== undefined;
  }

  accept(given: string, event: JsonObject): boolean {
    const { type, delta, response } = event;
    let text = given;
    if (isObject(response)) {
      this.named(response);
      const usage = readUsage(response['usage'], this.#energy);
      this.usage = usage ?? this.usage;
      this.isUsageOfAll ||= usage !== undefined;
      text = this.#ours(given, response);
      if (ENDINGS.has(type)) {
        this.#last ??= { text, response };
        return false;
      }
    }
    if (isAnnouncement(type)) {
      this.announce(text);
      return false;
    }
    this.#items.accept(given, event);
    const hasText = this.emit(text, typeof delta === 'string' ? delta : '');
    if (hasText) this.isUsageOfAll = false;
    return hasText;
  }

  output(): JsonObject[] {
    return this.#items.output();
  }

  finish(usage: Usage | UnknownUsage): string {
    this.begin();
    const { text, response } = this.#last!;
    return this.#ours(text, response, usage);
  }

  #ours(event: string, response: JsonObject, usage?: Usage | UnknownUsage): string {
    const text = memberText(event, 'response');
    if (text === undefined) return event;
    const ours = asOurs(text, response, this.#names, usage);
    return ours === text ? event : setMember(event, 'response', ours);
  }
}
