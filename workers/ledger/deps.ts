import { performance } from 'node:perf_hooks';
import { createLogger, type Logger } from '../../shared/adapters/logging/logger.ts';
import { type HealthServer, serveHealth } from '../../shared/adapters/metrics/health-server.ts';
import { createRegistry } from '../../shared/adapters/metrics/registry.ts';
import { readBacklog } from '../../shared/adapters/postgres/ledger-backlog.ts';
import { publishCheckpoints } from '../../shared/adapters/postgres/ledger-checkpoints.ts';
import { integrateBatch } from '../../shared/adapters/postgres/ledger-integration.ts';
import { createPool } from '../../shared/adapters/postgres/pool.ts';
import { createCheckpointMemory } from '../../shared/adapters/redis/checkpoint-memory.ts';
import { connectRedis } from '../../shared/adapters/redis/connect.ts';
import { createCheckpointSigners } from '../../shared/adapters/signing/checkpoint-signer.ts';
import type { Config } from '../../shared/config/config.ts';
import { ledgerEvents } from './events.ts';
import type { LedgerLoopOptions } from './loop.ts';

/** Logs looked at in one go; the rest follow a quarter of a second later. */
const LOGS_PER_PUBLICATION = 500;
/** A log's checkpoints are at least this far apart. */
const CHECKPOINT_INTERVAL_MS = 1_000;
/** One for integration and signing, which take turns, and one for probes. */
const CONNECTIONS = 2;

export interface LedgerProcess {
  loop: LedgerLoopOptions;
  health: HealthServer;
  log: Logger;
  close: () => Promise<void>;
}

/** Puts the ledger worker together. */
export async function createLedgerProcess(config: Config): Promise<LedgerProcess> {
  const log = createLogger({ role: 'ledger', level: config.logLevel });
  const registry = createRegistry('ledger');
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
  const redis = connectRedis({
    url: config.secrets.redisUrl,
    name: 'ledger',
    use: 'interactive',
  });
  const signers = createCheckpointSigners(config.signingKeysDir);
  signers();
  const host = new URL(config.publicUrl).host;
  const options = {
    memory: createCheckpointMemory(redis),
    originOf: (orgId: string) => `${host}/log/${orgId}`,
    limit: LOGS_PER_PUBLICATION,
    intervalMs: CHECKPOINT_INTERVAL_MS,
  };
  const health = await serveHealth({
    port: config.metricsPort,
    host: config.metricsHost,
    readiness: {
      database: () => pool.query('select from ledger_head limit 0'),
      redis: () => redis.ping(),
    },
    registry,
  });
  return {
    log,
    health,
    loop: {
      events,
      batchMax: config.ledgerBatchMax,
      now: () => performance.now(),
      steps: {
        integrate: () => integrateBatch(pool, config.ledgerBatchMax),
        publish: () => publishCheckpoints(pool, { ...options, signer: signers() }),
        backlog: () => readBacklog(pool),
      },
    },
    close: async () => {
      await health.close();
      redis.disconnect();
      await pool.end();
    },
  };
}
