import { DAY_MS } from '#shared/kernel/time.ts';
import { nextTurn } from '#shared/kernel/turns.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { STORED_S } from '#shared/lanes/redis/claims.ts';
import { answerKey, keptKey } from '#shared/lanes/keys.ts';
import { PACKED_IN_REDIS_MAX, type StoredAnswerName } from '#shared/lanes/stored-answer.ts';
import type { StoredAnswer, StoredAnswers } from '#shared/lanes/postgres/stored-answers.ts';

/**
 * Bytes of answers and of their receipts that Redis keeps of one organisation's day: with an Idempotency-Key on each, a
 * day's requests could otherwise leave a hundred gigabytes in the memory that all share. Of what comes after them it keeps
 * that there is a claim, which is 0.4 kB.
 */
const KEPT_BYTES_OF_DAY = 256 * 1024 * 1024;
/** Answers that are moved in one statement; a larger one goes alone. */
const TOGETHER_BYTES_MAX = 4 * 1024 * 1024;

export interface AnswerPlacerOptions {
  client: Pick<RedisClient, 'expire' | 'getBuffer' | 'incrby'>;
  large: Pick<StoredAnswers, 'keep'>;
  now: () => number;
  onError: (error: unknown) => void;
}

/**
 * Decides where a stored answer stays. A small one stays where the inference worker put it; a large one, and one of an
 * organisation that has had much kept today, moves to PostgreSQL, where its receipt is, so that Redis keeps only the claim.
 * Safe to repeat. One that cannot be moved stays where it is: better a full Redis than a retry that runs twice.
 */
export function answerPlacer({ client, large, now, onError }: AnswerPlacerOptions) {
  /** Counts an answer with those of its organisation's day; returns whether it is still within what Redis keeps. */
  const fits = async ({ claim }: StoredAnswerName, bytes: number): Promise<boolean> => {
    const key = keptKey(claim, Math.floor(now() / DAY_MS));
    const kept = await client.incrby(key, bytes);
    // An answer that begins the day outlives it by another.
    if (kept === bytes) await client.expire(key, 2 * STORED_S);
    return kept <= KEPT_BYTES_OF_DAY;
  };
  const keep = together(large);
  return async (
    name: StoredAnswerName,
    bytes: number,
    receiptBytes: number,
  ): Promise<'redis' | 'postgres'> => {
    if (bytes <= PACKED_IN_REDIS_MAX && (await fits(name, bytes + receiptBytes))) return 'redis';
    const packed = await client.getBuffer(answerKey(name));
    // An earlier delivery of this entry has moved it and then failed before the claim was settled.
    if (packed === null) return 'postgres';
    try {
      await keep({ ...name, packed, expiresAt: now() + STORED_S * 1_000 });
      return 'postgres';
    } catch (error) {
      onError(error);
      return 'redis';
    }
  };
}

/** Moves answers in one statement at a time, with all that came while the last was written: each costs a commit. */
function together(large: Pick<StoredAnswers, 'keep'>): (answer: StoredAnswer) => Promise<void> {
  let waiting: { answer: StoredAnswer; moved: PromiseWithResolvers<void> }[] = [];
  let isMoving = false;

  function next(): typeof waiting {
    let bytes = 0;
    const fit = waiting.findIndex(
      ({ answer }) => (bytes += answer.packed.length) > TOGETHER_BYTES_MAX,
    );
    const some = waiting.slice(0, fit === -1 ? waiting.length : Math.max(1, fit));
    waiting = waiting.slice(some.length);
    return some;
  }

  async function moveAll(): Promise<void> {
    isMoving = true;
    // The others of this turn are there by then.
    await nextTurn();
    while (waiting.length > 0) {
      const some = next();
      const result = large.keep(some.map(({ answer }) => answer));
      for (const { moved } of some) moved.resolve(result);
      await result.catch(() => {
        // Each of them hears of it.
      });
    }
    isMoving = false;
  }

  return (answer) => {
    const moved = Promise.withResolvers<void>();
    waiting.push({ answer, moved });
    if (!isMoving) void moveAll();
    return moved.promise;
  };
}
