import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { publishAuditHeads } from '#shared/ledger/postgres/audit-checkpoints.ts';
import { createTimestampAuthority } from '#shared/ledger/http/timestamp-authority.ts';
import { createWitness } from '#shared/ledger/http/witness.ts';
import { extendAnchor } from '#shared/ledger/postgres/anchor-append.ts';
import { createAttestationStore } from '#shared/ledger/postgres/anchor-attestations.ts';
import { integrateBatch, readBacklog } from '#shared/ledger/postgres/integration.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { sumUpAnew } from '#shared/ledger/postgres/usage-anew.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { databaseCheck } from '#shared/kernel/postgres/fitness.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import { createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import { listenForOwed } from '#shared/ledger/redis/owed-notices.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { checkDurability } from '#shared/lanes/redis/durability.ts';
import {
  createCheckpointSigner,
  knownKeys,
} from '#shared/receipts/signing/files/checkpoint-signer.ts';
import { activeKey } from '#shared/receipts/signing/files/key-files.ts';
import { currentKeys } from '#shared/receipts/signing/files/current-keys.ts';
import { signingAgentOf } from '#shared/receipts/signing/sockets/signing-agent.ts';
import { verifyCosignature } from '#shared/ledger/cosignatures.ts';
import { keyId } from '#shared/receipts/signing/publication.ts';
import type { Config } from '#shared/config/config.ts';
import { ANCHOR_LOG, logOrigins } from '#shared/ledger/origins.ts';
import { didWeb } from '#shared/receipts/issuer.ts';
import type { CheckpointMemory } from '#shared/ledger/checkpoints.ts';
import { masterEvents } from '#shared/process/master-events.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { attest, type Attestors } from './attest.ts';
import { ClaimWindow } from './claim-window.ts';
import { ledgerEvents, type LedgerEvents } from './events.ts';
import { CHECKPOINT_MS, EPOCH_MS } from './intervals.ts';
import { type LedgerSteps, runLedger } from './loop.ts';

/** Logs looked at in one go; the rest follow a quarter of a second later. */
const LOGS_PER_PUBLICATION = 500;
/** Signers notice a rotation within a second; the batch that one had just signed may wait for a database that is away. */
const RETIRE_AFTER_MS = 10 * MINUTE_MS;
/** A portion of a log whose sums are made anew: a tenth of a second, for which integration waits. */
const ANEW_ENTRIES = 2_000;
/** One for integration and signing, which take turns, one for the anchor, one for attestations, one for probes. */
const CONNECTIONS = 4;

/** Composes a ledger worker: PostgreSQL for the logs, Redis for what was published, the keys for checkpoints and anchor. */
export async function ledgerProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId, server } = context;
  const events = ledgerEvents(log, registry);
  const pool = createPool({
    url: config.secrets.databaseUrl,
    pooler: config.databasePooler,
    role: 'docket_ledger',
    max: CONNECTIONS,
    applicationName: 'docket ledger',
    statementTimeoutMs: config.statementTimeoutMs,
    onError: (error) => events.failed('integrate', error),
  });
  // Interactive: a Redis that is away must fail the signing at once, not hold up integration.
  const redis = connectRedis({
    url: config.secrets.redisUrl,
    name: processId,
    use: 'interactive',
    server,
    onMaster: masterEvents(log),
  });
  const notices = connectRedis({
    url: config.secrets.redisUrl,
    name: processId,
    use: 'patient',
    server,
  });
  const loop = {
    events,
    onOwed: (ring: () => void) =>
      listenForOwed(notices, ring, (error) => events.noticesUnheard(error)),
    batchMax: config.ledgerBatchMax,
    now: () => performance.now(),
    steps: stepsOf(config, pool, createCheckpointMemory(redis), events),
  };
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  return {
    readiness: {
      redis: () => server.write(redis, processId),
      postgres: databaseCheck(pool, 'select from ledger_head limit 0'),
    },
    async start() {
      // What was published is remembered there: losing it would let a restored database rewrite a log.
      if (!config.allowVolatileRedis) await checkDurability(redis);
      running = runLedger(loop, stopping.signal);
    },
    async drain() {
      stopping.abort();
      await running;
    },
    async close() {
      redis.disconnect();
      notices.disconnect();
      await pool.end();
    },
  };
}

/** @throws SigningKeyProblem when a key is missing: found now, not when the first log has grown */
function stepsOf(
  config: Config,
  pool: Pool,
  memory: CheckpointMemory,
  events: LedgerEvents,
): LedgerSteps {
  const did = didWeb(config.publicUrl);
  const agent = signingAgentOf(config);
  const signing = currentKeys(
    config.signingKeysDir,
    (keys) => ({
      checkpoints: createCheckpointSigner(keys, 'checkpoints', agent),
      cose: { issuer: did, kid: keyId(did, activeKey(keys, 'checkpoints')) },
      anchor: createCheckpointSigner(keys, 'anchor', agent),
      known: knownKeys(keys, did),
    }),
    (error) => events.signingKeysUnreadable(error),
  );
  const origins = logOrigins(config.publicUrl);
  const window = new ClaimWindow(() => performance.now());
  const attestors = { ...attestorsOf(config), store: createAttestationStore(pool), events };
  return {
    async integrate() {
      const result = await integrateBatch(pool, config.ledgerBatchMax, window.next());
      window.found(result.newest);
      return result;
    },
    sumUp: () => sumUpAnew(pool, ANEW_ENTRIES),
    publish: () => {
      // The name of a key goes with the key: a rotation lies between two looks.
      const { checkpoints: signer, cose } = signing();
      return publishCheckpoints(pool, {
        memory,
        signer,
        cose,
        originOf: origins.organisation,
        limit: LOGS_PER_PUBLICATION,
        intervalMs: CHECKPOINT_MS,
      });
    },
    publishAudit: () =>
      publishAuditHeads(pool, {
        memory,
        signer: signing().checkpoints,
        originOf: origins.audit,
        limit: LOGS_PER_PUBLICATION,
      }),
    backlog: () => readBacklog(pool),
    anchor: () =>
      extendAnchor(pool, {
        keys: signing().known,
        epochMs: EPOCH_MS,
        retireAfterMs: RETIRE_AFTER_MS,
        randomBytes,
      }),
    publishAnchor: () =>
      publishCheckpoints(pool, {
        memory,
        signer: signing().anchor,
        originOf: () => origins.anchor,
        only: ANCHOR_LOG,
        limit: 1,
        intervalMs: 0,
      }),
    attest:
      attestors.authorities.length + attestors.witnesses.length === 0
        ? undefined
        : () => attest(attestors),
  };
}

/** Whom TSA_URL and WITNESSES name. A witness that cannot be read stops the start. */
function attestorsOf({
  tsaUrl,
  witnesses,
}: Pick<Config, 'tsaUrl' | 'witnesses'>): Pick<Attestors, 'authorities' | 'witnesses'> {
  return {
    authorities: tsaUrl === undefined ? [] : [createTimestampAuthority(tsaUrl)],
    witnesses: witnesses.map((setting) => createWitness(setting, verifyCosignature)),
  };
}
