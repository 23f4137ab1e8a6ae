/**
 * `docket/client`: the receipt in what an OpenAI SDK hands back, with its type. It needs neither Node nor any SDK: answers
 * and streams are those of every SDK that keeps members it does not know.
 */
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { PendingReceipt } from '#shared/receipts/pending.ts';

export type { ReceiptDocument } from '#shared/receipts/document.ts';
export type { PendingReceipt } from '#shared/receipts/pending.ts';

/** What an answer carries: its receipt, or, with the tier `pending`, the announcement of a late one, which is not signed. */
export type AnswerReceipt = ReceiptDocument | PendingReceipt;

/**
 * The receipt that an answer carries, a chunk of a stream, or an event of a streamed response; undefined where it has none,
 * as in every chunk of a stream but one. It is as the service sent it: whether it is genuine, `docket/verify` says.
 */
export function receiptOf(part: unknown): AnswerReceipt | undefined {
  const receipt = isObject(part) ? part['receipt'] : undefined;
  return isObject(receipt) ? (receipt as unknown as AnswerReceipt) : undefined;
}

/** A stream that remembers the receipt which passed in it. */
export interface ReceiptedStream<Part> extends AsyncIterable<Part> {
  /** Undefined until the stream has come to it, and for ever where it broke off before. */
  readonly receipt: AnswerReceipt | undefined;
}

/** Hands every chunk or event on as it comes, and keeps the receipt. Leaving the loop ends the stream, as without this. */
export function keepReceipt<Part>(stream: AsyncIterable<Part>): ReceiptedStream<Part> {
  let receipt: AnswerReceipt | undefined;
  return {
    get receipt() {
      return receipt;
    },
    async *[Symbol.asyncIterator]() {
      for await (const part of stream) {
        receipt = receiptOf(part) ?? receipt;
        yield part;
      }
    },
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
