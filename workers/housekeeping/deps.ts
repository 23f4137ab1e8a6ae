import { join } from 'node:path';
import { createFileMailer } from './mail/files.ts';
import { createSmtpMailer } from './mail/smtp.ts';
import { createVettings } from '#shared/accounts/postgres/vetting.ts';
import { createKeyDeadlines } from '#shared/keys/postgres/deadlines.ts';
import { ensureLedgerPartitions } from '#shared/ledger/postgres/upkeep.ts';
import { createMailOutbox } from '#shared/accounts/postgres/mail.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { createSanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { dropExpiredAnswers } from '#shared/lanes/postgres/stored-answers.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { Config } from '#shared/config/config.ts';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { runJobs, type RunningJobs } from '#shared/jobs/redis/job-runner.ts';
import { Vetter } from '#shared/accounts/vetter.ts';
import type { Mailer } from '#shared/accounts/letters.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { jobEvents } from '#workers/runtime/job-events.ts';
import { housekeepingHandlers } from './handlers.ts';

/** One per kind of job that uses the database at the same time. */
const CONNECTIONS = 7;
const SCHEDULED = [
  'screening-sweep',
  'key-expiry',
  'key-expiry-warnings',
  'stored-answer-expiry',
  'ledger-partitions',
  'mail',
] as const;

/** Composes the housekeeping process: vetting, expiry, partitions, mail. */
export async function housekeepingProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const observer = jobEvents(log, registry);
  const pool = createPool({
    url: config.secrets.databaseUrl,
    role: 'docket_housekeeping',
    max: CONNECTIONS,
    applicationName: 'docket housekeeping',
    statementTimeoutMs: config.statementTimeoutMs,
    onError: (error) => log.warn({ event: 'database_connection_lost', err: error }),
  });
  const redisFailed = (error: Error): void => observer.queueFailed('screening-sweep', error);
  const connection = connectRedis(
    { url: config.secrets.redisUrl, name: processId, use: 'jobs' },
    redisFailed,
  );
  const queues = new JobQueues(connection, redisFailed);
  const mailer = openMailer(config);
  const vettings = createVettings(pool, systemSurroundings);
  const handlers = housekeepingHandlers({
    vettings,
    vetter: new Vetter({
      vettings,
      lists: createSanctionsStore(pool, systemSurroundings),
      monotonicNow: () => performance.now(),
    }),
    keys: createKeyDeadlines(pool, systemSurroundings),
    outbox: createMailOutbox(pool, systemSurroundings),
    mailer,
    dropExpiredAnswers: (limit) => dropExpiredAnswers(pool, limit),
    ensureLedgerPartitions: async () => {
      const made = await ensureLedgerPartitions(pool);
      if (made.length > 0) log.info({ event: 'ledger_partitions_made', partitions: made });
    },
    onVettingFailed: (orgId, error) => log.error({ event: 'vetting_failed', orgId, err: error }),
  });
  let running: RunningJobs[] = [];
  return {
    readiness: {
      redis: () => connection.ping(),
      postgres: () => pool.query('select from account limit 0'),
    },
    async start() {
      await queues.schedule(SCHEDULED);
      const common = { connection, observer };
      running = [
        runJobs({ name: 'screening', handler: handlers.screening, ...common }),
        ...SCHEDULED.map((name) => runJobs({ name, handler: handlers[name], ...common })),
      ];
    },
    async drain() {
      await Promise.all(running.map((jobs) => jobs.stop()));
    },
    async close() {
      await mailer.close();
      await queues.close();
      connection.disconnect();
      await pool.end();
    },
  };
}

/** A mail server where one is named; files otherwise, so that nothing that was to be said is lost. */
function openMailer(config: Config): Mailer {
  const { smtpUrl } = config.secrets;
  return smtpUrl === undefined
    ? createFileMailer(join(config.dataDir, 'mail'), config.mailFrom)
    : createSmtpMailer(smtpUrl, config.mailFrom);
}
