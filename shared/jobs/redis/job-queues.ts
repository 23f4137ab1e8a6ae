import type { Queue } from 'bullmq';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { Value } from 'typebox/value';
import { JOBS, type JobName, type JobPayload, type JobRow } from '../table.ts';
import type { LastRound } from './rounds.ts';

/** One hash tag for all job keys: they belong to one node of a cluster, apart from the lanes. */
export const JOB_PREFIX = '{docket-jobs}';
/** Finished jobs are of no more use; failed ones are kept for operators to look at. */
const FAILED_KEPT = 1_000;
/** A hash: how the last round of each job by the clock came out. */
export const LAST_ROUNDS = `${JOB_PREFIX}:rounds`;

/** A job that will not be tried again. */
export interface FailedJob {
  name: JobName;
  reason: string;
  /** Epoch milliseconds. */
  at: number;
  attempts: number;
}

/** The writing end of the job queues. */
export class JobQueues {
  readonly #connection: RedisClient;
  readonly #onError: (error: Error) => void;
  readonly #queues = new Map<JobName, Promise<Queue>>();

  /** The connection stays its owner's to close. */
  constructor(connection: RedisClient, onError: (error: Error) => void = () => {}) {
    this.#connection = connection;
    this.#onError = onError;
  }

  /** Adds a job, unless one with its key is there. Throws when the payload is not what the table says. */
  async add<N extends JobName>(name: N, payload: JobPayload<N>): Promise<void> {
    const row: JobRow = JOBS[name];
    if (!Value.Check(row.payload, payload)) throw new Error(`the payload is not one of ${name}`);
    const queue = await this.#queue(name);
    await queue.add(name, payload, { ...retention(row), ...identity(row, payload) });
  }

  /** How many jobs of a kind wait, run, or have failed. */
  async counts(name: JobName): Promise<Record<string, number>> {
    const queue = await this.#queue(name);
    return queue.getJobCounts('waiting', 'active', 'delayed', 'failed');
  }

  /** The jobs of a kind that have failed for good and are kept, newest first. */
  async failures(name: JobName, limit: number): Promise<FailedJob[]> {
    const queue = await this.#queue(name);
    const jobs = await queue.getFailed(0, limit - 1);
    return jobs.map(({ failedReason, finishedOn = 0, attemptsMade }) => ({
      name,
      reason: failedReason,
      at: finishedOn,
      attempts: attemptsMade,
    }));
  }

  /** How the last round of each job by the clock came out; one that has not run on this Redis is absent. */
  async lastRounds(): Promise<ReadonlyMap<string, LastRound>> {
    const rounds = Object.entries(await this.#connection.hgetall(LAST_ROUNDS));
    return new Map(rounds.map(([name, text]) => [name, JSON.parse(text) as LastRound]));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map(async (queue) => (await queue).close()));
  }

  #queue(name: JobName): Promise<Queue> {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue = this.#open(name);
    this.#queues.set(name, queue);
    return queue;
  }

  async #open(name: JobName): Promise<Queue> {
    // An api process that is asked for no export and shows no queues never needs it, and starts without it.
    const { Queue } = await import('bullmq');
    const queue = new Queue(name, { connection: this.#connection, prefix: JOB_PREFIX });
    queue.on('error', this.#onError);
    return queue;
  }
}

function identity({ key }: JobRow, payload: object): { jobId?: string } {
  return key === undefined ? {} : { jobId: String((payload as Record<string, unknown>)[key]) };
}

function retention(row: JobRow) {
  return {
    attempts: row.attempts,
    backoff: { type: 'exponential', delay: row.backoffMs, jitter: 0.5 },
    removeOnComplete: true,
    removeOnFail: row.key === undefined ? FAILED_KEPT : true,
  };
}
