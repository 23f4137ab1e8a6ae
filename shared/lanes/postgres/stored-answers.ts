import type { Pool } from 'pg';
import { now, queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { StoredAnswerName } from '../stored-answer.ts';

/** An answer as it is kept, until then (epoch ms). */
export interface StoredAnswer extends StoredAnswerName {
  packed: Uint8Array;
  expiresAt: number;
}

export type StoredAnswers = ReturnType<typeof createStoredAnswers>;

/** Answers that Redis has no room for, in PostgreSQL: written by `docket_receipts`, read by `docket_api`. */
export function createStoredAnswers(pool: Pool) {
  const db = queriesOn(pool);
  return {
    /** Keeps answers. Safe to repeat: its delivery is in the key of each, and one has one answer. */
    async keep(answers: readonly StoredAnswer[]): Promise<void> {
      await db
        .insertInto('stored_answer')
        .values(
          answers.map(({ claim, requestId, delivery, packed, expiresAt }) => ({
            claim,
            request_id: requestId,
            attempt: delivery,
            packed: Buffer.from(packed),
            expires_at: new Date(expiresAt),
          })),
        )
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },
    /** Null when it has expired or never was. */
    async read({ claim, requestId, delivery }: StoredAnswerName): Promise<Buffer | null> {
      const found = await db
        .selectFrom('stored_answer')
        .select('packed')
        .where('claim', '=', claim)
        .where('request_id', '=', requestId)
        .where('attempt', '=', delivery)
        .where('expires_at', '>', now)
        .executeTakeFirst();
      return found?.packed ?? null;
    },
  };
}

/** Deletes at most `limit` answers whose time is over, with the rights of `docket_housekeeping`. Returns how many. */
export async function dropExpiredAnswers(pool: Pool, limit: number): Promise<number> {
  const { numDeletedRows } = await queriesOn(pool)
    .deleteFrom('stored_answer')
    .where((eb) =>
      eb(
        eb.refTuple('claim', 'request_id', 'attempt'),
        'in',
        eb
          .selectFrom('stored_answer')
          .select(['claim', 'request_id', 'attempt'])
          .where('expires_at', '<=', now)
          .orderBy('expires_at')
          .limit(limit)
          .$asTuple('claim', 'request_id', 'attempt'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
