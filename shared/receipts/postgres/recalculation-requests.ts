import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import { now, type Queries, queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';

/** A run of restating an organisation's receipts. */
export interface Restatement {
  orgId: string;
  requestedBy: string;
  /** Epoch milliseconds. */
  requestedAt: number;
  /** Epoch milliseconds; null while it runs. */
  finishedAt: number | null;
  examined: number;
  restated: number;
  /** Not integrated, or no estimate with the newer methodology. */
  skipped: number;
}

/** What flagging a receipt came to. */
export type FlagOutcome = 'flagged' | 'pending' | 'not_degraded' | 'unknown';

/** A degraded receipt that waits, as an operator sees it. */
export interface WaitingRecalculation {
  receiptId: string;
  orgId: string;
  state: 'pending' | 'parked';
  attempts: number;
  /** Epoch milliseconds. */
  createdAt: number;
  dueAt: number;
  failedAt: number | null;
  stage: string | null;
  code: string | null;
}

/** Who asks for a recalculation, and why. */
export interface Asked {
  actor: Actor;
  reason?: string;
}

export type RecalculationRequests = ReturnType<typeof createRecalculationRequests>;

/** What callers and operators may ask for; for the roles `docket_api` and `docket_operator`. */
export function createRecalculationRequests(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  return {
    /**
     * Flags one degraded receipt; `pending` when it was flagged before and not tried since. Who asked, and why, stands in
     * the audit log; the revision gives the reason. A request that changes nothing leaves no entry.
     */
    flag: (orgId: string, receiptId: string, by: Asked): Promise<FlagOutcome> =>
      inTransaction(pool, async (client) => {
        const outcome = await flag(queriesOn(client), orgId, receiptId, by);
        if (outcome === 'flagged') {
          await appendAudit(client, surroundings, {
            orgId,
            action: 'receipt.recalculation_requested',
            subject: receiptId,
            ...by,
          });
        }
        return outcome;
      }),
    /**
     * An operator's request for everything of an organisation that was issued since: degraded receipts are flagged, and a
     * run of restating starts, or starts again. Stands in the audit log. @returns how many were flagged
     */
    requestSince: (orgId: string, sinceMs: number, by: Asked): Promise<number> =>
      inTransaction(pool, async (client) => {
        const since = firstReceiptIdAt(sinceMs);
        const flagged = await flagSince(queriesOn(client), orgId, since, by);
        await startRestating(queriesOn(client), orgId, since, by);
        await appendAudit(client, surroundings, {
          orgId,
          action: 'receipts.recalculation_requested',
          details: { since: new Date(sinceMs).toISOString(), flagged },
          ...by,
        });
        return flagged;
      }),
    async restatement(orgId: string): Promise<Restatement | null> {
      const row = await db
        .selectFrom('restatement')
        .select(['requested_by', 'requested_at', 'finished_at', 'examined', 'restated', 'skipped'])
        .where('org_id', '=', orgId)
        .executeTakeFirst();
      if (row === undefined) return null;
      return {
        orgId,
        requestedBy: row.requested_by,
        requestedAt: row.requested_at.getTime(),
        finishedAt: row.finished_at?.getTime() ?? null,
        examined: Number(row.examined),
        restated: Number(row.restated),
        skipped: Number(row.skipped),
      };
    },
    /** At most `limit`, those of the oldest receipts first. */
    async waiting({
      state,
      orgId,
      limit,
    }: {
      state?: 'pending' | 'parked';
      orgId?: string;
      limit: number;
    }): Promise<WaitingRecalculation[]> {
      const rows = await db
        .selectFrom('recalculation')
        .selectAll()
        .$if(state !== undefined, (query) => query.where('state', '=', state!))
        .$if(orgId !== undefined, (query) => query.where('org_id', '=', orgId!))
        .orderBy('receipt_id')
        .limit(limit)
        .execute();
      return rows.map((row) => ({
        receiptId: row.receipt_id,
        orgId: row.org_id,
        state: row.state,
        attempts: row.attempts,
        createdAt: row.created_at.getTime(),
        dueAt: row.due_at.getTime(),
        failedAt: row.failed_at?.getTime() ?? null,
        stage: row.stage,
        code: row.code,
      }));
    },
  };
}

/** What is owed to a degraded receipt becomes due, as if it had never been tried, in the name of the last to ask. */
const dueNow = (by: Asked) =>
  ({ state: 'pending', attempts: 0, due_at: now, flagged_at: now, ...askedColumns(by) }) as const;

function askedColumns({ actor, reason }: Asked) {
  return { requested_by: `${actor.kind}:${actor.id}`, reason: reason ?? null };
}

/**
 * Makes what is owed due now. A degraded receipt without a row would be one whose promise was lost; it gets it back.
 * A revision that is committed at the same moment leaves a row behind that the worker clears away.
 */
async function flag(
  db: Queries,
  orgId: string,
  receiptId: string,
  by: Asked,
): Promise<FlagOutcome> {
  const asked = askedColumns(by);
  const row = await db
    .with('found', (query) =>
      query
        .selectFrom('ledger_body as b')
        .leftJoin('receipt_revision as v', 'v.original_id', 'b.entry_id')
        .select((eb) => [
          'b.entry_id',
          'b.org_id',
          eb
            .and([
              eb('b.kind', '=', 'degraded'),
              eb('v.original_id', 'is', null),
              // Where the tokens are not known, no other attempt will.
              eb('b.input_tokens', 'is not', null),
            ])
            .as('degraded'),
        ])
        .where('b.entry_id', '=', receiptId)
        .where('b.org_id', '=', orgId),
    )
    .with('flagged', (query) =>
      query
        .insertInto('recalculation')
        .columns(['receipt_id', 'org_id', 'flagged_at', 'requested_by', 'reason'])
        .expression((eb) =>
          eb
            .selectFrom('found')
            .select([
              'entry_id',
              'org_id',
              now.as('flagged_at'),
              sql<string>`${asked.requested_by}::text`.as('requested_by'),
              sql<string | null>`${asked.reason}::text`.as('reason'),
            ])
            .where('degraded', '=', true),
        )
        .onConflict((conflict) =>
          conflict
            .column('receipt_id')
            .doUpdateSet(dueNow(by))
            .where('recalculation.flagged_at', 'is', null),
        )
        .returning('receipt_id'),
    )
    .selectFrom('found')
    .leftJoin('flagged', 'flagged.receipt_id', 'found.entry_id')
    .select(['found.degraded', 'flagged.receipt_id as flagged'])
    .executeTakeFirst();
  if (row === undefined) return 'unknown';
  if (row.degraded !== true) return 'not_degraded';
  return row.flagged === null ? 'pending' : 'flagged';
}

async function flagSince(db: Queries, orgId: string, since: string, by: Asked): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('recalculation')
    .set(dueNow(by))
    .where('org_id', '=', orgId)
    .where('receipt_id', '>=', since)
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

/** A run that is under way starts again with the new beginning. */
async function startRestating(db: Queries, orgId: string, since: string, by: Asked): Promise<void> {
  const run = {
    ...askedColumns(by),
    requested_at: now,
    after_id: since,
    end_id: sql<string>`receipt_id_at(now())`,
    examined: 0,
    restated: 0,
    skipped: 0,
    finished_at: null,
  };
  await db
    .insertInto('restatement')
    .values({ org_id: orgId, ...run })
    .onConflict((conflict) => conflict.column('org_id').doUpdateSet(run))
    .execute();
}
