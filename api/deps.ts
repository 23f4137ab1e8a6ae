import type { ListenOptions } from 'node:net';
import type { FastifyListenOptions } from 'fastify';
import { createAccountRegistry } from '../shared/adapters/postgres/accounts.ts';
import { createAuditLog } from '../shared/adapters/postgres/audit.ts';
import { listenForCredentialChanges } from '../shared/adapters/postgres/credentials-feed.ts';
import {
  createCredentialSource,
  createKeyUseStore,
} from '../shared/adapters/postgres/credentials.ts';
import { createKeyRegistry } from '../shared/adapters/postgres/keys.ts';
import { createLedgerReader } from '../shared/adapters/postgres/ledger-reader.ts';
import { createPool } from '../shared/adapters/postgres/pool.ts';
import { createStoredAnswers } from '../shared/adapters/postgres/stored-answers.ts';
import { watchCircuits } from '../shared/adapters/redis/circuits.ts';
import { connectRedis } from '../shared/adapters/redis/connect.ts';
import { checkDurability } from '../shared/adapters/redis/durability.ts';
import { watchRegionStatus } from '../shared/adapters/redis/region-status.ts';
import { currentKeys } from '../shared/adapters/signing/current-keys.ts';
import { OpenAiCompatibleModerator } from '../shared/adapters/moderation/openai-compatible.ts';
import { didDocument, jwks } from '../shared/adapters/signing/publication.ts';
import { newId, randomBytesFromPool } from '../shared/adapters/system/ids.ts';
import { systemSurroundings } from '../shared/adapters/system/surroundings.ts';
import { createTokenCounter } from '../shared/adapters/tokenizer/counter.ts';
import type { Config } from '../shared/config/config.ts';
import { contextDocument } from '../shared/contexts/contexts.ts';
import type { Model } from '../shared/domain/catalogue.ts';
import { receiptIssuer } from '../shared/domain/receipt/issuer.ts';
import { Admissions } from '../shared/lanes/admission.ts';
import { Inbox } from '../shared/lanes/inbox.ts';
import { receiptsLane } from '../shared/lanes/keys.ts';
import { Liveness } from '../shared/lanes/liveness.ts';
import type { Reply } from '../shared/lanes/messages.ts';
import { defineLaneScripts } from '../shared/lanes/scripts.ts';
import { encodeMessage } from '../shared/lanes/wire-format.ts';
import { FROZEN_FACTOR_SETS } from '../shared/methodology/frozen.ts';
import { loadFactorSet } from '../shared/methodology/load.ts';
import { loadScreen } from '../shared/policy/load.ts';
import { openCatalogue } from '../shared/process/open-catalogue.ts';
import type { ProcessContext, ProcessParts } from '../shared/process/run-process.ts';
import { buildApp } from './app.ts';
import { CredentialCache } from './auth/credential-cache.ts';
import { KeyUseRecorder } from './auth/key-use.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { refuse } from './dispatch/refuse.ts';
import { apiEvents } from './events.ts';

/** How often a stopping process lets go of connections that have become idle. */
const IDLE_SWEEP_MS = 50;

