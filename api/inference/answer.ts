import type { FastifyReply } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import { appendMember } from '#shared/kernel/json-text.ts';
import type { ExchangeSink } from './exchange.ts';

/** Joins an answer and its receipt, both as they are. */
export function withReceipt(answer: string, receipt: string): string {
  return appendMember(answer, 'receipt', receipt);
}

/** Waits for one whole answer. `degraded` may throw a Fault in place of a receipt. `promise` gives its text with the receipt, or null when it is stored for replay. */
export function answerSink(degraded: () => string): {
  sink: ExchangeSink;
  promise: Promise<string | null>;
} {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>();
  const sink: ExchangeSink = {
    frames: () => {},
    done(answer, receipt) {
      try {
        resolve(withReceipt(answer, receipt ?? degraded()));
      } catch (error) {
        reject(error);
      }
    },
    failed: reject,
    settled: () => resolve(null),
  };
  return { sink, promise };
}

/** Sends JSON text as it is. */
export function sendJson(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(text);
}

/** For a request that takes no degraded receipt. */
export const RECEIPT_LATE = new Fault(
  'receipt_generation_failed',
  'The receipt for this request did not come in time. It will be issued under the same id.',
);

export const STORED_ANSWER_GONE = new Fault(
  'internal_error',
  'The stored answer to this request is no longer there. Try again with a new Idempotency-Key.',
);
