import { sql } from 'kysely';
import type { Pool } from 'pg';
import { recordEvent } from '#shared/accounts/postgres/events.ts';
import { now, type Queries, queriesOn } from '#shared/kernel/postgres/queries.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';
import { type BodyArchive, createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import type { MethodologyFailure } from '#shared/methodology/measurement.ts';
import type { RevisionRow } from '../columns.ts';
import type { ReceiptDocument } from '../document.ts';
import { addDerivations, derivationsOf, KnownDerivations } from './derivations.ts';
import { givenBodies } from './given-bodies.ts';
import { refuseBadData } from './receipt-store.ts';
import {
  REVISABLE,
  REVISABLE_COLUMNS,
  type RevisableReceipt,
  revisableAmong,
} from './revisable.ts';

/** What is owed to a degraded receipt. */
export interface OwedReceipt extends RevisableReceipt {
  attempts: number;
  /** Why it was asked for, where that was said. */
  askedBecause: string | null;
}

/** An attempt that failed. */
export interface FailedRecalculation {
  stage: MethodologyFailure['stage'];
  /** Stable, e.g. `model_size_unknown`. */
  code: string;
  /** What it was made with: digests of catalogue and methodology. */
  basis: string;
  /** Milliseconds until the next attempt; null when it is a person's turn. */
  retryInMs: number | null;
}

const BODIES = givenBodies<RevisionRow>(
  [{ name: 'supersedes', type: 'text', of: ({ supersedes }) => supersedes }],
  // They are on no receipt that a revision could be made of.
  {
    tags: '(select o.tags from ledger_body o where o.entry_id = given.supersedes)',
    cost: '(select o.cost from ledger_body o where o.entry_id = given.supersedes)',
  },
);

/**
 * One statement, so one transaction. The first with a receipt's successor has it: the primary key of
 * `receipt_revision` decides, a second one waits for the first to commit and then writes nothing.
 */
const COMMIT = statement(
  { entry_id: 'text' },
  `WITH given AS (${BODIES.rows}
   ), first AS (
     INSERT INTO receipt_revision (original_id, revision_id, org_id)
     SELECT supersedes, entry_id, org_id FROM given ORDER BY supersedes
     ON CONFLICT (original_id) DO NOTHING
     RETURNING revision_id
   ), body AS (
     INSERT INTO ledger_body (${BODIES.columns})
     SELECT ${BODIES.values} FROM given JOIN first ON revision_id = entry_id
     RETURNING entry_id, org_id, kind, supersedes, leaf_hash
   ), settled AS (
     DELETE FROM recalculation r USING given g WHERE r.receipt_id = g.supersedes
   ), derived AS (${addDerivations(BODIES.next)}
   )
   INSERT INTO receipt_pending (entry_id, org_id, kind, supersedes, leaf_hash)
   SELECT entry_id, org_id, kind, supersedes, leaf_hash FROM body
   RETURNING entry_id`,
  { name: 'commit-revisions' },
);

export type RevisionStore = ReturnType<typeof createRevisionStore>;

/** Where revisions become durable, and what is owed to degraded receipts is kept, for the role `docket_recalculation`. */
export function createRevisionStore(
  pool: Pool,
  archive: BodyArchive = createBodyArchive(undefined),
) {
  const db = queriesOn(pool);
  const known = new KnownDerivations();
  return {
    /**
     * Commits revisions and the promise to integrate them in one statement, which also settles what was owed to the
     * receipts they revise. A receipt that has a successor already keeps it.
     * @returns the ids that were committed; the others came too late
     * @throws UnstorableReceipt when trying again cannot help
     */
    async commit(rows: readonly RevisionRow[]): Promise<Set<string>> {
      const derivations = known.parameters(rows);
      const values = [...BODIES.parameters(rows), ...derivations];
      try {
        const written = await queryRows(pool, COMMIT, values);
        known.committed(derivations[0]);
        return new Set(written.map(({ entry_id }) => entry_id));
      } catch (error) {
        known.forget();
        return refuseBadData(error);
      }
    },
    /** Ids of degraded receipts that are due and integrated, the longest due first. */
    async due(limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('recalculation as r')
        .select('r.receipt_id')
        .where('r.state', '=', 'pending')
        .where('r.due_at', '<=', now)
        // A receipt in quarantine waits with its ledger entry: a revision has to name the leaf that it revises.
        .where((eb) =>
          eb.exists(eb.selectFrom('ledger_entry as e').whereRef('e.entry_id', '=', 'r.receipt_id')),
        )
        .orderBy('r.due_at')
        .limit(limit)
        .execute();
      return rows.map(({ receipt_id }) => receipt_id);
    },
    /** A degraded receipt with the attempts made so far; null when nothing is owed to it (any more), or not yet. */
    owed: (receiptId: string) => readOwed(pool, archive, receiptId),
    /** Writes down that an attempt failed. Of the last one webhooks are told, once an hour: one cause degrades many receipts. */
    async failed(
      receiptId: string,
      { stage, code, basis, retryInMs }: FailedRecalculation,
    ): Promise<void> {
      const write = (on: Queries) =>
        on
          .updateTable('recalculation')
          .set((eb) => ({
            attempts: eb('attempts', '+', 1),
            flagged_at: null,
            failed_at: now,
            stage,
            code,
            basis,
            state: retryInMs === null ? 'parked' : 'pending',
            due_at: sql<Date>`now() + make_interval(secs => ${(retryInMs ?? 0) / 1_000})`,
          }))
          .where('receipt_id', '=', receiptId)
          .returning('org_id')
          .executeTakeFirst();
      if (retryInMs !== null) {
        await write(db);
        return;
      }
      await inTransaction(pool, async (client) => {
        const row = await write(queriesOn(client));
        if (row === undefined) return;
        const data = { receipt_id: receiptId, stage, code };
        const fact = { orgId: row.org_id, type: 'receipts.degraded', data } as const;
        const hour = Math.floor(systemSurroundings.now() / HOUR_MS);
        await recordEvent(client, systemSurroundings, fact, { once: `degraded in ${hour}` });
      });
    },
    /** Makes everything due that failed on another basis, parked or not: it may succeed on this one. @returns how many */
    async renew(basis: string): Promise<number> {
      const { numUpdatedRows } = await db
        .updateTable('recalculation')
        .set({ state: 'pending', due_at: now, attempts: 0 })
        .where('basis', '<>', basis)
        .where((eb) => eb.or([eb('state', '=', 'parked'), eb('due_at', '>', now)]))
        .executeTakeFirstOrThrow();
      return Number(numUpdatedRows);
    },
    async counts(): Promise<{ pending: number; parked: number; restatements: number }> {
      const row = await db
        .selectFrom('recalculation')
        .select((eb) => [
          eb.fn.countAll<string>().filterWhere('state', '=', 'pending').as('pending'),
          eb.fn.countAll<string>().filterWhere('state', '=', 'parked').as('parked'),
          eb
            .selectFrom('restatement')
            .select(({ fn }) => fn.countAll<string>().as('count'))
            .where('finished_at', 'is', null)
            .as('restatements'),
        ])
        .executeTakeFirstOrThrow();
      return {
        pending: Number(row.pending),
        parked: Number(row.parked),
        restatements: Number(row.restatements),
      };
    },
  };
}

async function readOwed(
  pool: Pool,
  archive: BodyArchive,
  receiptId: string,
): Promise<OwedReceipt | null> {
  const db = queriesOn(pool);
  const row = await db
    .selectFrom('recalculation as r')
    .innerJoin('ledger_body as b', 'b.entry_id', 'r.receipt_id')
    .innerJoin('ledger_entry as e', 'e.entry_id', 'r.receipt_id')
    .leftJoin('receipt_revision as v', 'v.original_id', 'r.receipt_id')
    .select(['b.entry_id', 'b.org_id', 'b.key_id', 'b.leaf_hash', 'b.body', 'e.index'])
    .select(['r.attempts', 'r.reason', 'v.revision_id'])
    .where('r.receipt_id', '=', receiptId)
    .where('r.state', '=', 'pending')
    .where('r.due_at', '<=', now)
    .executeTakeFirst();
  if (row === undefined) return null;
  if (row.revision_id === null) {
    const [receipt] = await revisableAmong(pool, archive, [row]);
    return { ...receipt!, attempts: row.attempts, askedBecause: row.reason };
  }
  // Flagged in the moment in which its revision was committed: there is nothing left to do.
  await db.deleteFrom('recalculation').where('receipt_id', '=', receiptId).execute();
  return null;
}

/** What one page of a run of restating came to. */
export interface RestatedPage {
  /** The last id of the page; null at the end of the run. */
  lastId: string | null;
  examined: number;
  restated: number;
  skipped: number;
}

/** Refused and degraded receipts have nothing to restate; what is owed to the latter is another matter. */
const PAGE = statement(
  { ...REVISABLE, index: 'int8?', reason: 'text?' },
  `with page as materialized (
     select b.entry_id from restatement s
     join ledger_body b on b.org_id = s.org_id and b.entry_id > s.after_id and b.entry_id < s.end_id
     where s.org_id = $1 and s.finished_at is null
       and b.kind in ('inference', 'recalculated', 'restated')
       and not exists (select from receipt_revision v where v.original_id = b.entry_id)
     order by b.entry_id limit $2)
   select ${REVISABLE_COLUMNS}, e.index,
     (select s.reason from restatement s where s.org_id = $1) as reason
   from page p
   cross join lateral (select * from ledger_body b where b.entry_id = p.entry_id limit 1) b
   left join ledger_entry e on e.entry_id = p.entry_id
   order by b.entry_id`,
);

export type RestatementStore = ReturnType<typeof createRestatementStore>;

/** Runs of restating, for the role `docket_recalculation`: each survives its process, page by page. */
export function createRestatementStore(
  pool: Pool,
  archive: BodyArchive = createBodyArchive(undefined),
) {
  const db = queriesOn(pool);
  return {
    /** Organisations whose run is not finished, the oldest first. */
    async unfinished(): Promise<string[]> {
      const rows = await db
        .selectFrom('restatement')
        .select('org_id')
        .where('finished_at', 'is', null)
        .orderBy('requested_at')
        .execute();
      return rows.map(({ org_id }) => org_id);
    },
    /** The derivation records that these receipts name. */
    derivations: (documents: readonly ReceiptDocument[]) => derivationsOf(pool, documents),
    /** The next receipts of a run that have no successor and are integrated; `lastId` continues behind those that are not. */
    async page(
      orgId: string,
      limit: number,
    ): Promise<{
      receipts: RevisableReceipt[];
      lastId: string | null;
      notIntegrated: number;
      /** Why the run was asked for, where that was said. */
      askedBecause: string | null;
    }> {
      const rows = await queryRows(pool, PAGE, [orgId, limit]);
      const receipts = await revisableAmong(pool, archive, rows);
      const lastId = rows.at(-1)?.entry_id ?? null;
      return {
        receipts,
        lastId,
        notIntegrated: rows.length - receipts.length,
        askedBecause: rows[0]?.reason ?? null,
      };
    },
    async advance(
      orgId: string,
      { lastId, examined, restated, skipped }: RestatedPage,
    ): Promise<void> {
      await db
        .updateTable('restatement')
        .set((eb) => ({
          examined: eb('examined', '+', String(examined)),
          restated: eb('restated', '+', String(restated)),
          skipped: eb('skipped', '+', String(skipped)),
          ...(lastId === null
            ? { finished_at: now }
            : { after_id: eb.fn<string>('greatest', ['after_id', eb.val(lastId)]) }),
        }))
        .where('org_id', '=', orgId)
        .where('finished_at', 'is', null)
        .execute();
    },
  };
}
