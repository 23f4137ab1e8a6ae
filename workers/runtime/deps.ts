import type { Pool } from 'pg';
import type { BackgroundRole } from '#shared/config/settings.ts';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import {
  type JobHandler,
  type JobHandlers,
  type JobObserver,
  runJobs,
} from '#shared/jobs/redis/job-runner.ts';
import { createTurns, runRounds } from '#shared/jobs/redis/rounds.ts';
import { isScheduled, JOBS, type JobName, type JobNameOf } from '#shared/jobs/table.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import { masterEvents } from '#shared/process/master-events.ts';
import type { ReadinessChecks } from '#shared/process/health-server.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { jobEvents } from './job-events.ts';

export interface JobRoleOptions<R extends BackgroundRole> {
  role: R;
  /** Connections to PostgreSQL at most. */
  connections: number;
}

/** Composes what every role that does jobs holds: PostgreSQL, the queues, and the jobs under way. */
export class JobRole<R extends BackgroundRole> {
  readonly pool: Pool;
  readonly queues: JobQueues;
  readonly #context: ProcessContext;
  readonly #observer: JobObserver;
  readonly #connection: RedisClient;
  readonly #kinds: { name: JobName; run: () => ReturnType<typeof runJobs> }[] = [];

  constructor(context: ProcessContext, options: JobRoleOptions<R>) {
    const { config, log, registry, processId, server } = context;
    this.#context = context;
    const { role, connections } = options;
    this.#observer = jobEvents(log, registry, role);
    this.pool = createPool({
      url: config.secrets.databaseUrl,
      pooler: config.databasePooler,
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

  /** Says how the jobs of the role are done; none is run before the start. `concurrency` takes the place of the table's. */
  does(handlers: JobHandlers<R>, concurrency: { [N in JobNameOf<R>]?: number } = {}): void {
    const observer = this.#observer;
    const connection = this.#connection;
    for (const [name, handler] of Object.entries(handlers) as [JobName, JobHandler<JobName>][]) {
      const turns = createTurns(connection);
      const atOnce = (concurrency as { [N in JobName]?: number })[name] ?? JOBS[name].concurrency;
      const run = isScheduled(name)
        ? () => runRounds({ name, handler, turns, observer })
        : () => runJobs({ name, handler, connection, concurrency: atOnce, observer });
      this.#kinds.push({ name, run });
    }
  }

  /** The parts of the process, which is ready when its jobs can be written and these checks pass. */
  parts(readiness: ReadinessChecks): ProcessParts {
    const { server, processId } = this.#context;
    let running: ReturnType<typeof runJobs>[] = [];
    return {
      readiness: { redis: () => server.write(this.#connection, processId), ...readiness },
      start: async () => {
        running = this.#kinds.map(({ run }) => run());
      },
      drain: async () => {
        await Promise.all(running.map((jobs) => jobs.stop()));
      },
      close: async () => {
        await this.queues.close();
        this.#connection.disconnect();
        await this.pool.end();
      },
    };
  }
}
