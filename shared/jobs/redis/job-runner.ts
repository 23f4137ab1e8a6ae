import { DelayedError, UnrecoverableError, Worker, type Job } from 'bullmq';
import type { BackgroundRole } from '#shared/config/settings.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { JOB_PREFIX } from './job-queues.ts';
import { JOBS, type JobName, type JobNameOf, type JobPayload, readPayload } from '../table.ts';

/**
 * Does the work of one job. It may run twice on the same job, at the same time even: the guard is in
 * the database, never the queue's word. The signal aborts when its time is over or the process ends.
 */
export type JobHandler<N extends JobName> = (
  payload: JobPayload<N>,
  signal: AbortSignal,
) => Promise<void>;

/** The handler of each job of a role. */
export type JobHandlers<R extends BackgroundRole> = { [N in JobNameOf<R>]: JobHandler<N> };

/** One function per event writes log line and metric together. */
export interface JobObserver {
  done(name: JobName, durationMs: number): void;
  /** `final`: it will not be tried again. */
  failed(name: JobName, error: unknown, final: boolean): void;
  /** The queue itself, not the work. */
  queueFailed(name: JobName, error: unknown): void;
}

export interface JobRunnerOptions<N extends JobName> {
  name: N;
  handler: JobHandler<N>;
  connection: RedisClient;
  /** In place of the table's, where the operator sets it. */
  concurrency?: number;
  observer: JobObserver;
}

/** How long a read of the queue waits: well below the time after which a silent connection is given up. */
const READ_WAIT_S = 10;
/** A job that this build cannot read is left to a newer one, for as long as an upgrade may take, and looked at so often. */
const UNREAD_MS_MAX = 24 * 3_600_000;
const UNREAD_AGAIN_MS = 60_000;

/** Runs the jobs of one kind by their row of the table. */
export function runJobs<N extends JobName>(options: JobRunnerOptions<N>) {
  const { name, observer } = options;
  const row = JOBS[name];
  const stopping = new AbortController();
  const worker = new Worker(
    name,
    (job, token) => runOne({ job, token }, options, stopping.signal),
    {
      connection: options.connection,
      prefix: JOB_PREFIX,
      concurrency: options.concurrency ?? row.concurrency,
      drainDelay: READ_WAIT_S,
    },
  );
  worker.on('completed', (job) => {
    observer.done(name, (job.finishedOn ?? 0) - (job.processedOn ?? 0));
  });
  worker.on('failed', (job, error) => {
    const isLast = job === undefined || job.attemptsMade >= row.attempts;
    observer.failed(name, error, isLast || error instanceof UnrecoverableError);
  });
  worker.on('error', (error) => observer.queueFailed(name, error));
  return {
    /** Takes no more jobs and waits for those under way. */
    stop: async (): Promise<void> => {
      stopping.abort(new Error('the process is stopping'));
      await worker.close();
    },
  };
}

async function runOne<N extends JobName>(
  { job, token }: { job: Job; token: string | undefined },
  { name, handler, observer }: JobRunnerOptions<N>,
  stopping: AbortSignal,
): Promise<void> {
  const payload = readPayload(name, job.data);
  if (payload === null) {
    const now = Date.now();
    const reason = `the payload is not one of ${name} as this build knows it`;
    if (now - job.timestamp > UNREAD_MS_MAX) throw new UnrecoverableError(reason);
    observer.failed(name, new Error(reason), false);
    await job.moveToDelayed(now + UNREAD_AGAIN_MS, token);
    throw new DelayedError();
  }
  await runWithin(name, (signal) => handler(payload, signal), stopping);
}

/**
 * Does the work of a job of this kind within the time of its row. Work that does not look at its signal is left behind
 * when its time is over, and fails; it is tried again. When the process stops, work ends by itself, and the process bounds
 * how long it waits for that.
 */
export async function runWithin(
  name: JobName,
  work: (signal: AbortSignal) => Promise<void>,
  stopping: AbortSignal,
): Promise<void> {
  const { timeoutMs } = JOBS[name];
  const ending = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`${name} took longer than ${timeoutMs} ms`);
    ending.abort(error);
    late.reject(error);
  }, timeoutMs);
  const stop = (): void => ending.abort(stopping.reason);
  if (stopping.aborted) stop();
  stopping.addEventListener('abort', stop);
  try {
    await Promise.race([work(ending.signal), late.promise]);
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', stop);
  }
}
