import { answerIn, type SavedAnswer } from '#shared/receipts/locate.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { isPendingReceipt } from '#shared/receipts/pending.ts';
import { spellingThatFits } from '#shared/receipts/content.ts';
import type { InferenceDocument, ReceiptDocument } from '#shared/receipts/document.ts';
import { TRIED } from '#shared/receipts/spellings.ts';

/** What the digests of a receipt are of, as somebody saved it. */
export interface Contents {
  /** Without the receipt. */
  answer?: SavedAnswer | undefined;
  request?: readonly string[] | undefined;
}

/** Whether a content is the one that a receipt is of, and a sentence on it. */
interface Compared {
  /** `begins`: it is of the first payloads, and nothing is known of those after them. */
  kind: 'same' | 'begins' | 'differs' | 'not_compared';
  words: string;
}

export interface ComparedContents {
  answer: Compared & {
    /** Of an answer that begins as the receipt states: how many payloads it is of, and how many come after them. */
    payloads?: { covered: number; further: number };
  };
  request: Compared;
}

/** The contents in files; bytes that are no text fit no digest. */
export function contentsIn(given: {
  answer?: Uint8Array | string | undefined;
  request?: Uint8Array | string | undefined;
}): Contents {
  return {
    answer: given.answer === undefined ? undefined : answerIn(textOf(given.answer)),
    request: given.request === undefined ? undefined : [textOf(given.request)],
  };
}

function textOf(source: Uint8Array | string): string {
  return typeof source === 'string'
    ? source
    : new TextDecoder('utf-8', { ignoreBOM: true }).decode(source);
}

export const NOTHING_COMPARED: ComparedContents = {
  answer: { kind: 'not_compared', words: 'not compared: it was not given' },
  request: { kind: 'not_compared', words: 'not compared: it was not given' },
};

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
export function compareContents(
  { credentialSubject: subject }: ReceiptDocument,
  canonical: string | undefined,
  { answer, request }: Contents,
): ComparedContents {
  const inference: Partial<InferenceDocument> & typeof subject = subject;
  const { relayedPayloads, requestDigest } = inference;
  const compared = (pieces: readonly string[], digest: string | undefined): Compared => {
    if (digest === undefined) {
      return { kind: 'differs', words: 'the receipt is of a request that got no answer' };
    }
    const fit = spellingThatFits(pieces, digest, subject);
    if (fit === undefined) return { kind: 'differs', words: `another (tried: ${TRIED})` };
    const how = fit.name === undefined ? '' : `, by its JSON ${fit.name}`;
    return { kind: 'same', words: `the one that the receipt is of${how}` };
  };
  const comparedAnswer = ({
    pieces,
    isContinued,
    receipts = [],
  }: SavedAnswer): ComparedContents['answer'] => {
    if (!receipts.every((text) => isReceipt(text, canonical))) {
      return { kind: 'differs', words: 'another: it carries another receipt' };
    }
    if (isContinued === true) {
      return { kind: 'differs', words: 'another: payloads follow the word that ends the stream' };
    }
    if (relayedPayloads === 0) return NO_PAYLOADS;
    const found = compared(pieces.slice(0, relayedPayloads), inference.responseDigest);
    const further = pieces.length - (relayedPayloads ?? Infinity);
    if (found.kind !== 'same' || further <= 0) return found;
    const covered = relayedPayloads!;
    return {
      kind: 'begins',
      words: `${found.words}, in its first ${covered} payloads; it states nothing of what comes after them`,
      payloads: { covered, further },
    };
  };
  return {
    answer: answer === undefined ? NOTHING_COMPARED.answer : comparedAnswer(answer),
    request: request === undefined ? NOTHING_COMPARED.request : compared(request, requestDigest),
  };
}
