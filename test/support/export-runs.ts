import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { createExportJobs } from '#shared/packs/postgres/export-jobs.ts';
import { createPackSource } from '#shared/packs/postgres/pack-source.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import { runDueExports, runExport, type RunExportDeps } from '#workers/exports/run-export.ts';
import { NOTHING_ASKED, type PackLab, STATES_NOTHING } from './packs.ts';

/** The events of a builder of packs, in order. */
export type Said = [
  'started' | 'waiting' | 'held' | 'ready' | 'failed' | 'lost' | 'interrupted',
  string,
][];

/** A builder of packs in this process: `pool` has the rights of the exports process. */
export function createBuilder(
  lab: PackLab,
  pool: Pool,
  store: ObjectStore,
  more: Partial<RunExportDeps> = {},
): {
  said: Said;
  run: (id: string, signal?: AbortSignal) => Promise<void>;
  /** As one job does. */
  runDue: () => Promise<void>;
} {
  const said: Said = [];
  const deps: RunExportDeps = {
    jobs: createExportJobs(pool, systemSurroundings),
    source: createPackSource(pool),
    store,
    documents: lab.documents,
    operator: STATES_NOTHING,
    issuer: lab.issuer,
    signer: () => lab.signer('packs'),
    events: {
      started: ({ id }) => said.push(['started', id]),
      waiting: ({ id }) => said.push(['waiting', id]),
      held: (_, away) => said.push(['held', away]),
      ready: ({ id }) => said.push(['ready', id]),
      failed: (_, { code }) => said.push(['failed', code]),
      lost: ({ id }) => said.push(['lost', id]),
      interrupted: (_, error) => said.push(['interrupted', String(error)]),
    },
    asked: NOTHING_ASKED,
    newRunId: randomUUID,
    now: () => performance.now(),
    ...more,
  };
  const running = new AbortController();
  return {
    said,
    run: (id, signal = running.signal) => runExport(deps, id, signal),
    runDue: () => runDueExports(deps, running.signal),
  };
}
