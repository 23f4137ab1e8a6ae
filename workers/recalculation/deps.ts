import { createPool } from '../../shared/adapters/postgres/pool.ts';
import { createRestatementStore } from '../../shared/adapters/postgres/restatements.ts';
import { createRevisionStore } from '../../shared/adapters/postgres/revisions.ts';
import { connectRedis } from '../../shared/adapters/redis/connect.ts';
import { currentKeys } from '../../shared/adapters/signing/current-keys.ts';
import { activeKey } from '../../shared/adapters/signing/key-files.ts';
import { createReceiptSigner } from '../../shared/adapters/signing/signer.ts';
import { newId } from '../../shared/adapters/system/ids.ts';
import { receiptIssuer } from '../../shared/domain/receipt/issuer.ts';
import { JobQueues } from '../../shared/jobs/job-queues.ts';
import { runJobs, type RunningJobs } from '../../shared/jobs/job-runner.ts';
import { loadMethodologies } from '../../shared/methodology/methodologies.ts';
import { openCatalogue } from '../../shared/process/open-catalogue.ts';
import type { ProcessContext, ProcessParts } from '../../shared/process/run-process.ts';
import { jobEvents } from '../runtime/job-events.ts';
import { recalculationEvents } from './events.ts';
import { recalculate } from './recalculate.ts';
import { restate } from './restate.ts';
import { type ReviseDeps } from './revise.ts';
import { Sweep } from './sweep.ts';

/** Beside the recalculations at work: one for the sweep, one for restating. */
const OTHER_CONNECTIONS = 2;

/** Composes a recalculation worker: the job queues, the methodology, the catalogue, the signing key, PostgreSQL. */
export async function recalculationProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const events = recalculationEvents(log, registry);
  const observer = jobEvents(log, registry);
  const catalogue = openCatalogue(config, log);
  const methodology = loadMethodologies().current;
  const issuer = receiptIssuer(config.publicUrl);
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
  const revisions = createRevisionStore(pool);
  const restatements = createRestatementStore(pool);
  const basis = (): string => `${catalogue.current().catalogue.digest}.${methodology.digest}`;
  const reviseDeps: ReviseDeps = {
    issuer,
    signer: currentKeys(
      config.signingKeysDir,
      (keys) => {
        const { privateKeyPem } = activeKey(keys, 'receipts');
        return createReceiptSigner({ privateKeyPem, did: issuer.did });
      },
      events.signingKeysUnreadable,
    ),
    now: Date.now,
    newReceiptId: (nowMs) => newId('rcpt', nowMs),
  };
  const common = { ...reviseDeps, methodology, events };
  const sweep = new Sweep({
    revisions,
    restatements,
    addRecalculation: (receiptId) => queues.add('recalculation', { receiptId }),
    addRestatement: (organisationId) => queues.add('restatement', { organisationId }),
    basis,
    events,
  });
  let running: RunningJobs[] = [];
  return {
    readiness: {
      redis: () => connection.ping(),
      postgres: () => pool.query('select from recalculation limit 0'),
    },
    async start() {
      await queues.schedule(['recalculation-sweep']);
      running = [
        runJobs({
          name: 'recalculation',
          concurrency: config.recalculationConcurrency,
          handler: async ({ receiptId }) => {
            await recalculate(
              {
                ...common,
                store: revisions,
                catalogue: () => catalogue.current().catalogue,
                basis,
              },
              receiptId,
            );
          },
          connection,
          observer,
        }),
        runJobs({
          name: 'restatement',
          handler: ({ organisationId }, signal) =>
            restate({ ...common, revisions, restatements }, organisationId, signal),
          connection,
          observer,
        }),
        runJobs({
          name: 'recalculation-sweep',
          handler: (_payload, signal) => sweep.run(signal),
          connection,
          observer,
        }),
      ];
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
      sweep.renew().catch(events.storeFailed);
    },
  };
}
