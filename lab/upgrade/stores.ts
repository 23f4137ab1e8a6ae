import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { startRedisServer } from '#embedded/stores/redis.ts';
import type { RunningServer } from '#embedded/stores/server-process.ts';
import { start, type Variables } from '#lab/pooler/product.ts';
import { ensureLaneKeys } from '#shared/lanes/files/lane-keys.ts';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';

/** Both stores, the sandbox and keys, with the settings by which processes find them, in a folder for all that is to be removed. */
export async function makeStores() {
  const directory = await mkdtemp(join(tmpdir(), 'docket-upgrade-'));
  const postgres = await startEmbeddedPostgres({ dataDir: join(directory, 'postgres') });
  const redis = await startRedisServer();
  const ports = { HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0' };
  const sandbox = await start('embedded/sandbox/main.ts', {
    ...ports,
    SANDBOX_TOKENS_PER_SECOND: '0',
  });
  const keys = { signing: join(directory, 'signing-keys'), lane: join(directory, 'lane-keys') };
  ensureSigningKeys(keys.signing);
  ensureLaneKeys(keys.lane);
  const env: Variables = {
    ...ports,
    REUSE_PORT: '1',
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    ALLOW_VOLATILE_REDIS: '1',
    SUPPORT_EMAIL: 'support@docket.example',
    PUBLIC_URL: 'https://docket.example',
    DOCKET_DATA_DIR: directory,
    SIGNING_KEYS_DIR: keys.signing,
    LANE_KEYS_DIR: keys.lane,
    EXPORT_STORE: join(directory, 'exports'),
    SANDBOX_URL: `http://127.0.0.1:${sandbox.port}/v1`,
    ADDRESS_REQUESTS_PER_SECOND: '100000',
  };
  const servers = [sandbox, redis, postgres] as Pick<RunningServer, 'stop'>[];
  return { directory, env, servers };
}
