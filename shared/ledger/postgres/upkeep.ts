import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { ANCHOR_LOG } from '../origins.ts';

/** Room for a quarter without housekeeping; later ids go to the default partition, so nothing is lost. */
const MONTHS_AHEAD = 3;

const ENSURE_PARTITIONS = statement(
  { name: 'text' },
  'select name from ensure_ledger_partitions($1) as name',
);

/**
 * Makes the monthly partitions of receipt bodies that are missing, with the rights of `docket_housekeeping`. A month that
 * has bodies in the default partition already stays there, so this has to run before the month begins.
 * @returns the names of the new ones
 */
export async function ensureLedgerPartitions(pool: Pool): Promise<string[]> {
  const rows = await queryRows(pool, ENSURE_PARTITIONS, [MONTHS_AHEAD]);
  return rows.map(({ name }) => name);
}

/** Who repairs, and why. */
export interface Repair {
  actor: Actor;
  reason?: string;
}

const RESUME = statement(
  { halt_reason: 'text?' },
  `with halted as (
     select org_id, halt_reason from ledger_head where org_id = $1 and halted_at is not null for update)
   update ledger_head h set halted_at = null, halt_reason = null from halted where h.org_id = halted.org_id
   returning halted.halt_reason`,
);

/**
 * Lets a halted log go on. The caller has examined it; a contradiction that is still there halts it
 * again at the next checkpoint.
 * @throws Fault `halted_log_not_found`
 */
export async function resumeLog(
  pool: Pool,
  surroundings: Surroundings,
  orgId: string,
  { actor, reason }: Repair,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const halted = await queryRow(client, RESUME, [orgId]);
    if (halted === undefined) throw new Fault('halted_log_not_found');
    await appendAudit(client, surroundings, {
      orgId: orgId === ANCHOR_LOG ? SERVICE_CHAIN : orgId,
      action: 'ledger.resumed',
      actor,
      details: { halt_reason: halted.halt_reason },
      ...(reason === undefined ? {} : { reason }),
    });
  });
}

const REQUEUE = statement(
  { org_id: 'text', reason: 'text' },
  `with released as (delete from ledger_quarantine where entry_id = $1 returning *),
   promised as (
     insert into receipt_pending (entry_id, org_id, kind, supersedes, leaf_hash, submitted_at)
     select entry_id, org_id, kind, supersedes, leaf_hash, submitted_at from released)
   select org_id, reason from released`,
);

/**
 * Gives a receipt in quarantine another try: its promise waits for integration again.
 * @throws Fault `quarantined_receipt_not_found`
 */
export async function requeueReceipt(
  pool: Pool,
  surroundings: Surroundings,
  receiptId: string,
  { actor, reason }: Repair,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const released = await queryRow(client, REQUEUE, [receiptId]);
    if (released === undefined) throw new Fault('quarantined_receipt_not_found');
    await appendAudit(client, surroundings, {
      orgId: released.org_id,
      action: 'receipt.requeued',
      actor,
      subject: receiptId,
      details: { quarantine_reason: released.reason },
      ...(reason === undefined ? {} : { reason }),
    });
  });
}
