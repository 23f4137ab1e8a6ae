import type { ExportJobs } from '#shared/packs/postgres/export-jobs.ts';
import type { ObjectStore } from '#shared/kernel/object-store.ts';

export interface SweepDeps {
  jobs: Pick<ExportJobs, 'anyToSweep' | 'due' | 'removable' | 'removed'>;
  store: Pick<ObjectStore, 'delete'>;
  /** Tells a process that is free that exports wait. */
  start: () => Promise<void>;
  /** How often that was said and not heard yet. */
  waiting: () => Promise<number>;
}

/** Of each kind in one round; the next follows in seconds. */
const BATCH = 100;
/** A store that is away fails each, and takes its time over it. */
const FAILURES_MAX = 5;

/** Starts exports that a lost job or a dead process has left, and removes packs whose time is over. */
export async function sweepExports(deps: SweepDeps): Promise<void> {
  if (!(await deps.jobs.anyToSweep())) return;
  const due = await deps.jobs.due(BATCH);
  if (due.length > 0 && (await deps.waiting()) === 0) {
    // One job does them all; more of them share the work.
    await Promise.all(due.map(() => deps.start()));
  }
  await removePacks(deps, await deps.jobs.removable(BATCH));
}

/** A pack that its store does not give up (a lock, say) is tried again with the next sweep, and holds up no other. */
async function removePacks({ store, jobs }: SweepDeps, ids: readonly string[]): Promise<void> {
  const removed: string[] = [];
  const failures: unknown[] = [];
  for (const id of ids) {
    try {
      await store.delete(id);
      removed.push(id);
    } catch (error) {
      failures.push(error);
      if (failures.length === FAILURES_MAX) break;
    }
  }
  await jobs.removed(removed);
  if (failures.length > 0) throw failures[0];
}
