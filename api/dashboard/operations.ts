import type { RegionStatusStore } from '#shared/catalogue/redis/region-status.ts';
import type { RegionHealth } from '#shared/catalogue/routing.ts';
import type { ServedRegions } from '#shared/catalogue/redis/serving.ts';
import { type FailedJob, type JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { JOBS, type JobName, type JobRow } from '#shared/jobs/table.ts';
import type { LaneDepth } from '#shared/lanes/redis/depths.ts';

/** What operators see of the running service, and set. */
export interface Operations {
  health: () => Pick<RegionHealth, 'states' | 'openCircuits'>;
  served: () => ServedRegions;
  regionStatuses: Pick<RegionStatusStore, 'list' | 'set' | 'notes' | 'setNote'>;
  laneDepths: () => Promise<LaneDepth[]>;
  queues: Pick<JobQueues, 'counts' | 'failures'>;
}

/** How many jobs of a kind there are. */
export interface JobFigures {
  name: JobName;
  waiting: number;
  active: number;
  delayed: number;
  failed: number;
  /** How often it runs by the clock; null for what is asked for. */
  everyMs: number | null;
}

/** Failed jobs that are shown of one kind: the newest has the cause. */
const FAILURES_SHOWN = 5;

/** Every kind of job with how many there are, and the newest of those that have failed. */
export async function readJobs(
  queues: Operations['queues'],
): Promise<{ jobs: JobFigures[]; failures: FailedJob[] }> {
  const names = Object.keys(JOBS) as JobName[];
  const jobs = await Promise.all(
    names.map(async (name): Promise<JobFigures> => {
      const { waiting = 0, active = 0, delayed = 0, failed = 0 } = await queues.counts(name);
      const row: JobRow = JOBS[name];
      return { name, waiting, active, delayed, failed, everyMs: row.everyMs ?? null };
    }),
  );
  const failures = await Promise.all(
    jobs
      .filter(({ failed }) => failed > 0)
      .map(({ name }) => queues.failures(name, FAILURES_SHOWN)),
  );
  return { jobs, failures: failures.flat().toSorted((a, b) => b.at - a.at) };
}
