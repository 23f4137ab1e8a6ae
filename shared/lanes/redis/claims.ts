import type { RedisClient } from './connect.ts';
import type { StoredAnswerName, StoredAnswers } from '../port-stored-answers.ts';
import { answerKey, waitersKey } from '../keys.ts';
import type { LaneScripts } from './scripts.ts';
import { type StoredAnswer, unpackAnswer } from '../stored-answer.ts';

/** Specification: identical requests within 24 hours get the stored answer. */
export const STORED_S = 86_400;

/** A request that waits for a running one with the same Idempotency-Key. */
export interface Waiter {
  inbox: string;
  requestId: string;
}

/** The answer is stored: replays get it from now on, with this receipt. Returns who waits. */
export async function settleClaim(
  scripts: LaneScripts,
  name: StoredAnswerName,
  receipt: string,
  kept: 'redis' | 'postgres' = 'redis',
): Promise<Waiter[]> {
  return endClaim(scripts, name, 'done', receipt, kept);
}

/** The request failed: the key may be used again. Returns who waits. */
export async function freeClaim(scripts: LaneScripts, name: StoredAnswerName): Promise<Waiter[]> {
  return endClaim(scripts, name, 'freed', '', '');
}

async function endClaim(
  scripts: LaneScripts,
  name: StoredAnswerName,
  how: 'done' | 'freed',
  receipt: string,
  kept: string,
): Promise<Waiter[]> {
  const { claim, requestId, attempt } = name;
  const waiting = (await scripts.settleClaim(
    claim,
    waitersKey(claim),
    answerKey(name),
    requestId,
    how,
    receipt,
    STORED_S,
    attempt,
    kept,
  )) as string[];
  return waiting.map((text) => {
    const [inbox, id] = text.split(' ') as [string, string];
    return { inbox, requestId: id };
  });
}

/** The stored answer and its receipt, or null when the claim has expired meanwhile. `large`: where large ones are. */
export async function readClaim(
  client: RedisClient,
  large: Pick<StoredAnswers, 'read'>,
  claim: string,
): Promise<{ answer: StoredAnswer; receipt: string } | null> {
  const [requestId, attempt, receipt, kept] = await client.hmget(
    claim,
    'rid',
    'attempt',
    'receipt',
    'kept',
  );
  if (!requestId || !attempt || !receipt) return null;
  const name = { claim, requestId, attempt: Number(attempt) };
  const packed =
    kept === 'postgres' ? await large.read(name) : await client.getBuffer(answerKey(name));
  return packed === null ? null : { answer: await unpackAnswer(packed), receipt };
}
