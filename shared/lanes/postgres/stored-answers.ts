import type { Pool } from 'pg';
import { execute, queryRow, statement } from '#shared/kernel/postgres/statement.ts';
import type { StoredAnswerName } from '../stored-answer.ts';

/** An answer as it is kept, until then (epoch ms). */
export interface StoredAnswer extends StoredAnswerName {
  packed: Uint8Array;
  expiresAt: number;
}

/** One row of parameters for each answer: bytes in an array would be written as hexadecimal text, at twice the size. */
const keepOf = (answers: number) =>
  statement(
    {},
    `insert into stored_answer (claim, request_id, attempt, packed, expires_at)
     values ${Array.from({ length: answers }, (_, row) => rowFrom(row * 5 + 1)).join(', ')}
     on conflict do nothing`,
  );

const rowFrom = (first: number): string =>
  `($${first}, $${first + 1}, $${first + 2}, $${first + 3}, $${first + 4})`;

const READ = statement(
  { packed: 'bytea' },
  `select packed from stored_answer
   where claim = $1 and request_id = $2 and attempt = $3 and expires_at > now()`,
);

const DROP_EXPIRED = statement(
  {},
  `delete from stored_answer where (claim, request_id, attempt) in (
     select claim, request_id, attempt from stored_answer
     where expires_at <= now() order by expires_at limit $1)`,
);

export type StoredAnswers = ReturnType<typeof createStoredAnswers>;

/** Answers that Redis has no room for, in PostgreSQL: written by `docket_receipts`, read by `docket_api`. */
export function createStoredAnswers(pool: Pool) {
  return {
    /** Keeps answers. Safe to repeat: its delivery is in the key of each, and one has one answer. */
    async keep(answers: readonly StoredAnswer[]): Promise<void> {
      const rows = answers.map(({ claim, requestId, delivery, packed, expiresAt }) => [
        claim,
        requestId,
        delivery,
        packed,
        new Date(expiresAt),
      ]);
      await execute(pool, keepOf(rows.length), rows.flat());
    },
    /** Null when it has expired or never was. */
    async read({ claim, requestId, delivery }: StoredAnswerName): Promise<Buffer | null> {
      const found = await queryRow(pool, READ, [claim, requestId, delivery]);
      return found?.packed ?? null;
    },
  };
}

/** Deletes at most `limit` answers whose time is over, with the rights of `docket_housekeeping`. Returns how many. */
export function dropExpiredAnswers(pool: Pool, limit: number): Promise<number> {
  return execute(pool, DROP_EXPIRED, [limit]);
}
