import { createPool } from '#shared/kernel/postgres/pool.ts';
import { createRestatementStore } from '#shared/receipts/postgres/restatements.ts';
import { createRevisionStore } from '#shared/receipts/postgres/revisions.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { currentReceiptSigner } from '#shared/receipts/signing/files/current-receipt-signer.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { Config } from '#shared/config/config.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { runJobs, type RunningJobs } from '#shared/jobs/redis/job-runner.ts';
import { loadMethodologies } from '#shared/methodology/files/methodologies.ts';
import { openCatalogue } from '#shared/process/open-catalogue.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { jobEvents } from '#workers/runtime/job-events.ts';
import { type RecalculationEvents, recalculationEvents } from './events.ts';
import { type RecalculationHandlers, recalculationHandlers } from './handlers.ts';
import type { ReviseDeps } from './revise.ts';

/** Beside the recalculations at work: one for the sweep, one for restating. */
const OTHER_CONNECTIONS = 2;

/** Composes a recalculation worker: the job queues, the methodology, the catalogue, the signing key, PostgreSQL. */
export async function recalculationProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const events = recalculationEvents(log, registry);
  const catalogue = openCatalogue(config, log);
  const pool = createPool({
    url: config.secrets.databaseUrl,
    role: 'docket_recalculation',
    max: config.recalculationConcurrency + OTHER_CONNECTIONS,
    applicationName: 'docket recalculation',
    statementTimeoutMs: config.statementTimeoutMs,
    onError: events.storeFailed,
  });
  const connection = connectRedis(
    { url: config.secrets.redisUrl, name: processId, use: 'jobs' },
    events.storeFailed,
  );
  const queues = new JobQueues(connection, events.storeFailed);
  const handlers = recalculationHandlers({
    ...issuing(config, events),
    events,
    revisions: createRevisionStore(pool),
    restatements: createRestatementStore(pool),
    methodology: loadMethodologies().current,
    catalogue: () => catalogue.current().catalogue,
    addRecalculation: (receiptId) => queues.add('recalculation', { receiptId }),
    addRestatement: (orgId) => queues.add('restatement', { orgId }),
  });
  let running: RunningJobs[] = [];
  return {
    readiness: {
      redis: () => connection.ping(),
      postgres: () => pool.query('select from recalculation limit 0'),
    },
    async start() {
      await queues.schedule(['recalculation-sweep']);
      running = runAll(context, connection, handlers);
    },
    async drain() {
      await Promise.all(running.map((jobs) => jobs.stop()));
    },
    async close() {
      await queues.close();
      connection.disconnect();
      await pool.end();
    },
    reload() {
      catalogue.reload();
      handlers.renew().catch(events.storeFailed);
    },
  };
}

/** What revisions are signed with, and how they are named. */
function issuing(config: Config, events: RecalculationEvents): ReviseDeps {
  const issuer = receiptIssuer(config.publicUrl);
  const signer = currentReceiptSigner(
    config.signingKeysDir,
    issuer.did,
    events.signingKeysUnreadable,
  );
  return { issuer, signer, now: Date.now, newReceiptId: (nowMs) => newId('rcpt', nowMs) };
}

function runAll(
  { config, log, registry }: ProcessContext,
  connection: ReturnType<typeof connectRedis>,
  handlers: RecalculationHandlers,
): RunningJobs[] {
  const common = { connection, observer: jobEvents(log, registry) };
  const concurrency = config.recalculationConcurrency;
  return [
    runJobs({ name: 'recalculation', handler: handlers.recalculation, concurrency, ...common }),
    runJobs({ name: 'restatement', handler: handlers.restatement, ...common }),
    runJobs({ name: 'recalculation-sweep', handler: handlers.sweep, ...common }),
  ];
}
