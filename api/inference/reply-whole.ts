import type { FastifyReply } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import { bytesOfText } from '#shared/kernel/long-text.ts';
import { LONG, nextTurn } from '#shared/kernel/turns.ts';
import type { ApiEvents } from '#api/events.ts';
import { noteReceipt } from '#api/plugins/answered.ts';
import type { Admitted } from './admit/admitted.ts';
import { answerHeaders, failureHeaders, joinReceipt, withReceipt } from './answer.ts';
import { joinKept, rejoinKept, type TellingDeps } from './kept/told.ts';
import { storedAnswer, type StoredAnswerDeps } from './idempotency.ts';

export interface ReplyDeps extends TellingDeps, StoredAnswerDeps {
  events: Pick<ApiEvents, 'answered' | 'receiptLate' | 'refused' | 'storeFailed' | 'streamBegan'>;
}

/** The answer is kept under the claim of this request, because an identical one was answered. */
const STORED = null;

/**
 * Waits for the whole answer of a request and sends it with its receipt. When the client leaves before that, there is
 * nothing more to do and the promise stays pending; it is collected with the connection.
 */
export async function replyWhole(
  deps: ReplyDeps,
  admitted: Admitted,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { exchange, entry, run, stored, keeping } = admitted;
  const { promise, resolve: end } = Promise.withResolvers<string | Fault | typeof STORED>();
  if (reply.raw.destroyed) exchange.leave();
  else reply.raw.once('close', () => exchange.leave());
  exchange.open({
    frames: () => {},
    done: (answer, receipt) => {
      noteReceipt(reply.request, receipt);
      end(
        keeping === undefined
          ? joinReceipt(deps, run!, answer, receipt)
          : joinKept(deps, run!, keeping, [answer, receipt]),
      );
    },
    failed: end,
    settled: () => end(STORED),
  });
  if (stored) end(STORED);
  let text = await promise;
  let region = exchange.region ?? null;
  if (text === STORED) {
    try {
      const kept = await storedAnswer(deps, entry);
      ({ region } = kept);
      noteReceipt(reply.request, kept.receipt);
      text = await rejoinKept(deps, admitted, withReceipt(kept.last, kept.receipt));
    } finally {
      exchange.close();
    }
  }
  if (text instanceof Fault) {
    void reply.headers(failureHeaders(deps, admitted, region, text));
    throw text;
  }
  deps.events.answered(entry);
  return reply
    .headers(answerHeaders(deps, admitted, region))
    .type('application/json; charset=utf-8')
    .send(text.length > LONG ? await bytesOf(text) : text);
}

/** A long answer in bytes, in turns of their own: it was joined in the one before, and is written in the next. */
async function bytesOf(text: string): Promise<Buffer> {
  await nextTurn();
  const bytes = await bytesOfText(text);
  await nextTurn();
  return bytes;
}
