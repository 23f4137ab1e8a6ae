import { readBacklog } from '../../shared/adapters/postgres/ledger-backlog.ts';
import { publishCheckpoints } from '../../shared/adapters/postgres/ledger-checkpoints.ts';
import { integrateBatch } from '../../shared/adapters/postgres/ledger-integration.ts';
import { createPool } from '../../shared/adapters/postgres/pool.ts';
import { createCheckpointMemory } from '../../shared/adapters/redis/checkpoint-memory.ts';
import { connectRedis } from '../../shared/adapters/redis/connect.ts';
import { checkDurability } from '../../shared/adapters/redis/durability.ts';
import { createCheckpointSigners } from '../../shared/adapters/signing/checkpoint-signer.ts';
import type { ProcessContext, ProcessParts } from '../../shared/process/run-process.ts';
import { ledgerEvents } from './events.ts';
import { runLedger } from './loop.ts';

/** Logs looked at in one go; the rest follow a quarter of a second later. */
const LOGS_PER_PUBLICATION = 500;
/** A log's checkpoints are at least this far apart. */
const CHECKPOINT_INTERVAL_MS = 1_000;
/** One for integration and signing, which take turns, and one for probes. */
const CONNECTIONS = 2;

/** Composes a ledger worker: PostgreSQL for the logs, Redis for what was published, the key for checkpoints. */
export async function ledgerProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const events = ledgerEvents(log, registry);
  const pool = createPool({
    url: config.secrets.databaseUrl,
    role: 'docket_ledger',
    max: CONNECTIONS,
    applicationName: 'docket ledger',
    statementTimeoutMs: config.statementTimeoutMs,
    onError: (error) => events.failed('integrate', error),
  });
  // Interactive: a Redis that is away must fail the signing at once, not hold up integration.
  const redis = connectRedis({ url: config.secrets.redisUrl, name: processId, use: 'interactive' });
  const signers = createCheckpointSigners(config.signingKeysDir);
  // A missing key is found now, not when the first log has grown.
  signers();
  const host = new URL(config.publicUrl).host;
  const publisher = {
    memory: createCheckpointMemory(redis),
    originOf: (orgId: string) => `${host}/log/${orgId}`,
    limit: LOGS_PER_PUBLICATION,
    intervalMs: CHECKPOINT_INTERVAL_MS,
  };
  const loop = {
    events,
    batchMax: config.ledgerBatchMax,
    now: () => performance.now(),
    steps: {
      integrate: () => integrateBatch(pool, config.ledgerBatchMax),
      publish: () => publishCheckpoints(pool, { ...publisher, signer: signers() }),
      backlog: () => readBacklog(pool),
    },
  };
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  return {
    readiness: {
      redis: () => redis.ping(),
      postgres: () => pool.query('select from ledger_head limit 0'),
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
      await pool.end();
    },
  };
}
