import type { Pool } from 'pg';
import type { ExportJobs, ExportRun } from '../port-exports.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { appendAudit } from '#shared/accounts/postgres/audit-append.ts';
import { eventOf, EXPORT_COLUMNS, exportOf, type ExportRow } from './exports.ts';

/** A run says how far it is several times a second; one that is silent for so long is dead. */
const RUN_SILENT_MS = 15_000;
/** How long a pack is kept: time enough to fetch it after a weekend. */
const EXPORT_KEPT_MS = 7 * 86_400_000;
/** A run that dies so often would die again: a person has to look. */
const RUNS_MAX = 10;
/** After the nth failure n² times this: ten runs take half an hour. */
const WAIT_AFTER_FAILURE_S = 5;
/** What is over is shown this long, and then forgotten; the audit log keeps it. */
const RECORD_KEPT_DAYS = 90;

const BUILDER = { kind: 'system', id: 'exports' } as const;

/** The queue of exports in PostgreSQL, for the process that builds packs. */
export function createExportJobs(pool: Pool, surroundings: Surroundings): ExportJobs {
  return {
    claim: (id, runId) => claim(pool, surroundings, id, runId),
    async progress({ record, runId }, done) {
      const { rowCount } = await pool.query(
        `update export set done = $3, run_at = now() where id = $1 and run_id = $2 and deleted_at is null`,
        [record.id, runId, done],
      );
      return rowCount === 1;
    },
    finish: (run, pack) =>
      inTransaction(pool, async (client) => {
        const { rows } = await client.query<ExportRow>(
          `update export set status = 'ready', run_id = null, run_at = null, done = last_index - first_index + 1,
             size_bytes = $3, sha256 = $4, finished_at = now(), expires_at = now() + make_interval(secs => $5)
           where id = $1 and run_id = $2 and deleted_at is null returning ${EXPORT_COLUMNS}`,
          [run.record.id, run.runId, pack.sizeBytes, pack.sha256, EXPORT_KEPT_MS / 1_000],
        );
        if (rows[0] === undefined) return false;
        await appendAudit(
          client,
          surroundings,
          eventOf(exportOf(rows[0]), 'export.ready', BUILDER),
        );
        return true;
      }),
    fail: ({ record, runId }, error) => fail(pool, surroundings, { id: record.id, runId }, error),
    async release({ record, runId }, again) {
      // A run that was only interrupted does not count against it.
      await pool.query(
        `update export set status = 'queued', run_id = null,
           run_at = case when $3 then null else now() end, runs = case when $3 then runs - 1 else runs end
         where id = $1 and run_id = $2`,
        [record.id, runId, again === 'now'],
      );
    },
    async due(limit) {
      const { rows } = await pool.query<{ id: string }>(
        `select id from export
         where deleted_at is null and case status
           when 'queued' then run_at is null or run_at < now() - make_interval(secs => $3 * runs * runs)
           when 'running' then run_at < now() - make_interval(secs => $2) end
         order by id limit $1`,
        [limit, RUN_SILENT_MS / 1_000, WAIT_AFTER_FAILURE_S],
      );
      return rows.map(({ id }) => id);
    },
    removable: (limit) => removable(pool, surroundings, limit),
    async removed(ids) {
      await pool.query('update export set removed_at = now() where id = any($1::text[])', [ids]);
      await pool.query(`delete from export where removed_at < now() - make_interval(days => $1)`, [
        RECORD_KEPT_DAYS,
      ]);
    },
  };
}

/** The row's lock makes two that claim at once take turns; the second finds a run that is alive. */
async function claim(
  pool: Pool,
  surroundings: Surroundings,
  id: string,
  runId: string,
): Promise<ExportRun | null> {
  const { rows } = await pool.query<ExportRow & { runs: number }>(
    `update export set status = 'running', run_id = $2, run_at = now(), runs = runs + 1, done = 0,
       started_at = coalesce(started_at, now())
     where id = $1 and deleted_at is null and (status = 'queued' or (status = 'running'
       and run_at < now() - make_interval(secs => $3)))
     returning ${EXPORT_COLUMNS}, runs`,
    [id, runId, RUN_SILENT_MS / 1_000],
  );
  const row = rows[0];
  if (row === undefined) return null;
  if (row.runs <= RUNS_MAX) return { runId, record: exportOf(row) };
  await fail(
    pool,
    surroundings,
    { id, runId },
    { code: 'given_up', message: `The export was started ${RUNS_MAX} times and never finished.` },
  );
  return null;
}

async function fail(
  pool: Pool,
  surroundings: Surroundings,
  { id, runId }: { id: string; runId: string },
  error: { code: string; message: string },
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<ExportRow>(
      `update export set status = 'failed', run_id = null, run_at = null, error_code = $3, error_message = $4,
         finished_at = now()
       where id = $1 and run_id = $2 and deleted_at is null returning ${EXPORT_COLUMNS}`,
      [id, runId, error.code, error.message],
    );
    if (rows[0] === undefined) return;
    await appendAudit(client, surroundings, eventOf(exportOf(rows[0]), 'export.failed', BUILDER));
  });
}

async function removable(pool: Pool, surroundings: Surroundings, limit: number): Promise<string[]> {
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<ExportRow>(
      `update export set status = 'expired' where id in (
         select id from export where status = 'ready' and expires_at <= now()
         order by expires_at limit $1 for update skip locked)
       returning ${EXPORT_COLUMNS}`,
      [limit],
    );
    for (const row of rows.toSorted((a, b) => (a.org_id < b.org_id ? -1 : 1))) {
      const event = eventOf(exportOf(row), 'export.expired', BUILDER);
      await appendAudit(client, surroundings, event);
    }
  });
  // A cancelled run may still be writing; it notices within a second, and is waited for.
  const { rows } = await pool.query<{ id: string }>(
    `select id from export where removed_at is null
       and (status in ('expired', 'failed') or (deleted_at is not null
         and (status <> 'running' or run_at < now() - make_interval(secs => $2))))
     order by id limit $1`,
    [limit, RUN_SILENT_MS / 1_000],
  );
  return rows.map(({ id }) => id);
}
