import { type RawBuilder, sql, type UpdateObject } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { recordEvent } from '#shared/accounts/postgres/events.ts';
import { timeText } from '#shared/kernel/time.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { now, type Queries, queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { AWAY, type Away, type ExportRecord } from '../export-record.ts';
import { EXPORT_SHOWN_S } from '../retention.ts';
import type { TotalsDocument } from '../seal-format.ts';
import { eventOf, EXPORT_COLUMNS, exportOf } from './exports.ts';

/** A run says how far it is several times a second; one that is silent for so long is dead. */
const RUN_SILENT_S = 15;
/** A run that dies so often would die again: a person has to look. */
const RUNS_MAX = 10;
/** After the nth failure n² times this: ten runs take half an hour. */
const WAIT_AFTER_FAILURE_S = 5;

/**
 * So long after it was asked for an export waits for others to attest an anchor over its range: heads are anchored every
 * ten seconds, and an authority is asked once a minute, so that one which misses two rounds has failed.
 */
export const ANCHOR_WAIT_S = 180;
const ANCHOR_LOOK_S = 5;

const BUILDER = { kind: 'system', id: 'exports' } as const;

/** So long after it was asked for an export waits for what is away, as jobs do for a build that reads them. */
const AWAY_WAIT_S = 86_400;
const AWAY_LOOK_S = 30;

/** A run of an export: one process, one attempt. Others may not write to the export while it lasts. */
export interface ExportRun {
  runId: string;
  record: ExportRecord;
}

/** A pack that has its name in the store. */
export interface FinishedPack {
  sizeBytes: number;
  /** Hex. */
  sha256: string;
  /** What others were asked to attest of its anchor and have not. */
  lacks: readonly string[];
  /** Days after which it is deleted. */
  keptDays: number;
  /** Folder of the archive. */
  name: string;
  /** Multihash of the seal's bytes, and what it states. */
  seal: string;
  totals: TotalsDocument;
}

export type ExportJobs = ReturnType<typeof createExportJobs>;

