import { isJsonObject } from '#shared/kernel/json-object.ts';
import { dropMembers, memberText } from '#shared/kernel/json-text.ts';

/**
 * Events by which a server says that it makes a response, before anything of it or while nothing comes. The gateway adds
 * some of them, of which no receipt can know.
 */
const ANNOUNCEMENTS: ReadonlySet<string> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
]);

/** Whether an event of this type announces a response, and is nothing of it. */
export function isAnnouncement(type: unknown): boolean {
  return typeof type === 'string' && ANNOUNCEMENTS.has(type);
}

/** What a receipt is over of an event of a response: all but its number; null of one that announces the response. */
export function receiptedEvent(payload: string): string | null {
  const type = memberText(payload, 'type');
  if (type !== undefined && isAnnouncement(JSON.parse(type))) return null;
  return dropMembers(payload, ['sequence_number']);
}

/** The same of an event of a message: all of it; null of a sign of life, which the gateway adds while nothing comes. */
export function receiptedMessageEvent(payload: string): string | null {
  if (!payload.includes('"ping"')) return payload;
  const type = memberText(payload, 'type');
  return type !== undefined && JSON.parse(type) === 'ping' ? null : payload;
}

/** What a receipt is over of an event of a stream, by its route; undefined where that is all of it. */
const RECEIPTED: Readonly<Record<string, ((payload: string) => string | null) | undefined>> = {
  responses: receiptedEvent,
  messages: receiptedMessageEvent,
};

/** What a receipt is over of the payloads of a saved stream. What was cut or forged since, and is no event, is compared as it is. */
export function receiptedEvents(route: string, payloads: readonly string[]): readonly string[] {
  const receipted = RECEIPTED[route];
  if (receipted === undefined) return payloads;
  return payloads.flatMap((payload) =>
    isJsonObject(payload) ? (receipted(payload) ?? []) : payload,
  );
}
