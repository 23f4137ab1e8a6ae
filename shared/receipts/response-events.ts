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

/** The same of a payload that may have been cut or forged since: what is no event is compared as it is. */
function receiptedPayload(payload: string): string | null {
  return isJsonObject(payload) ? receiptedEvent(payload) : payload;
}

/** What a receipt is over of the payloads of a saved stream of a response. */
export function receiptedEvents(payloads: readonly string[]): string[] {
  return payloads.flatMap((payload) => receiptedPayload(payload) ?? []);
}