/** The queue of exports in PostgreSQL, for the process that builds packs. */
export function createExportJobs(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  /** Ends a run and writes it into the audit log. False when it is not this run's any more. */
  const end = (
    { id, runId }: { id: string; runId: string },
    action: 'export.ready' | 'export.failed',
    values: UpdateObject<Database, 'export'>,
    also?: (db: Queries, record: ExportRecord) => Promise<void>,
  ): Promise<boolean> =>
    inTransaction(pool, async (client) => {
      const row = await updateRun(queriesOn(client), { id, runId })
        .set({ run_id: null, run_at: null, finished_at: now, ...values })
        .where('deleted_at', 'is', null)
        .returning(EXPORT_COLUMNS)
        .executeTakeFirst();
      if (row === undefined) return false;
      const record = exportOf(row);
      await appendAudit(client, surroundings, eventOf(record, action, BUILDER));
      if (action === 'export.ready') await tellReady(client, surroundings, record);
      await also?.(queriesOn(client), record);
      return true;
    });
  const fail = async (
    run: { id: string; runId: string },
    { code, message }: { code: string; message: string },
  ): Promise<void> => {
    const values = { status: 'failed', error_code: code, error_message: message } as const;
    await end(run, 'export.failed', values);
  };
  return {
    /** Takes an export that is queued, or whose run has fallen silent. Null when there is nothing to do. */
    async claim(id: string, runId: string): Promise<ExportRun | null> {
      const row = await claimExport(db, id, runId);
      if (row === undefined) return null;
      if (row.runs <= RUNS_MAX) return { runId, record: exportOf(row) };
      const message = `The export was started ${RUNS_MAX} times and never finished.`;
      await fail({ id, runId }, { code: 'given_up', message });
      return null;
    },
    /** Says how far the run is. False when it is not this run's any more: it was cancelled, or taken for dead. */
    async progress({ record, runId }: ExportRun, done: number): Promise<boolean> {
      const { numUpdatedRows } = await updateRun(db, { id: record.id, runId })
        .set({ done, run_at: now })
        .where('deleted_at', 'is', null)
        .executeTakeFirstOrThrow();
      return numUpdatedRows === 1n;
    },
    /** False as above. */
    finish: ({ record, runId }: ExportRun, pack: FinishedPack): Promise<boolean> => {
      const { sizeBytes, sha256, lacks, keptDays } = pack;
      const values = {
        status: 'ready',
        done: sql<string>`last_index - first_index + 1`,
        size_bytes: sizeBytes,
        sha256,
        is_attested: lacks.length === 0,
        expires_at: sql<Date>`now() + make_interval(days => ${keptDays})`,
      } as const;
      return end({ id: record.id, runId }, 'export.ready', values, (on, ended) =>
        rememberSeal(on, ended, pack),
      );
    },
    fail: ({ record, runId }: ExportRun, error: { code: string; message: string }): Promise<void> =>
      fail({ id: record.id, runId }, error),
    /** Gives an export back: `now` when the process stops, `later` when something has to heal first. */
    async release({ record, runId }: ExportRun, again: 'now' | 'later'): Promise<void> {
      await updateRun(db, { id: record.id, runId })
        .set({ status: 'queued', run_id: null })
        // A run that was only interrupted does not count against it.
        .set((eb) =>
          again === 'now' ? { run_at: null, runs: eb('runs', '-', 1) } : { run_at: now },
        )
        .execute();
    },
    /**
     * Gives an export back for some seconds in which others may attest the anchor, so that no builder is held meanwhile.
     * False when it has waited for its time, and is to be built with what there is.
     */
    awaitAnchor: (run: ExportRun): Promise<boolean> =>
      putOff(db, run, { forS: ANCHOR_WAIT_S, lookS: ANCHOR_LOOK_S }),
    /** The same, until what is away may be back, which its owner reads meanwhile. False after a day. */
    awaitReturn: (run: ExportRun, away: Away): Promise<boolean> =>
      putOff(db, run, { forS: AWAY_WAIT_S, lookS: AWAY_LOOK_S, because: AWAY[away] }),
    /**
     * Ids of exports that wait, or whose run has fallen silent. Organisations take turns: first comes the one whose last
     * export was begun longest ago, whether that was deleted since or not.
     */
    async due(limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('export')
        .select('id')
        .where('deleted_at', 'is', null)
        .where((eb) =>
          eb.or([
            eb.and([
              eb('status', '=', 'queued'),
              eb.or([eb('not_before', 'is', null), eb('not_before', '<=', now)]),
              eb.or([
                eb('run_at', 'is', null),
                eb('run_at', '<', ago(sql`${WAIT_AFTER_FAILURE_S} * runs * runs`)),
              ]),
            ]),
            eb.and([eb('status', '=', 'running'), eb('run_at', '<', ago(RUN_SILENT_S))]),
          ]),
        )
        .orderBy(
          // Of each that waits by itself: of all organisations it was a look at every row.
          (eb) =>
            eb
              .selectFrom('export as any')
              .select((of) => of.fn.max('any.started_at').as('began'))
              .whereRef('any.org_id', '=', 'export.org_id'),
          (order) => order.asc().nullsFirst(),
        )
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(({ id }) => id);
    },
    /** Whether a sweep may find anything: most find nothing, and one statement says so. */
    async anyToSweep(): Promise<boolean> {
      const row = await db
        .selectFrom('export')
        .select('id')
        .where((eb) =>
          eb.or([
            eb('removed_at', '<', ago(EXPORT_SHOWN_S)),
            eb.and([
              eb('removed_at', 'is', null),
              eb.or([
                eb('status', '<>', 'ready'),
                eb('expires_at', '<=', now),
                eb('deleted_at', 'is not', null),
              ]),
            ]),
          ]),
        )
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },
    /** Marks packs whose time is over. Returns exports whose packs must not be in the store. */
    async removable(limit: number): Promise<string[]> {
      await inTransaction(pool, (client) => expire(client, surroundings, limit));
      const rows = await db
        .selectFrom('export')
        .select('id')
        .where('removed_at', 'is', null)
        .where((eb) =>
          eb.or([
            eb('status', 'in', ['expired', 'failed']),
            eb.and([
              eb('deleted_at', 'is not', null),
              // A cancelled run may still be writing; it notices within a second, and is waited for.
              eb.or([eb('status', '<>', 'running'), eb('run_at', '<', ago(RUN_SILENT_S))]),
            ]),
          ]),
        )
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(({ id }) => id);
    },
    /** The store holds nothing of these any more. */
    async removed(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) {
        await db.updateTable('export').set({ removed_at: now }).where('id', 'in', ids).execute();
      }
      await db.deleteFrom('export').where('removed_at', '<', ago(EXPORT_SHOWN_S)).execute();
    },
  };
}

