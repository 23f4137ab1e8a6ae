import type { Pool } from 'pg';
import type {
  FailedRecalculation,
  RevisableReceipt,
  RevisionRow,
  RevisionStore,
} from '../port-recalculation.ts';
import {
  BODY_COLUMNS,
  bodyParameters,
  GIVEN_ROWS,
  GIVEN_VALUES,
  refuseBadData,
} from './receipt-columns.ts';

/**
 * One statement, so one transaction. Whoever is first with a receipt's successor has it: the primary key of
 * `receipt_revision` decides, a second one waits for the first to commit and then writes nothing.
 */
const COMMIT = `
  WITH given AS (
    SELECT g.*, ($24::text[])[position + 1] AS supersedes FROM (${GIVEN_ROWS}) g
  ), first AS (
    INSERT INTO receipt_revision (original_id, revision_id, org_id)
    SELECT supersedes, entry_id, org_id FROM given ORDER BY supersedes
    ON CONFLICT (original_id) DO NOTHING
    RETURNING revision_id
  ), body AS (
    INSERT INTO ledger_body (${BODY_COLUMNS}, supersedes)
    SELECT ${GIVEN_VALUES}, supersedes FROM given JOIN first ON revision_id = entry_id
    RETURNING entry_id, org_id, kind, supersedes, leaf_hash
  ), settled AS (
    DELETE FROM recalculation r USING given g WHERE r.receipt_id = g.supersedes
  )
  INSERT INTO receipt_pending (entry_id, org_id, kind, supersedes, leaf_hash)
  SELECT entry_id, org_id, kind, supersedes, leaf_hash FROM body
  RETURNING entry_id`;

export interface RevisableRow {
  entry_id: string;
  org_id: string;
  key_id: string | null;
  index: string;
  body: Buffer;
}

/** Revisions in PostgreSQL, written by the role `docket_recalculation`. */
export function createRevisionStore(pool: Pool): RevisionStore {
  return {
    async commit(rows) {
      const { rows: written } = await pool
        .query<{ entry_id: string }>({
          name: 'commit-revisions',
          text: COMMIT,
          values: [...bodyParameters(rows), rows.map((row: RevisionRow) => row.supersedes)],
        })
        .catch(refuseBadData);
      return new Set(written.map(({ entry_id }) => entry_id));
    },
    // A receipt in quarantine waits with its ledger entry: a revision has to name the leaf that it revises.
    async due(limit) {
      const { rows } = await pool.query<{ receipt_id: string }>(
        `select r.receipt_id from recalculation r
         where r.state = 'pending' and r.due_at <= now()
           and exists (select from ledger_entry e where e.entry_id = r.receipt_id)
         order by r.due_at limit $1`,
        [limit],
      );
      return rows.map(({ receipt_id }) => receipt_id);
    },
    owed: (receiptId) => readOwed(pool, receiptId),
    failed: (receiptId, failure) => writeFailure(pool, receiptId, failure),
    async renew(basis) {
      const { rowCount } = await pool.query(
        `update recalculation set state = 'pending', due_at = now(), attempts = 0
         where basis <> $1 and (state = 'parked' or due_at > now())`,
        [basis],
      );
      return rowCount ?? 0;
    },
    async counts() {
      const { rows } = await pool.query<{ pending: string; parked: string }>(
        `select count(*) filter (where state = 'pending') as pending,
           count(*) filter (where state = 'parked') as parked from recalculation`,
      );
      return { pending: Number(rows[0]!.pending), parked: Number(rows[0]!.parked) };
    },
  };
}

async function readOwed(
  pool: Pool,
  receiptId: string,
): Promise<(RevisableReceipt & { attempts: number }) | null> {
  const { rows } = await pool.query<RevisableRow & { attempts: number; settled: boolean }>(
    `select b.entry_id, b.org_id, b.key_id, e.index, b.body, r.attempts,
       exists (select from receipt_revision v where v.original_id = r.receipt_id) as settled
     from recalculation r
     join ledger_body b on b.entry_id = r.receipt_id
     join ledger_entry e on e.entry_id = r.receipt_id
     where r.receipt_id = $1 and r.state = 'pending' and r.due_at <= now()`,
    [receiptId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  if (!row.settled) return { ...revisableOf(row), attempts: row.attempts };
  // Flagged in the moment in which its revision was committed: there is nothing left to do.
  await pool.query(
    `delete from recalculation r where r.receipt_id = $1
       and exists (select from receipt_revision v where v.original_id = r.receipt_id)`,
    [receiptId],
  );
  return null;
}

async function writeFailure(
  pool: Pool,
  receiptId: string,
  { stage, code, basis, retryInMs }: FailedRecalculation,
): Promise<void> {
  await pool.query(
    `update recalculation set attempts = attempts + 1, flagged_at = null,
       failed_at = now(), stage = $2, code = $3, basis = $4,
       state = case when $5::float8 is null then 'parked' else 'pending' end,
       due_at = now() + coalesce($5::float8, 0) * interval '1 millisecond'
     where receipt_id = $1`,
    [receiptId, stage, code, basis, retryInMs],
  );
}

export function revisableOf(row: RevisableRow): RevisableReceipt {
  return {
    receiptId: row.entry_id,
    orgId: row.org_id,
    keyId: row.key_id,
    leafIndex: Number(row.index),
    bytes: row.body,
  };
}
