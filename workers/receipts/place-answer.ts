import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { STORED_S } from '#shared/lanes/redis/claims.ts';
import { answerKey, keptKey } from '#shared/lanes/keys.ts';
import { PACKED_IN_REDIS_MAX, type StoredAnswerName } from '#shared/lanes/stored-answer.ts';
import type { StoredAnswers } from '#shared/lanes/postgres/stored-answers.ts';

/**
 * Bytes of answers that Redis keeps of one organisation's day: with an Idempotency-Key on each, a day's requests could
 * otherwise leave a hundred gigabytes in the memory that all share. What comes after them goes to PostgreSQL …
 */
const KEPT_BYTES_OF_DAY = 256 * 1024 * 1024;
/** … but for what is no larger than the receipt that stays in Redis with its claim. */
const SMALL_BYTES = 4 * 1024;
const DAY_MS = 86_400_000;

export interface AnswerPlacerOptions {
  client: Pick<RedisClient, 'expire' | 'getBuffer' | 'incrby'>;
  large: Pick<StoredAnswers, 'keep'>;
  now: () => number;
  onError: (error: unknown) => void;
}

/**
 * Decides where a stored answer stays. A small one stays where the inference worker put it; a large one, and one of an
 * organisation that has had much kept today, moves to PostgreSQL, so that Redis keeps only the claim. Safe to repeat. One that cannot be moved stays where it is: better a
 * full Redis than a retry that runs twice.
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
  return async (name: StoredAnswerName, bytes: number): Promise<'redis' | 'postgres'> => {
    const staysAnyway = bytes <= SMALL_BYTES;
    if (staysAnyway || (bytes <= PACKED_IN_REDIS_MAX && (await fits(name, bytes)))) return 'redis';
    const packed = await client.getBuffer(answerKey(name));
    // An earlier delivery of this entry has moved it and then failed before the claim was settled.
    if (packed === null) return 'postgres';
    try {
      await large.keep(name, packed, now() + STORED_S * 1_000);
      return 'postgres';
    } catch (error) {
      onError(error);
      return 'redis';
    }
  };
}