/** What was sealed is named by later packs; one that was built again to the same bytes is there already. */
async function rememberSeal(
  db: Queries,
  { orgId, firstIndex, lastIndex, checkpointSize, generation = 1 }: ExportRecord,
  { seal, name, totals }: FinishedPack,
): Promise<void> {
  await db
    .insertInto('sealed_pack')
    .values({
      org_id: orgId,
      seal,
      name,
      first_index: firstIndex,
      last_index: lastIndex,
      checkpoint_size: checkpointSize,
      generation,
      totals: JSON.stringify(totals),
    })
    .onConflict((conflict) => conflict.columns(['org_id', 'seal']).doNothing())
    .execute();
}

/** Tells its organisation that a pack can be fetched. */
async function tellReady(
  client: PoolClient,
  surroundings: Surroundings,
  { id, orgId, sizeBytes, sha256, expiresAt }: ExportRecord,
): Promise<void> {
  const data = {
    export: { id, size_bytes: sizeBytes!, sha256: sha256!, expires_at: timeText(expiresAt!) },
  };
  await recordEvent(client, surroundings, { orgId, type: 'export.ready', data });
}

const ahead = (seconds: number): RawBuilder<Date> =>
  sql<Date>`now() + make_interval(secs => ${seconds})`;

const ago = (seconds: number | RawBuilder<unknown>): RawBuilder<Date> =>
  sql<Date>`now() - make_interval(secs => ${seconds})`;

/** An update of an export that counts only while the run holds it. */
const updateRun = (db: Queries, { id, runId }: { id: string; runId: string }) =>
  db.updateTable('export').where('id', '=', id).where('run_id', '=', runId);

/** Gives an export back for some seconds, which counts as no run. False when it was asked for too long ago to wait. */
async function putOff(
  db: Queries,
  { record, runId }: ExportRun,
  { forS, lookS, because = null }: { forS: number; lookS: number; because?: string | null },
): Promise<boolean> {
  const { numUpdatedRows } = await updateRun(db, { id: record.id, runId })
    .set((eb) => ({
      status: 'queued',
      run_id: null,
      run_at: null,
      runs: eb('runs', '-', 1),
      not_before: ahead(lookS),
      // Without a code it is no failure.
      error_message: because,
    }))
    .where('created_at', '>', ago(forS))
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

/** The row's lock makes two that claim at once take turns; the second finds a run that is alive. */
const claimExport = (db: Queries, id: string, runId: string) =>
  db
    .updateTable('export')
    .set((eb) => ({
      status: 'running',
      run_id: runId,
      run_at: now,
      runs: eb('runs', '+', 1),
      done: 0,
      error_message: null,
      started_at: eb.fn.coalesce('started_at', now),
    }))
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb('status', '=', 'queued'),
        eb.and([eb('status', '=', 'running'), eb('run_at', '<', ago(RUN_SILENT_S))]),
      ]),
    )
    .returning([...EXPORT_COLUMNS, 'runs'])
    .executeTakeFirst();

async function expire(
  client: PoolClient,
  surroundings: Surroundings,
  limit: number,
): Promise<void> {
  const rows = await queriesOn(client)
    .updateTable('export')
    .set({ status: 'expired' })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('export')
        .select('id')
        .where('status', '=', 'ready')
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(limit)
        .forUpdate()
        .skipLocked(),
    )
    .returning(EXPORT_COLUMNS)
    .execute();
  // In one order of organisations, so that two processes never wait for each other's audit chains.
  for (const row of rows.toSorted((a, b) => (a.org_id < b.org_id ? -1 : 1))) {
    const event = eventOf(exportOf(row), 'export.expired', BUILDER);
    await appendAudit(client, surroundings, event);
  }
}
