import type {
  Cancellation,
  Greeting,
  InferenceEntry,
  ReceiptEntry,
  Reply,
  StoredAnswerHead,
  Taken,
  WireFault,
} from './messages.ts';
import type { Seals } from './seals.ts';

/**
 * A lane entry is one string: a JSON head on the first line, then, if there is one, the payload: sealed, and never
 * parsed on its way. What a process is told in one turn is one string too: all heads, then all payloads sealed together.
 */
export interface Message<H extends Head> {
  head: H;
  payload: string;
}

type Head =
  | InferenceEntry
  | ReceiptEntry
  | Reply
  | Cancellation
  | Taken
  | Greeting
  | StoredAnswerHead;

/** Joins head and payload. JSON.stringify never emits a raw newline, so the first one ends the head. */
export function encodeMessage(head: Head, payload: string = ''): string {
  const text = JSON.stringify(head);
  return payload === '' ? text : `${text}\n${payload}`;
}

/**
 * Splits a message that `encodeMessage` made. What the head is follows from where it was read.
 * @throws SyntaxError when the head is not JSON
 */
export function decodeMessage<H extends Head>(text: string): Message<H> {
  const end = text.indexOf('\n');
  if (end === -1) return { head: JSON.parse(text) as H, payload: '' };
  return { head: JSON.parse(text.slice(0, end)) as H, payload: text.slice(end + 1) };
}

/** An entry of an inference lane as it was read: its head is open, its body sealed. */
export interface SealedEntry {
  head: InferenceEntry;
  /** The request's body; undefined where it waits apart, under `head.bodyRef`. */
  sealed: string | undefined;
  /** What the body was sealed for: the head, letter by letter, so that neither goes with another. */
  place: string;
}

/** An entry of an inference lane as it is written. */
export interface WrittenEntry {
  text: string;
  /** The sealed body, where it waits apart. */
  apart: Buffer | undefined;
}

/** Writes an entry of an inference lane, with its body. */
export function encodeInferenceEntry(
  seals: Pick<Seals, 'seal'>,
  head: InferenceEntry,
  body: string | Uint8Array,
): WrittenEntry {
  const text = JSON.stringify(head);
  return { text: `${text}\n${seals.seal(body, entryPlace(text))}`, apart: undefined };
}

/** The same for a body that waits apart, under `head.bodyRef`: it is not in the text, but sealed for the same place. */
export async function encodeEntryWithBodyApart(
  seals: Pick<Seals, 'sealBytesInTurns'>,
  head: InferenceEntry & { bodyRef: string },
  body: Uint8Array,
): Promise<WrittenEntry> {
  const text = JSON.stringify(head);
  return { text, apart: await seals.sealBytesInTurns(body, entryPlace(text)) };
}

/**
 * Reads an entry of an inference lane.
 * @throws SyntaxError when its head is not JSON
 */
export function decodeInferenceEntry(text: string): SealedEntry {
  const end = text.indexOf('\n');
  const headText = end === -1 ? text : text.slice(0, end);
  const head = JSON.parse(headText) as InferenceEntry;
  const sealed = head.bodyRef === undefined ? text.slice(headText.length + 1) : undefined;
  return { head, sealed, place: entryPlace(headText) };
}

const entryPlace = (headText: string): string => `lane entry\n${headText}`;

/** One reply, or one part of a stream, on its way to the process that waits for it. */
export interface Outgoing {
  reply: Reply;
  payload: string;
}

/** A reply in a batch: how long its payload is in the payloads of all, and whether what went wrong is told there. */
type BatchHead = Reply & { chars: number };

/** Field of an inbox entry that holds a batch. */
export const BATCH_FIELD = 'b';
/** Field of one that holds a message in clear. */
export const CLEAR_FIELD = 'm';

/** What one process is told together: what is said of each reply, and all their payloads, one behind the other. */
export interface Together {
  heads: string;
  payloads: string;
}

/** Joins replies. What went wrong may quote the request, so it stands among the payloads, as answers do. */
export function joinReplies(messages: readonly Outgoing[]): Together {
  let payloads = '';
  const heads: unknown[] = [];
  for (const { reply, payload } of messages) {
    if ('error' in reply) {
      const { error, ...head } = reply;
      const text = JSON.stringify(error);
      heads.push({ ...head, chars: text.length });
      payloads += text;
    } else {
      heads.push({ ...reply, chars: payload.length });
      payloads += payload;
    }
  }
  return { heads: JSON.stringify(heads), payloads };
}

/**
 * Takes replies apart again. When their payloads could not be opened, every request that they speak of fails: the heads
 * say which.
 * @throws SyntaxError when the heads are not JSON
 */
export function splitReplies(headText: string, payloads: string | undefined): Outgoing[] {
  const heads = JSON.parse(headText) as BatchHead[];
  let at = 0;
  return heads.flatMap(({ chars, ...reply }): Outgoing[] => {
    if (payloads === undefined) return unopened(reply);
    const payload = payloads.slice(at, at + chars);
    at += chars;
    if (reply.kind !== 'error' && reply.kind !== 'receipt_failed') return [{ reply, payload }];
    return [{ reply: { ...reply, error: JSON.parse(payload) as WireFault }, payload: '' }];
  });
}

/** What one process is told in one turn, as its inbox gets it: the payloads are sealed. */
export function encodeBatch(
  seals: Pick<Seals, 'seal'>,
  inbox: string,
  messages: readonly Outgoing[],
): string {
  const { heads, payloads } = joinReplies(messages);
  return `${heads}\n${seals.seal(payloads, batchPlace(inbox, heads))}`;
}

/**
 * Takes a batch apart.
 * @param onSealed told why its payloads could not be opened
 * @throws SyntaxError when its heads are not JSON
 */
export function decodeBatch(
  seals: Pick<Seals, 'open'>,
  inbox: string,
  text: string,
  onSealed: (error: unknown) => void,
): Outgoing[] {
  const end = text.indexOf('\n');
  const heads = text.slice(0, end);
  let payloads: string | undefined;
  try {
    payloads = seals.open(text.slice(end + 1), batchPlace(inbox, heads));
  } catch (error) {
    onSealed(error);
  }
  return splitReplies(heads, payloads);
}

const batchPlace = (inbox: string, headText: string): string => `${inbox}\n${headText}`;

/** What the receiver of a reply is told whose payload cannot be opened. */
function unopened(reply: Reply): Outgoing[] {
  if (reply.kind === 'settled' || reply.kind === 'moved' || reply.kind === 'receipt_of_another') {
    return [{ reply, payload: '' }];
  }
  // The answer goes out as one whose receipt is late: the receipt is in PostgreSQL.
  if (reply.kind === 'receipt' || reply.kind === 'receipt_failed') return [];
  const { id, attempt, seq } = reply;
  return [{ reply: { id, attempt, seq, kind: 'error', error: UNOPENED_ANSWER }, payload: '' }];
}

const UNOPENED_ANSWER: WireFault = {
  code: 'internal_error',
  message: 'The answer was sealed with a key that is no longer there. Send the request again.',
};

/**
 * Reads an entry of the receipts lane.
 * @throws SyntaxError when it is not JSON, or has no record
 */
export function decodeReceiptEntry(text: string): ReceiptEntry {
  const { head } = decodeMessage<ReceiptEntry>(text);
  if ((head as Partial<ReceiptEntry> | null)?.record === undefined) {
    throw new SyntaxError('an entry of the receipts lane without a record');
  }
  return head;
}
