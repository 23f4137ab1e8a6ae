import type { Pool } from 'pg';
import { execute, queryRows, statement } from '#shared/kernel/postgres/statement.ts';

/** Room for a week without housekeeping; rows of later days go to the default partition, so none is refused. */
const DAYS_AHEAD = 7;

const ENSURE = statement(
  { name: 'text' },
  'select name from ensure_request_partitions($1) as name',
);
const DROP = statement({ name: 'text' }, 'select name from drop_request_partitions($1) as name');

/**
 * Makes the daily partitions of requests that are missing, and forgets the days that ended more than `keptDays` ago, each with
 * its partition. For the role `docket_housekeeping`.
 * @returns the names of the partitions that are new, and of those that are gone
 */
export async function turnRequestDays(
  pool: Pool,
  keptDays: number,
): Promise<{ made: string[]; dropped: string[] }> {
  const made = await queryRows(pool, ENSURE, [DAYS_AHEAD]);
  const dropped = await queryRows(pool, DROP, [keptDays]);
  return { made: made.map(({ name }) => name), dropped: dropped.map(({ name }) => name) };
}

const FORGET_CLOSED = statement(
  {},
  `delete from request where (org_id, id) in (
     select r.org_id, r.id from account a cross join lateral (
       select org_id, id from request where org_id = a.id limit $1) r
     where a.state = 'closed' limit $1)`,
);

/** Deletes at most so many rows of closed organisations; returns how many there were. */
export function forgetRequestsOfClosed(pool: Pool, limit: number): Promise<number> {
  return execute(pool, FORGET_CLOSED, [limit]);
}