/** Composes the HTTP edge. */
export async function apiProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const events = apiEvents(log, registry);
  const catalogue = openCatalogue(config, log);
  const index = () => catalogue.current().index;
  const issuer = receiptIssuer(config.publicUrl);
  const factors = loadFactorSet(FROZEN_FACTOR_SETS.at(-1)!.version);
  const published = currentKeys(
    config.signingKeysDir,
    (keys) => ({
      didDocument: didDocument(keys, config.publicUrl),
      jwks: jwks(keys, config.publicUrl),
    }),
    events.signingKeysUnreadable,
  );
  const moderator = openModerator(config);
  const tokens = createTokenCounter();

  const pool = createPool({
    url: config.secrets.databaseUrl,
    role: 'docket_api',
    max: config.databasePoolMax,
    applicationName: 'docket api',
    statementTimeoutMs: config.statementTimeoutMs,
    onError: events.storeFailed,
  });
  const credentials = new CredentialCache({
    source: createCredentialSource(pool),
    observer: events.credentials,
  });
  const keyUse = new KeyUseRecorder(createKeyUseStore(pool));

  const connect = (use: 'interactive' | 'patient' | 'blocking') =>
    connectRedis({ url: config.secrets.redisUrl, name: processId, use }, events.storeFailed);
  const client = connect('interactive');
  const steady = connect('patient');
  const regions = watchRegionStatus(steady, events.storeFailed);
  const circuits = watchCircuits(steady, events.storeFailed);
  const scripts = defineLaneScripts(client);
  const dispatcher = new Dispatcher({
    admissions: new Admissions(scripts, config.shards),
    scripts,
    client,
    largeAnswers: createStoredAnswers(pool),
    processId,
    receiptWaitMs: config.receiptWaitMs,
    onError: events.storeFailed,
  });
  const inbox = new Inbox<Reply>(
    connect('blocking'),
    processId,
    dispatcher.take,
    events.storeFailed,
  );
  const liveness = new Liveness(steady, processId, () => inbox.lastRead);
  const hand = async (shard: number, entry: object): Promise<void> => {
    await client.xadd(receiptsLane(shard), '*', 'e', encodeMessage(entry));
  };

  const app = await buildApp({
    bodyBytesMax: config.bodyBytesMax,
    trustedProxies: config.trustedProxies,
    newRequestId: () => newId('req'),
    events,
    authenticate: { credentials, keyUse },
    inference: {
      dispatcher,
      issuer,
      events,
      guard: { screen: loadScreen(), tokens, moderator, onUnjudged: events.unjudged },
      prepare: {
        index,
        health: () => ({ states: regions.current(), openCircuits: circuits.current() }),
        newSalt: () => Buffer.from(randomBytesFromPool(16)).toString('base64url'),
        processId,
        shardOf: (organisationId) => dispatcher.shardOf(organisationId),
      },
      refuse: (prepared, verdict) =>
        refuse(
          { hand, supportEmail: config.supportEmail, now: Date.now, onError: events.storeFailed },
          prepared,
          verdict,
        ),
      now: Date.now,
    },
    models: {
      index,
      confidenceOf: (ref) => factors.models.find(({ id }) => id === ref)?.confidence,
    },
    receipts: { ledger: createLedgerReader(pool) },
    ledger: { ledger: createLedgerReader(pool) },
    keys: { keys: createKeyRegistry(pool, systemSurroundings) },
    account: { accounts: createAccountRegistry(pool, systemSurroundings) },
    auditLog: { audit: createAuditLog(pool, systemSurroundings) },
    publicDocuments: {
      didDocument: () => published().didDocument,
      jwks: () => published().jwks,
      context: contextDocument,
    },
  });
  const feed = listenForCredentialChanges({
    connection: { connectionString: config.secrets.databaseUrl },
    onChange: (change) => credentials.changed(change),
    observer: events.credentials,
  });

  return {
    readiness: {
      redis: () => steady.ping(),
      postgres: () => pool.query('SELECT'),
    },
    async start() {
      if (!config.allowVolatileRedis) await checkDurability(steady);
      await Promise.all([liveness.start(), regions.start(), circuits.start()]);
      inbox.start();
      dispatcher.start();
      // Passed on to the socket: several api processes may share the port, and the kernel spreads connections.
      const { port, host, reusePort } = config;
      const address: ListenOptions = { port, host, reusePort };
      await app.listen(address as FastifyListenOptions);
      // After listening: it takes a moment, and only requests that need counting would wait for it.
      for (const family of new Set(catalogue.current().catalogue.models.map(familyOf))) {
        tokens.load(family);
      }
      const bound = app.server.address();
      return typeof bound === 'object' && bound !== null ? { port: bound.port } : {};
    },
    async drain() {
      // The listener closes at once; what is open goes on until it is answered.
      const closed = app.close();
      await dispatcher.drained();
      // Connections that were busy then and are idle now would be kept alive for their next request.
      const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
      await closed.finally(() => clearInterval(sweep));
    },
    async close() {
      dispatcher.stop();
      await app.close();
      await moderator?.close();
      await keyUse.close();
      await feed.close();
      await inbox.stop();
      await liveness.stop();
      await Promise.all([regions.stop(), circuits.stop()]);
      client.disconnect();
      steady.disconnect();
      await pool.end();
    },
    reload: () => catalogue.reload(),
  };
}

/** The second stage of screening, where one is configured. */
function openModerator(config: Config): OpenAiCompatibleModerator | undefined {
  const { moderationUrl, moderationModel, moderationFailMode, moderationTimeoutMs } = config;
  if (moderationUrl === undefined) return undefined;
  const { moderationApiKey } = config.secrets;
  return new OpenAiCompatibleModerator({
    baseUrl: moderationUrl,
    model: moderationModel,
    ...(moderationApiKey === undefined ? {} : { apiKey: moderationApiKey }),
    timeoutMs: moderationTimeoutMs,
    failMode: moderationFailMode,
    now: Date.now,
  });
}

function familyOf({ tokenizer }: Model): string | undefined {
  return tokenizer;
}
