import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { STORED_S } from '#shared/lanes/redis/claims.ts';
import { answerKey } from '#shared/lanes/keys.ts';
import { PACKED_IN_REDIS_MAX, type StoredAnswerName } from '#shared/lanes/stored-answer.ts';
import type { StoredAnswers } from '#shared/lanes/postgres/stored-answers.ts';

export interface AnswerPlacerOptions {
  client: RedisClient;
  large: Pick<StoredAnswers, 'keep'>;
  now: () => number;
  onError: (error: unknown) => void;
}

/**
 * Decides where a stored answer stays. A small one stays where the inference worker put it; a large one moves to
 * PostgreSQL, so that Redis keeps only the claim. Safe to repeat. One that cannot be moved stays where it is: better a
 * full Redis than a retry that runs twice.
 */
export function answerPlacer({ client, large, now, onError }: AnswerPlacerOptions) {
  return async (name: StoredAnswerName, bytes: number): Promise<'redis' | 'postgres'> => {
    if (bytes <= PACKED_IN_REDIS_MAX) return 'redis';
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
