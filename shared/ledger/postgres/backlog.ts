import type { Pool } from 'pg';

/** Beyond this the exact number of waiting receipts tells an operator nothing more. */
const COUNT_MAX = 100_000;

/** What waits to be integrated, and what waits for a person. */
export interface LedgerBacklog {
  /** At most 100,000 are counted. */
  pending: number;
  /** Age of the oldest promise in milliseconds, by the database's clock; 0 when there is none. */
  oldestMs: number;
  quarantined: number;
  haltedLogs: number;
}

/** Where the ledger stands, for metrics and alarms. */
export async function readBacklog(pool: Pool): Promise<LedgerBacklog> {
  const { rows } = await pool.query<
    Record<'pending' | 'oldest_ms' | 'quarantined' | 'halted', string>
  >(
    `select
       (select count(*) from (select from receipt_pending limit $1) p) as pending,
       coalesce((select extract(epoch from clock_timestamp() - min(submitted_at)) * 1000 from
         (select submitted_at from receipt_pending order by entry_id limit 1000) p), 0)::bigint as oldest_ms,
       (select count(*) from ledger_quarantine) as quarantined,
       (select count(*) from ledger_head where halted_at is not null) as halted`,
    [COUNT_MAX],
  );
  const row = rows[0]!;
  return {
    pending: Number(row.pending),
    oldestMs: Math.max(0, Number(row.oldest_ms)),
    quarantined: Number(row.quarantined),
    haltedLogs: Number(row.halted),
  };
}
