import type { RedisClient } from '../adapters/redis/connect.ts';
import { answerKey, waitersKey } from './keys.ts';
import type { LaneScripts } from './scripts.ts';
import { type StoredAnswer, unpackAnswer } from './stored-answer.ts';

/** Specification: identical requests within 24 hours get the stored answer. */
const STORED_S = 86_400;

/** A request that waits for a running one with the same Idempotency-Key. */
export interface Waiter {
  inbox: string;
  requestId: string;
}

/** The answer is stored: replays get it from now on, with this receipt. Returns who waits. */
export async function settleClaim(
  scripts: LaneScripts,
  claim: string,
  requestId: string,
  receipt: string,
): Promise<Waiter[]> {
  return endClaim(scripts, claim, requestId, 'done', receipt);
}

/** The request failed: the key may be used again. Returns who waits. */
export async function freeClaim(
  scripts: LaneScripts,
  claim: string,
  requestId: string,
): Promise<Waiter[]> {
  return endClaim(scripts, claim, requestId, 'freed', '');
}

async function endClaim(
  scripts: LaneScripts,
  claim: string,
  requestId: string,
  how: 'done' | 'freed',
  receipt: string,
): Promise<Waiter[]> {
  const waiting = (await scripts.settleClaim(
    claim,
    waitersKey(claim),
    answerKey(claim),
    requestId,
    how,
    receipt,
    STORED_S,
  )) as string[];
  return waiting.map((text) => {
    const [inbox, id] = text.split(' ') as [string, string];
    return { inbox, requestId: id };
  });
}

/** The stored answer and its receipt, or null when the claim has expired meanwhile. */
export async function readClaim(
  client: RedisClient,
  claim: string,
): Promise<{ answer: StoredAnswer; receipt: string } | null> {
  const [packed, receipt] = await Promise.all([
    client.getBuffer(answerKey(claim)),
    client.hget(claim, 'receipt'),
  ]);
  if (packed === null || receipt === null) return null;
  return { answer: unpackAnswer(packed), receipt };
}
