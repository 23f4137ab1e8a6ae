import type { ExportJobs } from '#shared/packs/postgres/export-jobs.ts';
import type { ExportStore } from '#shared/packs/export-store.ts';

export interface SweepDeps {
  jobs: Pick<ExportJobs, 'anyToSweep' | 'due' | 'removable' | 'removed'>;
  store: Pick<ExportStore, 'delete'>;
  /** Tells a process that is free that exports wait. */
  start: () => Promise<void>;
  /** How often that was said and not heard yet. */
  waiting: () => Promise<number>;
}

/** Of each kind in one round; the next follows in seconds. */
const BATCH = 100;

/** Starts exports that a lost job or a dead process has left, and removes packs whose time is over. */
export async function sweepExports(deps: SweepDeps): Promise<void> {
  if (!(await deps.jobs.anyToSweep())) return;
  const due = await deps.jobs.due(BATCH);
  if (due.length > 0 && (await deps.waiting()) === 0) {
    // One job does them all; more of them share the work.
    await Promise.all(due.map(() => deps.start()));
  }
  const removable = await deps.jobs.removable(BATCH);
  for (const id of removable) await deps.store.delete(id);
  await deps.jobs.removed(removable);
}
