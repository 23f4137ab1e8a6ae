import { answerIn } from '#shared/receipts/locate.ts';
import { spellingThatFits } from '#shared/receipts/content.ts';
import type { InferenceDocument, ReceiptDocument } from '#shared/receipts/document.ts';
import { TRIED } from '#shared/receipts/spellings.ts';

/** What the digests of a receipt are of, as somebody saved it. */
export interface Contents {
  /** An answer or the payloads of a stream, without the receipt. */
  answer?: readonly string[] | undefined;
  request?: readonly string[] | undefined;
}

/** Whether a content is the one that a receipt is of, and a sentence on it. */
interface Compared {
  kind: 'same' | 'differs' | 'not_compared';
  words: string;
}

export interface ComparedContents {
  answer: Compared;
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

/** Compares what was given with the digests of a receipt. */
export function compareContents(
  { credentialSubject: subject }: ReceiptDocument,
  { answer, request }: Contents,
): ComparedContents {
  const inference: Partial<InferenceDocument> & typeof subject = subject;
  const { relayedPayloads, requestDigest } = inference;
  const compared = (
    pieces: readonly string[],
    digest: string | undefined,
    beyond = '',
  ): Compared => {
    if (digest === undefined) {
      return { kind: 'differs', words: 'the receipt is of a request that got no answer' };
    }
    const fit = spellingThatFits(pieces, digest, subject);
    if (fit === undefined) return { kind: 'differs', words: `another (tried: ${TRIED})` };
    const how = fit.name === undefined ? '' : `, by its JSON ${fit.name}`;
    return { kind: 'same', words: `the one that the receipt is of${how}${beyond}` };
  };
  const further = (answer?.length ?? 0) - (relayedPayloads ?? Infinity);
  return {
    answer:
      answer === undefined
        ? NOTHING_COMPARED.answer
        : compared(
            answer.slice(0, relayedPayloads),
            inference.responseDigest,
            further > 0
              ? `, in its first ${relayedPayloads} payloads; it states nothing of what comes after them`
              : '',
          ),
    request: request === undefined ? NOTHING_COMPARED.request : compared(request, requestDigest),
  };
}
