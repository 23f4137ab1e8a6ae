import type { Pool } from 'pg';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { type JobHandler, type JobObserver, runJobs } from '#shared/jobs/redis/job-runner.ts';
import { createTurns, runRounds } from '#shared/jobs/redis/rounds.ts';
import { isScheduled, type JobName, type ScheduledJobName } from '#shared/jobs/table.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import { masterEvents } from '#shared/process/master-events.ts';
import type { ProcessContext } from '#shared/process/run-process.ts';
import { jobEvents } from './job-events.ts';

export interface JobRoleOptions {
  role: 'recalculation' | 'exports' | 'purge' | 'housekeeping';
  /** Connections to PostgreSQL at most. */
  connections: number;
}

/** Composes what every role that does jobs holds: PostgreSQL, the queues, and the jobs under way. */
export class JobRole {
  readonly pool: Pool;
  readonly queues: JobQueues;
  readonly #context: ProcessContext;
  readonly #observer: JobObserver;
  readonly #connection: RedisClient;
  readonly #kinds: { name: JobName; run: () => ReturnType<typeof runJobs> }[] = [];
  #running: ReturnType<typeof runJobs>[] = [];

  constructor(context: ProcessContext, options: JobRoleOptions) {
    const { config, log, registry, processId, server } = context;
    this.#context = context;
    const { role, connections } = options;
    this.#observer = jobEvents(log, registry);
    this.pool = createPool({
      url: config.secrets.databaseUrl,
      role: `docket_${role}`,
      max: connections,
      applicationName: `docket ${role}`,
      statementTimeoutMs: config.statementTimeoutMs,
      onError: (error) => log.warn({ event: 'database_connection_lost', err: error }),
    });
    const onError = (error: Error): void => {
      // The connection serves all kinds of jobs; its trouble is booked on the first.
      this.#observer.queueFailed(this.#kinds[0]!.name, error);
    };
    this.#connection = connectRedis(
      {
        url: config.secrets.redisUrl,
        name: processId,
        use: 'jobs',
        server,
        onMaster: masterEvents(log),
      },
      onError,
    );
    this.queues = new JobQueues(this.#connection, onError);
  }

  /** Adds a kind of job with its handler; none is run before `start`. `concurrency` takes the place of the table's. */
  does<N extends JobName>(name: N, handler: JobHandler<N>, concurrency?: number): void {
    const observer = this.#observer;
    if (isScheduled(name)) {
      const turns = createTurns(this.#connection);
      const rounds = { name, handler: handler as JobHandler<ScheduledJobName>, turns, observer };
      this.#kinds.push({ name, run: () => runRounds(rounds) });
      return;
    }
    const common = { name, handler, connection: this.#connection, observer };
    const options = concurrency === undefined ? common : { ...common, concurrency };
    this.#kinds.push({ name, run: () => runJobs(options) });
  }

  /** For readiness. Rejects when nothing can be written to Redis. */
  writes(): Promise<void> {
    const { server, processId } = this.#context;
    return server.write(this.#connection, processId);
  }

  /** Takes jobs, and does what is due by the clock. */
  start(): Promise<void> {
    this.#running = this.#kinds.map(({ run }) => run());
    return Promise.resolve();
  }

  /** Takes no more jobs and waits for those under way. */
  async drain(): Promise<void> {
    await Promise.all(this.#running.map((jobs) => jobs.stop()));
  }

  async close(): Promise<void> {
    await this.queues.close();
    this.#connection.disconnect();
    await this.pool.end();
  }
}
