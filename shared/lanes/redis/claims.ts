import type { StoredAnswers } from '../postgres/stored-answers.ts';
import { answerKey, CONSUMER_GROUP, waiterOf, waitersKey } from '../keys.ts';
import { type StoredAnswer, type StoredAnswerName, unpackAnswer } from '../stored-answer.ts';
import type { RedisClient } from './connect.ts';
import type { Delivery } from './lane-consumer.ts';
import type { Holding, Outbox } from './outbox.ts';
import type { LaneScripts } from './scripts.ts';
import type { Seals } from '../seals.ts';

/** Specification: identical requests within 24 hours get the stored answer. */
export const STORED_S = 86_400;
/**
 * While its request runs, a claim lives for little longer than that may; with an answer, as long as that is kept. One that
 * lives for longer than this has its answer.
 */
export const ANSWERED_MS = (STORED_S / 2) * 1_000;

/**
 * Keeps an answer under its claim, and the receipt with it, unless both are in PostgreSQL; does nothing for a delivery that
 * no longer holds its entry.
 */
export type SettleClaim = (
  by: Delivery,
  name: StoredAnswerName,
  receipt: string,
  kept: 'redis' | 'postgres',
) => Promise<Holding>;

/**
 * Ends claims whose answers are stored: identical requests get them from now on, and those that wait are told. It is safe
 * to repeat. A claim without an answer is freed by the write that ends its request (`HolderWrite.free`).
 */
export function createSettleClaim(scripts: LaneScripts, outbox: Pick<Outbox, 'send'>): SettleClaim {
  return async ({ lane, entryId, consumer, number }, name, receipt, kept) => {
    const { claim, requestId, delivery } = name;
    const [holding, ...waiting] = (await scripts.settleClaim({
      claim,
      waiters: waitersKey(claim),
      answer: answerKey(name),
      lane,
      group: CONSUMER_GROUP,
      entryId,
      consumer,
      number,
      requestId,
      receipt: kept === 'redis' ? receipt : '',
      storedS: STORED_S,
      attempt: delivery,
      kept,
    })) as [Holding, ...string[]];
    for (const waiter of waiting) {
      const { inbox, id } = waiterOf(waiter);
      outbox.send(inbox, { id, kind: 'settled' });
    }
    return holding;
  };
}

/**
 * The stored answer and its receipt, or null when the claim has expired meanwhile. `elsewhere`: where those are that Redis
 * has no room for. It is asked for a receipt by its request.
 * `whenLarge` is waited for before a large answer is in memory.
 * @throws SealProblem when the answer cannot be opened
 */
export async function readClaim(
  client: RedisClient,
  elsewhere: Pick<StoredAnswers, 'read'> & {
    receiptOf: (requestId: string) => Promise<string | undefined>;
  },
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
  if (!requestId || !delivery) return null;
  const name = { claim, requestId, delivery: Number(delivery) };
  if (kept === 'postgres') {
    await whenLarge();
    const [packed, text] = await Promise.all([
      elsewhere.read(name),
      elsewhere.receiptOf(requestId),
    ]);
    if (packed === null || text === undefined) return null;
    return { answer: await unpackAnswer(seals, name, packed), receipt: text };
  }
  if (!receipt) return null;
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
  client: Pick<RedisClient, 'hmget' | 'pttl'>,
  claim: string,
): Promise<ClaimStanding | null> {
  const [[requestId, state], lifeMs] = await Promise.all([
    client.hmget(claim, 'rid', 'state'),
    client.pttl(claim),
  ]);
  if (!requestId) return null;
  if (state === 'done') return { requestId, state };
  return { requestId, state: lifeMs > ANSWERED_MS ? 'answered' : 'running' };
}
