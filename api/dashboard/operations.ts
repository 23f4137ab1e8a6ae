import type { RegionStatusStore } from '#shared/catalogue/redis/region-status.ts';
import type { RegionHealth } from '#shared/catalogue/routing.ts';
import type { ServedRegions } from '#shared/catalogue/redis/serving.ts';
import { type FailedJob, type JobQueues } from '#shared/jobs/redis/job-queues.ts';
import type { LastRound } from '#shared/jobs/redis/rounds.ts';
import { isScheduled, JOBS, type JobName } from '#shared/jobs/table.ts';
import type { LaneDepth } from '#shared/lanes/redis/depths.ts';
import type { Peer } from '#shared/lanes/redis/peers.ts';

/** What operators see of the running service, and set. */
export interface Operations {
  /** Rejects, and says why, when nothing can be written to Redis. */
  writes: () => Promise<unknown>;
  health: () => Pick<RegionHealth, 'states' | 'openCircuits'>;
  served: () => ServedRegions;
  regionStatuses: Pick<RegionStatusStore, 'list' | 'set' | 'notes' | 'setNote'>;
  laneDepths: () => Promise<LaneDepth[]>;
  /** What the processes of the lanes that run have said of themselves, by process. */
  peers: () => Promise<ReadonlyMap<string, Peer>>;
  queues: Pick<JobQueues, 'counts' | 'failures' | 'lastRounds'>;
}

/** How many jobs there are of a kind that is asked for. */
export interface JobFigures {
  name: JobName;
  waiting: number;
  active: number;
  delayed: number;
  failed: number;
}

/** A job that runs by the clock. */
export interface RoundFigures {
  name: JobName;
  everyMs: number;
  /** Null when it has not run since Redis was new. */
  last: LastRound | null;
}

/** Failed jobs that are shown of one kind: the newest has the cause. */
const FAILURES_SHOWN = 5;

/** Every kind of job: how many there are, how its last round came out, and the newest that have failed. */
export async function readJobs(
  queues: Operations['queues'],
): Promise<{ jobs: JobFigures[]; rounds: RoundFigures[]; failures: FailedJob[] }> {
  const names = Object.keys(JOBS) as JobName[];
  const asked = names.filter((name) => !isScheduled(name));
  const [lastRounds, ...jobs] = await Promise.all([
    queues.lastRounds(),
    ...asked.map(async (name): Promise<JobFigures> => {
      const { waiting = 0, active = 0, delayed = 0, failed = 0 } = await queues.counts(name);
      return { name, waiting, active, delayed, failed };
    }),
  ]);
  const failures = await Promise.all(
    jobs
      .filter(({ failed }) => failed > 0)
      .map(({ name }) => queues.failures(name, FAILURES_SHOWN)),
  );
  return {
    jobs,
    rounds: names.filter(isScheduled).map((name) => ({
      name,
      everyMs: JOBS[name].everyMs,
      last: lastRounds.get(name) ?? null,
    })),
    failures: failures.flat().toSorted((a, b) => b.at - a.at),
  };
}
