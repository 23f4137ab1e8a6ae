import { answerIn, type SavedAnswer } from '#shared/receipts/locate.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { isPendingReceipt } from '#shared/receipts/pending.ts';
import { fitOf, type OnProgress } from '#shared/receipts/content.ts';
import { receiptedEvents } from '#shared/receipts/response-events.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { foreignForm } from '#cli/foreign-form.ts';
import { textIn } from '#cli/utf8.ts';
import { CannotJudge, withinBounds } from './cannot-judge.ts';

/** Bytes that are no text, which neither requests nor answers are. */
const NO_TEXT = 'no text';

/** What the digests of a receipt are of, as it was saved. */
export interface Contents {
  /** Without the receipt. */
  answer?: SavedAnswer | typeof NO_TEXT | undefined;
  request?: readonly string[] | typeof NO_TEXT | undefined;
}

/** Whether a content is the one that a receipt is of, and a sentence on it. */
interface Compared {
  /** `begins`: it is of the first payloads, and nothing is known of those after them. */
  kind: 'same' | 'begins' | 'differs' | 'not_compared';
  words: string;
  /** It differs in every form that was tried; a program may have written it in another one. */
  isOfOtherBytes?: true;
}

export interface ComparedContents {
  answer: Compared & {
    /** Of an answer that begins as the receipt states: how many payloads it is of, and how many come after them. */
    payloads?: { covered: number; further: number };
  };
  request: Compared;
}

/** The contents in files. @throws CannotJudge when one is in a form that holds the text differently, or holds too much */
export function contentsIn(given: {
  answer?: Uint8Array | string | undefined;
  request?: Uint8Array | string | undefined;
}): Contents {
  const answer = textOf('answer', given.answer);
  const request = textOf('request', given.request);
  return {
    answer:
      answer === undefined || answer === NO_TEXT ? answer : withinBounds(() => answerIn(answer)),
    request: request === undefined || request === NO_TEXT ? request : [request],
  };
}

function textOf(what: string, source: Uint8Array | string | undefined): string | undefined {
  if (source === undefined || typeof source === 'string') return source;
  const foreign = foreignForm(source);
  if (foreign !== undefined) throw new CannotJudge(`The file of the ${what} ${foreign}.`);
  try {
    return textIn(source);
  } catch {
    return NO_TEXT;
  }
}

const NOT_GIVEN: Compared = { kind: 'not_compared', words: 'not compared: it was not given' };

export const NOTHING_COMPARED: ComparedContents = { answer: NOT_GIVEN, request: NOT_GIVEN };

/** The digest of nothing fits every beginning of nothing. */
const NO_PAYLOADS: Compared = {
  kind: 'not_compared',
  words: 'not compared: the receipt is of none of its payloads',
};

/** Whether a text is this receipt, or announces one that was late. */
function isReceipt(text: string, canonical: string | undefined): boolean {
  if (isPendingReceipt(text)) return true;
  try {
    return parseReceipt(text).canonical === canonical;
  } catch (error) {
    if (error instanceof MalformedData) return false;
    throw error;
  }
}

/** Compares what was given with the digests of a receipt. */
export async function compareContents(
  { credentialSubject: subject }: ReceiptDocument,
  canonical: string | undefined,
  { answer, request }: Contents,
  onProgress?: OnProgress,
): Promise<ComparedContents> {
  const { relayedPayloads, requestDigest, responseDigest, route } = subject;
  const compared = async (
    pieces: readonly string[],
    digest: string | undefined,
  ): Promise<Compared> => {
    if (digest === undefined) {
      return { kind: 'differs', words: 'the receipt is of a request that got no answer' };
    }
    const fit = await fitOf(pieces, digest, subject, onProgress);
    if (!fit.fits) {
      return { kind: 'differs', words: `another (tried: ${fit.tried})`, isOfOtherBytes: true };
    }
    const how = fit.how === undefined ? '' : `, ${fit.how}`;
    return { kind: 'same', words: `the one that the receipt is of${how}` };
  };
  const comparedAnswer = async ({
    pieces: given,
    isContinued,
    receipts = [],
  }: SavedAnswer): Promise<ComparedContents['answer']> => {
    if (!receipts.every((text) => isReceipt(text, canonical))) {
      return { kind: 'differs', words: 'another: it carries another receipt' };
    }
    if (isContinued === true) {
      return { kind: 'differs', words: 'another: payloads follow the word that ends the stream' };
    }
    // Of a whole answer it is not told how it goes on.
    const isStream = isContinued !== undefined;
    const pieces = isStream ? receiptedEvents(route, given) : given;
    if (relayedPayloads === 0) return NO_PAYLOADS;
    if (pieces.length < (relayedPayloads ?? 0)) {
      const words = `another: it has ${pieces.length} of the ${relayedPayloads} payloads that the receipt is of`;
      return { kind: 'differs', words };
    }
    const found = await compared(pieces.slice(0, relayedPayloads), responseDigest);
    const further = pieces.length - (relayedPayloads ?? Infinity);
    if (found.kind !== 'same' || further <= 0) return found;
    const covered = relayedPayloads!;
    return {
      kind: 'begins',
      words: `${found.words}, in its first ${covered === 1 ? 'payload' : `${covered} payloads`}; it states nothing of what comes after ${covered === 1 ? 'it' : 'them'}`,
      payloads: { covered, further },
    };
  };
  const of = async <T>(
    content: T | typeof NO_TEXT | undefined,
    compare: (content: T) => Promise<Compared>,
  ): Promise<Compared> => {
    if (content === undefined) return NOT_GIVEN;
    return content === NO_TEXT
      ? { kind: 'differs', words: 'another: its bytes are no text in UTF-8' }
      : compare(content);
  };
  return {
    answer: await of(answer, comparedAnswer),
    request: await of(request, (pieces) => compared(pieces, requestDigest)),
  };
}
