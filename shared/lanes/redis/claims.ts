import type { StoredAnswers } from '../postgres/stored-answers.ts';
import { answerKey, CONSUMER_GROUP, waitersKey } from '../keys.ts';
import type { Reply, WireFault } from '../messages.ts';
import { type StoredAnswer, type StoredAnswerName, unpackAnswer } from '../stored-answer.ts';
import type { RedisClient } from './connect.ts';
import type { Delivery } from './lane-consumer.ts';
import type { Holding, Outbox } from './outbox.ts';
import type { LaneScripts } from './scripts.ts';
import type { Seals } from '../seals.ts';

/** Specification: identical requests within 24 hours get the stored answer. */
export const STORED_S = 86_400;

export type Claims = ReturnType<typeof createClaims>;

/**
 * Ends idempotency claims, and tells the requests that wait for one how it ended. Both are safe to repeat, and do nothing
 * for a delivery that no longer holds its entry.
 */
export function createClaims(scripts: LaneScripts, outbox: Pick<Outbox, 'send'>) {
  const end = async (
    { lane, entryId, consumer, number }: Delivery,
    { claim, requestId, delivery }: StoredAnswerName,
    how: { end: 'done' | 'freed'; receipt: string; kept: string },
    replyTo: (id: string) => Reply,
  ): Promise<Holding> => {
    const [holding, ...waiting] = (await scripts.settleClaim(
      claim,
      waitersKey(claim),
      answerKey({ claim, requestId, delivery }),
      lane,
      requestId,
      how.end,
      how.receipt,
      STORED_S,
      delivery,
      how.kept,
      CONSUMER_GROUP,
      entryId,
      consumer,
      number,
    )) as [Holding, ...string[]];
    for (const waiter of waiting) {
      const [inbox, id] = waiter.split(' ') as [string, string];
      outbox.send(inbox, replyTo(id));
    }
    return holding;
  };
  return {
    /** The answer is stored: identical requests get it from now on, with this receipt. */
    settle: (
      by: Delivery,
      name: StoredAnswerName,
      receipt: string,
      kept: 'redis' | 'postgres',
    ): Promise<Holding> =>
      end(by, name, { end: 'done', receipt, kept }, (id) => ({ id, kind: 'settled' })),
    /** The request failed: its key may be used again, and those who wait for it fail as it did. */
    free: (by: Delivery, name: StoredAnswerName, error: WireFault): Promise<Holding> =>
      end(by, name, { end: 'freed', receipt: '', kept: '' }, (id) => {
        return { id, attempt: 1, seq: 1, kind: 'error', error };
      }),
  };
}

/**
 * The stored answer and its receipt, or null when the claim has expired meanwhile. `large`: where large ones are.
 * `whenLarge` is waited for before a large answer is in memory.
 * @throws SealProblem when the answer cannot be opened
 */
export async function readClaim(
  client: RedisClient,
  large: Pick<StoredAnswers, 'read'>,
  seals: Pick<Seals, 'openBytesInTurns'>,
  claim: string,
  whenLarge: () => Promise<void>,
): Promise<{ answer: StoredAnswer; receipt: string } | null> {
  const [requestId, delivery, receipt, kept] = await client.hmget(
    claim,
    'rid',
    'attempt',
    'receipt',
    'kept',
  );
  if (!requestId || !delivery || !receipt) return null;
  const name = { claim, requestId, delivery: Number(delivery) };
  if (kept === 'postgres') {
    await whenLarge();
    const packed = await large.read(name);
    return packed === null ? null : { answer: await unpackAnswer(seals, name, packed), receipt };
  }
  const packed = await client.getBuffer(answerKey(name));
  if (packed === null) return null;
  return { answer: await unpackAnswer(seals, name, packed, whenLarge), receipt };
}

/** How a claim stands, and which request holds it. `answered`: its answer is kept, and its receipt not committed yet. */
export interface ClaimStanding {
  requestId: string;
  state: 'running' | 'answered' | 'done';
}

/** A claim in short, or null when it is free. */
export async function readStanding(
  client: Pick<RedisClient, 'hmget' | 'ttl'>,
  claim: string,
): Promise<ClaimStanding | null> {
  const [[requestId, state], lifeS] = await Promise.all([
    client.hmget(claim, 'rid', 'state'),
    client.ttl(claim),
  ]);
  if (!requestId) return null;
  if (state === 'done') return { requestId, state };
  // While it runs, a claim lives for little longer than its request may; with an answer, as long as that is kept.
  return { requestId, state: lifeS > STORED_S / 2 ? 'answered' : 'running' };
}
