import type { Pool } from 'pg';
import type { StoredAnswers } from '../port-stored-answers.ts';

/** Safe to repeat: the delivery is in the key, and one delivery has one answer. */
const KEEP = `
  INSERT INTO stored_answer (claim, request_id, attempt, packed, expires_at)
  VALUES ($1, $2, $3, $4, to_timestamp($5::float8 / 1000))
  ON CONFLICT DO NOTHING`;

const READ = `
  SELECT packed FROM stored_answer
  WHERE claim = $1 AND request_id = $2 AND attempt = $3 AND expires_at > now()`;

/** Large answers in PostgreSQL: written by `docket_receipts`, read by `docket_api`. */
export function createStoredAnswers(pool: Pool): StoredAnswers {
  return {
    async keep({ claim, requestId, attempt }, packed, expiresAt) {
      await pool.query(KEEP, [claim, requestId, attempt, packed, expiresAt]);
    },
    async read({ claim, requestId, attempt }) {
      const { rows } = await pool.query<{ packed: Buffer }>(READ, [claim, requestId, attempt]);
      return rows[0]?.packed ?? null;
    },
  };
}

/** Deletes at most `limit` answers whose time is over, with the rights of `docket_housekeeping`. Returns how many. */
export async function dropExpiredAnswers(pool: Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM stored_answer WHERE (claim, request_id, attempt) IN
       (SELECT claim, request_id, attempt FROM stored_answer
        WHERE expires_at <= now() ORDER BY expires_at LIMIT $1)`,
    [limit],
  );
  return rowCount ?? 0;
}
