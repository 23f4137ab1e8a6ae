import type { Pool } from 'pg';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';

/** Rows of each kind that are shown; a store with more has one cause for most of them. */
const SHOWN_MAX = 50;

/** A log that takes no more receipts until a person has looked. */
export interface HaltedLog {
  orgId: string;
  /** Epoch milliseconds. */
  haltedAt: number;
  reason: string | null;
}

/** A receipt that could not be integrated. */
export interface QuarantinedReceipt {
  receiptId: string;
  orgId: string;
  /** Epoch milliseconds. */
  quarantinedAt: number;
  reason: string;
}

const HALTED = statement(
  { org_id: 'text', halted_at: 'timestamptz?', halt_reason: 'text?' },
  `select org_id, halted_at, halt_reason from ledger_head where halted_at is not null
   order by halted_at limit $1`,
);

const QUARANTINED = statement(
  { entry_id: 'text', org_id: 'text', quarantined_at: 'timestamptz', reason: 'text' },
  'select entry_id, org_id, quarantined_at, reason from ledger_quarantine order by entry_id limit $1',
);

/** What of the ledger waits for a person, oldest first. */
export async function readAttention(
  pool: Pool,
): Promise<{ halted: HaltedLog[]; quarantined: QuarantinedReceipt[] }> {
  const [halted, quarantined] = await Promise.all([
    queryRows(pool, HALTED, [SHOWN_MAX]),
    queryRows(pool, QUARANTINED, [SHOWN_MAX]),
  ]);
  return {
    halted: halted.map((row) => ({
      orgId: row.org_id,
      haltedAt: row.halted_at!.getTime(),
      reason: row.halt_reason,
    })),
    quarantined: quarantined.map((row) => ({
      receiptId: row.entry_id,
      orgId: row.org_id,
      quarantinedAt: row.quarantined_at.getTime(),
      reason: row.reason,
    })),
  };
}
