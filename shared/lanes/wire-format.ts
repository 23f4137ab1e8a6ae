import type {
  Cancellation,
  Greeting,
  InferenceEntry,
  ReceiptEntry,
  Reply,
  StoredAnswerHead,
} from './messages.ts';

/**
 * A lane entry and an inbox message are one string: a JSON head on the first line, then, if there is one,
 * the payload as it is. The payload (a request body, an answer, stream frames) is never escaped or parsed on its way.
 */
export interface Message<H extends Head> {
  head: H;
  payload: string;
}

type Head = InferenceEntry | ReceiptEntry | Reply | Cancellation | Greeting | StoredAnswerHead;

/** Joins head and payload. JSON.stringify never emits a raw newline, so the first one ends the head. */
export function encodeMessage(head: Head, payload: string = ''): string {
  const text = JSON.stringify(head);
  return payload === '' ? text : `${text}\n${payload}`;
}

/**
 * Splits a message that `encodeMessage` made. What the head is follows from where it was read; lanes, whose entries may
 * have been written by the release before this one, have readers of their own below.
 * @throws SyntaxError when the head is not JSON
 */
export function decodeMessage<H extends Head>(text: string): Message<H> {
  const end = text.indexOf('\n');
  if (end === -1) return { head: JSON.parse(text) as H, payload: '' };
  return { head: JSON.parse(text.slice(0, end)) as H, payload: text.slice(end + 1) };
}

/**
 * Reads an entry of an inference lane.
 * @throws SyntaxError when its head is not JSON
 */
export function decodeInferenceEntry(text: string): Message<InferenceEntry> {
  const message = decodeMessage<InferenceEntry>(text);
  nameOrg(message.head);
  return message;
}

/**
 * Reads an entry of the receipts lane.
 * @throws SyntaxError when it is not JSON
 */
export function decodeReceiptEntry(text: string): ReceiptEntry {
  const { head } = decodeMessage<ReceiptEntry>(text);
  nameOrg(head.record);
  return head;
}

/** The release before this one wrote `organisationId`. */
function nameOrg(head: { orgId?: string; organisationId?: string }): void {
  if (head.orgId === undefined && head.organisationId !== undefined)
    head.orgId = head.organisationId;
}
