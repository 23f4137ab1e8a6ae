import { createKeyDeadlines } from '#shared/keys/postgres/deadlines.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { runJobs, type RunningJobs } from '#shared/jobs/redis/job-runner.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { jobEvents } from '#workers/runtime/job-events.ts';

const CONNECTIONS = 2;
/** Records deleted by one run. More are left to the next, so that a run stays short. */
const PURGED_MAX = 5_000;

/** Composes the purge process: it forgets what must be forgotten. */
export async function purgeProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const observer = jobEvents(log, registry);
  const pool = createPool({
    url: config.secrets.databaseUrl,
    role: 'docket_purge',
    max: CONNECTIONS,
    applicationName: 'docket purge',
    statementTimeoutMs: config.statementTimeoutMs,
    onError: (error) => log.warn({ event: 'database_connection_lost', err: error }),
  });
  const redisFailed = (error: Error): void => observer.queueFailed('key-purge', error);
  const connection = connectRedis(
    { url: config.secrets.redisUrl, name: processId, use: 'jobs' },
    redisFailed,
  );
  const queues = new JobQueues(connection, redisFailed);
  const keys = createKeyDeadlines(pool, systemSurroundings);
  let running: RunningJobs | undefined;
  return {
    readiness: {
      redis: () => connection.ping(),
      postgres: () => pool.query('select from api_key limit 0'),
    },
    async start() {
      await queues.schedule(['key-purge']);
      running = runJobs({
        name: 'key-purge',
        handler: async () => {
          const purged = await keys.purgeDue(PURGED_MAX);
          if (purged > 0) log.info({ event: 'keys_purged', purged });
        },
        connection,
        observer,
      });
    },
    async drain() {
      await running?.stop();
    },
    async close() {
      await queues.close();
      connection.disconnect();
      await pool.end();
    },
  };
}
