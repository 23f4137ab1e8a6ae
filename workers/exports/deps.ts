import { randomUUID } from 'node:crypto';
import { createExportJobs } from '#shared/packs/postgres/export-jobs.ts';
import { createPackSource } from '#shared/packs/postgres/pack-source.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import { activeKey, loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { didDocument, jwks } from '#shared/receipts/signing/publication.ts';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { openExportStore } from '#shared/packs/files/open-store.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { Config } from '#shared/config/config.ts';
import { CONTEXT_NAMES, contextDocument, receiptShapes } from '#shared/packs/files/contexts.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import { type JobObserver, runJobs, type RunningJobs } from '#shared/jobs/redis/job-runner.ts';
import { loadMethodologies } from '#shared/methodology/files/methodologies.ts';
import { packLineage } from '#shared/lineage/pack-lineage.ts';
import { packInstructions, packScript } from '#shared/packs/files/verification-files.ts';
import type { ExportStore } from '#shared/packs/export-store.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { jobEvents } from '#workers/runtime/job-events.ts';
import type { PackDocuments } from './documents.ts';
import { exportEvents } from './events.ts';
import { runExport, type RunExportDeps } from './run-export.ts';
import { sweepExports } from './sweep.ts';

/** For each pack one that reads ahead and one that says how far it is; one for the sweep. */
const CONNECTIONS_PER_PACK = 2;

/** Composes the process that builds evidence packs. */
export async function exportsProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const observer = jobEvents(log, registry);
  const pool = createPool({
    url: config.secrets.databaseUrl,
    role: 'docket_exports',
    max: config.exportsConcurrency * CONNECTIONS_PER_PACK + 1,
    applicationName: 'docket exports',
    statementTimeoutMs: config.statementTimeoutMs,
    onError: (error) => log.warn({ event: 'database_connection_lost', err: error }),
  });
  const redisFailed = (error: Error): void => observer.queueFailed('export', error);
  const connection = connectRedis(
    { url: config.secrets.redisUrl, name: processId, use: 'jobs' },
    redisFailed,
  );
  const queues = new JobQueues(connection, redisFailed);
  const jobs = createExportJobs(pool, systemSurroundings);
  const store = openStore(config);
  const deps = {
    jobs,
    store,
    source: createPackSource(pool),
    documents: packDocuments(config),
    issuer: receiptIssuer(config.publicUrl),
    signer: () => packSigner(config),
    events: exportEvents(log, registry),
    newRunId: () => `${processId}-${randomUUID()}`,
    now: () => performance.now(),
  };
  // Without the key nothing can be sealed: said at the start, not at the first export.
  packSigner(config);
  let running: RunningJobs[] = [];
  return {
    readiness: {
      redis: () => connection.ping(),
      postgres: () => pool.query('select from export limit 0'),
      store: () => store.check(),
    },
    async start() {
      await queues.schedule(['export-sweep']);
      running = startJobs({
        connection,
        observer,
        queues,
        deps,
        builders: config.exportsConcurrency,
      });
    },
    async drain() {
      await Promise.all(running.map((each) => each.stop()));
    },
    async close() {
      await queues.close();
      connection.disconnect();
      await pool.end();
    },
  };
}

interface Jobs {
  connection: RedisClient;
  observer: JobObserver;
  queues: JobQueues;
  deps: RunExportDeps;
  /** Packs at once. */
  builders: number;
}

function startJobs({ queues, deps, builders, ...common }: Jobs): RunningJobs[] {
  const { jobs, store } = deps;
  const sweeper = runJobs({
    name: 'export-sweep',
    handler: () =>
      sweepExports({
        jobs,
        store,
        start: (exportId) => queues.add('export', { exportId }),
        waiting: async () => (await queues.counts('export'))['waiting'] ?? 0,
      }),
    ...common,
  });
  const build = () =>
    runJobs({
      name: 'export',
      handler: ({ exportId }, signal) => runExport(deps, exportId, signal),
      ...common,
    });
  return [sweeper, ...Array.from({ length: builders }, build)];
}

function packSigner(config: Config) {
  const { privateKeyPem } = activeKey(loadSigningKeys(config.signingKeysDir), 'packs');
  return createReceiptSigner({ privateKeyPem, did: receiptIssuer(config.publicUrl).did });
}

function openStore(config: Config): ExportStore {
  return openExportStore({
    location: config.exportStore,
    region: config.awsRegion,
    endpoint: config.s3Endpoint,
    credentials: s3Credentials(config),
  });
}

function s3Credentials({ secrets: { awsAccessKeyId, awsSecretAccessKey } }: Config) {
  if (awsAccessKeyId === undefined || awsSecretAccessKey === undefined) return undefined;
  return { accessKeyId: awsAccessKeyId, secretAccessKey: awsSecretAccessKey };
}

/** What is shipped, and the keys as they are published when a pack is built. */
export function packDocuments(config: Pick<Config, 'signingKeysDir' | 'publicUrl'>): PackDocuments {
  const methodologies = loadMethodologies();
  const keys = () => loadSigningKeys(config.signingKeysDir);
  return {
    contexts: new Map(CONTEXT_NAMES.map((name) => [name, contextDocument(name)!])),
    shapes: receiptShapes(),
    instructions: packInstructions(),
    script: packScript(),
    methodology: (name, version) => methodologies.methodologyDocument(name, version),
    lineage: (receipt) => packLineage(methodologies, receipt),
    didDocument: () => `${JSON.stringify(didDocument(keys(), config.publicUrl), null, 2)}\n`,
    jwks: () => `${JSON.stringify(jwks(keys(), config.publicUrl), null, 2)}\n`,
  };
}
