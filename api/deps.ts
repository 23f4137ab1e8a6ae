import type { Pool } from 'pg';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { databaseCheck } from '#shared/kernel/postgres/fitness.ts';
import { primaryAlone } from '#shared/kernel/postgres/replica.ts';
import { createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { openReceiptArchive } from '#shared/packs/files/open-store.ts';
import { openReplica } from '#shared/process/open-replica.ts';
import { currentKeys } from '#shared/receipts/signing/files/current-keys.ts';
import { didDocument, jwks, verifierKeys } from '#shared/receipts/signing/publication.ts';
import { openFilesMax } from '#shared/kernel/system/open-files.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { Config } from '#shared/config/config.ts';
import { contextDocument } from '#shared/packs/files/contexts.ts';
import { packScriptDigest } from '#shared/packs/files/verification-files.ts';
import { verifierFiles } from '#api/verifier/bundle.ts';
import { readDerivations } from '#shared/receipts/postgres/derivations.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import packageJson from '../package.json' with { type: 'json' };
import { newestFactorSet, shippedFactorTexts } from '#shared/methodology/files/load.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { createStatusHistory } from '#shared/catalogue/postgres/status-history.ts';
import { LOOK_EVERY_MS } from '#shared/catalogue/service-history.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { openCatalogue } from '#shared/process/open-catalogue.ts';
import { openTraces } from '#shared/process/traces/open-traces.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { buildApp } from './app.ts';
import { GracefulShutdown } from './graceful-shutdown.ts';
import { openAdmin } from '#api/admin/deps.ts';
import { openCredentials } from '#api/auth/deps.ts';
import { dashboardOf } from '#api/dashboard/deps.ts';
import { connectionsMaxOf } from '#api/plugins/connections.ts';
import { RequestRecorder } from '#api/requests/recorder.ts';
import { openStatus } from '#api/front/deps.ts';
import { openInference } from '#api/inference/deps.ts';
import { type ApiEvents, apiEvents } from './events.ts';
import { showLanes } from './lane-metrics.ts';
import { listen } from './listen.ts';
import { openExports, openResources } from '#api/routes/deps.ts';

/** What an address may ask at once, as seconds of its rate: a page with all it shows, a verifier with its tiles. */
const ADDRESS_BURST_S = 5;
/** A page asks three things at once; however many are asked for, what programs ask waits for none of their statements. */
const PAGE_CONNECTIONS = 4;
/** However many responses are kept, keys are looked up beside them. */
const KEPT_CONNECTIONS = 4;

/** Composes the HTTP edge. */
export async function apiProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry } = context;
  const logsAccess = config.accessLog === 'json';
  const events = apiEvents(log, registry, logsAccess);
  const traces = await openTraces(context, 'api');
  const catalogue = openCatalogue(config, log);
  const issuer = receiptIssuer(config.publicUrl);
  const factors = newestFactorSet();

  const openPool = (max: number, applicationName: string): Pool =>
    createPool({
      url: config.secrets.databaseUrl,
      pooler: config.databasePooler,
      role: 'docket_api',
      max,
      applicationName,
      statementTimeoutMs: config.statementTimeoutMs,
      onError: events.storeFailed,
    });
  const pool = openPool(config.databasePoolMax, 'docket api');
  const pagePool = openPool(PAGE_CONNECTIONS, 'docket pages');
  const keptPool = openPool(KEPT_CONNECTIONS, 'docket kept responses');
  const access = openCredentials(context, pool, events);
  const inference = await openInference(context, {
    pool,
    keptPool,
    catalogue,
    issuer,
    events,
    isTraced: traces !== undefined,
  });
  showLanes(registry, { laneDepths: inference.laneDepths, onError: events.storeFailed });
  const exports = openExports(context, pool, events);
  const requests = new RequestRecorder({ write: (rows) => writeRequests(pool, rows), events });
  const perAddress = {
    requestsPerSecond: config.addressRequestsPerSecond,
    burst: config.addressRequestsPerSecond * ADDRESS_BURST_S,
  };

  const exampleModel = (): string | undefined =>
    catalogue
      .current()
      .catalogue.models.find(
        ({ kinds, organisations }) => kinds.includes('chat') && organisations === undefined,
      )?.id;
  const replica = openReplica(context, 'docket_api');
  const archive = createBodyArchive(openReceiptArchive(config));
  const readsOf = (primary: Pool, max: number) => ({
    pool: primary,
    reads: replica?.over(primary, max) ?? primaryAlone(primary),
    archive,
  });
  const resources = openResources(
    readsOf(pool, config.databasePoolMax),
    issuer,
    inference.deps.pendingReceipts,
  );
  const publication = publicationOf(config, events, pool);
  const history = createStatusHistory(pool, systemSurroundings);
  const status = openStatus(pool, {
    index: inference.deps.index,
    health: inference.deps.health,
    isServed: (code) => inference.served().has(code),
    notes: () => inference.regionStatuses.notes(),
    history,
    onError: events.storeFailed,
  });
  const noting = setInterval(() => void status.note(), LOOK_EVERY_MS).unref();
  const ofPages = openResources(
    readsOf(pagePool, PAGE_CONNECTIONS),
    issuer,
    inference.deps.pendingReceipts,
  );
  const admin = await openAdmin(config, {
    pool: pagePool,
    resources: ofPages,
    exports: exports.routes,
    regionStatuses: inference.regionStatuses,
    index: inference.deps.index,
    events,
  });
  const dashboard = dashboardOf(config, pagePool, {
    resources: ofPages,
    exports: { ...exports.routes, exports: createExportRegistry(pagePool, systemSurroundings) },
    perAddress,
    didDocument: publication.publicDocuments.didDocument,
    exampleModel,
    index: inference.deps.index,
    credentialOf: (hash) => access.credentials.ofHash(hash),
    operations: {
      writes: inference.writes,
      health: inference.deps.health,
      served: inference.served,
      regionStatuses: inference.regionStatuses,
      laneDepths: inference.laneDepths,
      peers: inference.peers,
      queues: exports.queues,
    },
    onError: events.storeFailed,
    onFailure: events.failedInside,
  });

  const app = await buildApp({
    bodyBytesMax: config.bodyBytesMax,
    trustedProxies: config.trustedProxies,
    corsOrigins: config.corsOrigins,
    connectionsMax: connectionsMaxOf(openFilesMax()),
    newRequestId: () => newId('req'),
    events,
    onAnswered: (answered, span) => {
      requests.note(answered);
      events.ended(answered, span);
    },
    traces,
    authenticate: access,
    buckets: inference.buckets,
    perAddress,
    inference: inference.deps,
    models: {
      index: () => catalogue.current().index,
      confidenceOf: (ref) => factors.models.find(({ id }) => id === ref)?.confidence,
    },
    kept: { kept: inference.kept },
    ...resources,
    exports: exports.routes,
    ...publication,
    front: {
      publicUrl: config.publicUrl,
      supportEmail: config.supportEmail,
      exampleModel,
      hasDashboard: dashboard !== undefined,
      status,
    },
    dashboard,
  });
  const shutdown = new GracefulShutdown(app.server);
  return {
    readiness: {
      redis: inference.writes,
      peers: inference.agrees,
      postgres: databaseCheck(pool, 'SELECT'),
    },
    // Keys in memory work, answers go out, and receipts are issued afterwards.
    servesWithout: { postgres: () => access.credentials.holdsUsable() },
    start: async () => {
      replica?.start();
      await inference.start();
      const adminPort = await admin?.listen();
      if (adminPort !== undefined) log.info({ event: 'admin_listening', port: adminPort });
      return { port: await listen(app, shutdown, config) };
    },
    drain: async () => {
      // Half of the time is for those who are being answered.
      await shutdown.leave(Math.min(config.lameDuckMs, config.shutdownMs / 2));
      // Requests whose clients have gone are still on their way.
      await inference.drained();
    },
    close: async () => {
      clearInterval(noting);
      inference.stop();
      await admin?.close();
      await app.close();
      await requests.close();
      await access.close();
      await inference.close();
      await exports.close();
      await replica?.close();
      await Promise.all([pool.end(), pagePool.end(), keptPool.end(), traces?.stop()]);
    },
    reload: catalogue.reload,
  };
}

/** Documents that are public: the interface, the signing keys as they are now, the contexts. */
function publicationOf(config: Config, events: ApiEvents, pool: Pool) {
  const { publicUrl, supportEmail } = config;
  const published = currentKeys(
    config.signingKeysDir,
    (keys) => ({
      didDocument: didDocument(keys, publicUrl),
      jwks: jwks(keys, publicUrl),
      verifierKeys: (orgId?: string) => verifierKeys(keys, publicUrl, orgId),
    }),
    events.signingKeysUnreadable,
  );
  return {
    description: {
      publicUrl,
      supportEmail,
      bodyBytesMax: config.bodyBytesMax,
      packsKeptDays: config.packsKeptDays,
      version: packageJson.version,
    },
    verifier: {
      files: verifierFiles(() => ({
        factorSets: shippedFactorTexts(),
        script: packScriptDigest(),
      })),
    },
    publicDocuments: {
      didDocument: () => published().didDocument,
      jwks: () => published().jwks,
      verifierKeys: (orgId?: string) => published().verifierKeys(orgId),
      context: contextDocument,
      derivation: async (digest: string) => (await readDerivations(pool, [digest])).get(digest),
    },
  };
}
