import type { Pool } from 'pg';
import { execute, statement } from '#shared/kernel/postgres/statement.ts';

/** Requests whose energy is settled, one way or the other, and whose time is over. */
const FORGET_REQUESTS = statement(
  {},
  `delete from metered_request where receipt_id in (
     select receipt_id from metered_request where state in ('measured', 'unmeasured') and ended_at < $1
     order by ended_at limit $2 for update skip locked)`,
);

/** Readings of endpoints that are gone: of those that are there, all but the newest are settled within minutes. */
const FORGET_READINGS = statement(
  {},
  `delete from meter_reading where (endpoint, read_at) in (
     select endpoint, read_at from meter_reading where read_at < $1 order by read_at limit $2 for update skip locked)`,
);

/**
 * Forgets who ran on metered endpoints before `until`. Intervals stay, because receipts name them by digest: they say
 * what of their energy was whose for as long as a caller may ask an operator for it.
 * @returns how many rows of each are gone, at most `limit`
 */
export async function forgetMetered(
  pool: Pool,
  until: Date,
  limit: number,
): Promise<{ requests: number; readings: number }> {
  return {
    requests: await execute(pool, FORGET_REQUESTS, [until, limit]),
    readings: await execute(pool, FORGET_READINGS, [until, limit]),
  };
}
