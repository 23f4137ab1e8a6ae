import type { FastifyReply } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { ApiEvents } from '#api/events.ts';
import { admit, type AdmitDeps } from './admit.ts';
import { type AnswerDeps, answerHeaders, joinReceipt, withReceipt } from './answer.ts';
import { storedAnswer, type StoredAnswerDeps } from './idempotency.ts';
import type { Prepared } from './prepare.ts';

export interface ReplyDeps extends AdmitDeps, AnswerDeps, StoredAnswerDeps {
  events: Pick<ApiEvents, 'answered' | 'receiptLate' | 'refused' | 'storeFailed'>;
}

/** The answer is kept under the claim of this request, because an identical one was answered. */
const STORED = null;

/**
 * Has a request admitted, waits for its whole answer and sends it with its receipt. When the client leaves before that,
 * there is nothing more to do and the promise stays pending; it is collected with the connection.
 */
export async function replyWhole(
  deps: ReplyDeps,
  prepared: Prepared,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { entry } = prepared;
  // Resolved with a failure, too: the exchange may fail while nothing waits for it yet, as long as admission takes.
  const { promise, resolve: end } = Promise.withResolvers<string | Fault | typeof STORED>();
  const { exchange, headers } = await admit(deps, prepared, {
    frames: () => {},
    done: (answer, receipt) => end(joinReceipt(deps, entry, answer, receipt)),
    failed: end,
    settled: () => end(STORED),
  });
  if (exchange === null) {
    end(STORED);
  } else {
    if (reply.raw.destroyed) exchange.leave();
    else reply.raw.once('close', () => exchange.leave());
    exchange.open();
  }
  let text = await promise;
  if (text instanceof Fault) throw text;
  if (text === STORED) {
    const stored = await storedAnswer(deps, entry);
    headers['x-region'] = stored.region;
    text = withReceipt(stored.last, stored.receipt);
  }
  deps.events.answered(entry);
  return reply
    .headers(answerHeaders(deps, entry, headers))
    .type('application/json; charset=utf-8')
    .send(text);
}
