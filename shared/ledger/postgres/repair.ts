import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { notFound } from '#shared/kernel/errors.ts';
import { ANCHOR_LOG } from '../origins.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { appendAudit } from '#shared/accounts/postgres/audit-append.ts';
import type { HeadRow, QuarantineRow } from './schema.ts';

/** Who repairs, and why. */
export interface Repair {
  actor: Actor;
  reason?: string;
}

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
    const { rows } = await client.query<Pick<HeadRow, 'halt_reason'>>(
      `select halt_reason from ledger_head where org_id = $1 and halted_at is not null for update`,
      [orgId],
    );
    const halted = rows[0];
    if (halted === undefined) throw notFound('halted_log');
    await client.query(
      `update ledger_head set halted_at = null, halt_reason = null where org_id = $1`,
      [orgId],
    );
    await appendAudit(client, surroundings, {
      orgId: orgId === ANCHOR_LOG ? SERVICE_CHAIN : orgId,
      action: 'ledger.resumed',
      actor,
      details: { halt_reason: halted.halt_reason },
      ...(reason === undefined ? {} : { reason }),
    });
  });
}

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
    const { rows } = await client.query<Pick<QuarantineRow, 'org_id' | 'reason'>>(
      `with released as (delete from ledger_quarantine where entry_id = $1 returning *),
       promised as (
         insert into receipt_pending (entry_id, org_id, kind, supersedes, leaf_hash, submitted_at)
         select entry_id, org_id, kind, supersedes, leaf_hash, submitted_at from released)
       select org_id, reason from released`,
      [receiptId],
    );
    const released = rows[0];
    if (released === undefined) throw notFound('quarantined_receipt');
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
