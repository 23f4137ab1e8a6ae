import type { Pool } from 'pg';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import type {
  FlagOutcome,
  RecalculationRequests,
  Restatement,
  WaitingRecalculation,
} from '../port-recalculation.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';

/** For the roles `docket_api` and `docket_operator`. */
export function createRecalculationRequests(
  pool: Pool,
  surroundings: Surroundings,
): RecalculationRequests {
  return {
    flag: (orgId, receiptId) => flag(pool, orgId, receiptId),
    requestSince: (orgId, sinceMs, by) => requestSince({ pool, surroundings }, orgId, sinceMs, by),
    restatement: (orgId) => readRestatement(pool, orgId),
    async waiting({ state, orgId, limit }) {
      const { rows } = await pool.query<WaitingRow>(
        `select receipt_id, org_id, state, attempts, created_at, due_at, failed_at, stage, code from recalculation
         where ($1::text is null or state = $1) and ($2::text is null or org_id = $2)
         order by receipt_id limit $3`,
        [state ?? null, orgId ?? null, limit],
      );
      return rows.map(waitingOf);
    },
  };
}

/**
 * Makes what is owed due now. A degraded receipt without a row would be one whose promise was lost; it gets it back.
 * A revision that is committed at the same moment leaves a row behind that the worker clears away.
 */
async function flag(pool: Pool, orgId: string, receiptId: string): Promise<FlagOutcome> {
  const { rows } = await pool.query<{ degraded: boolean; flagged: boolean }>(
    `with found as (
       select b.kind = 'degraded'
         and not exists (select from receipt_revision v where v.original_id = b.entry_id) as degraded
       from ledger_body b where b.entry_id = $2 and b.org_id = $1
     ), flagged as (
       insert into recalculation (receipt_id, org_id, flagged_at)
       select $2, $1, now() from found where degraded
       on conflict (receipt_id) do update
         set state = 'pending', attempts = 0, due_at = now(), flagged_at = now()
         where recalculation.flagged_at is null
       returning receipt_id
     )
     select degraded, exists (select from flagged) as flagged from found`,
    [orgId, receiptId],
  );
  const row = rows[0];
  if (row === undefined) return 'unknown';
  if (!row.degraded) return 'not_degraded';
  return row.flagged ? 'flagged' : 'pending';
}

async function requestSince(
  { pool, surroundings }: { pool: Pool; surroundings: Surroundings },
  orgId: string,
  sinceMs: number,
  { actor, reason }: { actor: Actor; reason?: string },
): Promise<number> {
  const since = firstReceiptIdAt(sinceMs);
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `update recalculation set state = 'pending', attempts = 0, due_at = now(), flagged_at = now()
       where org_id = $1 and receipt_id >= $2`,
      [orgId, since],
    );
    const flagged = rowCount ?? 0;
    await client.query(
      `insert into restatement (org_id, requested_by, after_id, end_id) values ($1, $2, $3, receipt_id_at(now()))
       on conflict (org_id) do update set requested_by = excluded.requested_by, requested_at = now(),
         after_id = excluded.after_id, end_id = excluded.end_id,
         examined = 0, restated = 0, skipped = 0, finished_at = null`,
      [orgId, `${actor.kind}:${actor.id}`, since],
    );
    await appendAudit(client, surroundings, {
      orgId,
      action: 'receipts.recalculation_requested',
      actor,
      details: { since: new Date(sinceMs).toISOString(), flagged },
      ...(reason === undefined ? {} : { reason }),
    });
    return flagged;
  });
}

async function readRestatement(pool: Pool, orgId: string): Promise<Restatement | null> {
  const { rows } = await pool.query<{
    org_id: string;
    requested_by: string;
    requested_at: Date;
    finished_at: Date | null;
    examined: string;
    restated: string;
    skipped: string;
  }>(
    `select org_id, requested_by, requested_at, finished_at, examined, restated, skipped
     from restatement where org_id = $1`,
    [orgId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  return {
    orgId: row.org_id,
    requestedBy: row.requested_by,
    requestedAt: row.requested_at.getTime(),
    finishedAt: row.finished_at?.getTime() ?? null,
    examined: Number(row.examined),
    restated: Number(row.restated),
    skipped: Number(row.skipped),
  };
}

interface WaitingRow {
  receipt_id: string;
  org_id: string;
  state: 'pending' | 'parked';
  attempts: number;
  created_at: Date;
  due_at: Date;
  failed_at: Date | null;
  stage: string | null;
  code: string | null;
}

function waitingOf(row: WaitingRow): WaitingRecalculation {
  return {
    receiptId: row.receipt_id,
    orgId: row.org_id,
    state: row.state,
    attempts: row.attempts,
    createdAt: row.created_at.getTime(),
    dueAt: row.due_at.getTime(),
    failedAt: row.failed_at?.getTime() ?? null,
    stage: row.stage,
    code: row.code,
  };
}
