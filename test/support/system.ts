import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DemoAccounts, ensureDemoAccounts } from '#embedded/demo-accounts.ts';
import type { RedisServer, RedisServerOptions } from '#embedded/stores/redis.ts';
import { ensureLaneKeys } from '#shared/lanes/files/lane-keys.ts';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import type { Environment } from '#shared/config/config.ts';
import type { Role } from '#shared/config/settings.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type StartedProcess, startProcess } from './processes.ts';
import { startTestRedis } from './redis.ts';
import { atFileEnd } from './file-end.ts';

/** The processes that one answer with its receipt goes through. */
export const MAIN_ROLES: readonly Role[] = ['receipts', 'ledger', 'inference', 'api'];
const JOINED = 'test/support/joined-workers-process.ts';

export interface SystemOptions {
  /** Number of processes of each role on the main path, one of each that is not named: for tests that strike or watch them. */
  replicas?: Partial<Record<Role, number>>;
  env?: Environment;
  redis?: RedisServerOptions;
  /** In place of the sandbox, for every endpoint of the catalogue. */
  upstreamUrl?: string;
  /** In place of a server of the file's own, e.g. the nodes of a cluster. */
  redisUrl?: string;
  /** In place of the file's own database, e.g. of a PostgreSQL that the test stops. It has the newest schema. */
  database?: Pick<TestDatabase, 'url' | 'pool'>;
  /** Puts files of before into the directory of its data: keys that sealed or signed what the stores hold. */
  furnish?: (directory: string) => void;
}

/** The running product, as a caller and an operator see it: a file's own, or the one that files share. */
export interface Product {
  /** Base URL of each api process, ending in /v1. */
  baseUrls: string[];
  baseUrl: string;
  /** Without /v1: of the first api process. */
  root: string;
  demo: DemoAccounts;
  /** The enterprise key. */
  key: string;
  orgId: string;
  /** Those that are looked at where the product is shared; all when absent. */
  organisations?: string[];
  database: Pick<TestDatabase, 'url' | 'pool'>;
  redis: Pick<RedisServer, 'url'>;
  sandboxUrl: string;
  signingKeysDir: string;
  /** Starts one more process, as an orchestrator would after a crash. */
  start(role: Role, env?: Environment): Promise<StartedProcess>;
}

/** A product of the file's own, whose processes and stores it may stop, kill and configure. */
export interface System extends Product {
  redis: RedisServer;
  sandbox: StartedProcess;
  /** The environment of its processes. */
  env: Environment;
  /** Those of a role; of workers that share a process, as they do without `replicas`, there are none. */
  processes(role: Role): StartedProcess[];
  /** Stops the file's Redis and starts another on the same port and files. */
  restartRedis(port: number): Promise<void>;
}

/** The whole product as separate processes on real stores, with the sandbox upstream over TCP. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const [database, redis, directory] = await Promise.all([
    options.database ?? createTestDatabase(),
    startTestRedis(options.redis),
    mkdtemp(join(tmpdir(), 'docket-system-')),
  ]);
  atFileEnd(() => rm(directory, { recursive: true, force: true }));
  const signingKeysDir = join(directory, 'signing-keys');
  options.furnish?.(directory);
  ensureSigningKeys(signingKeysDir);
  ensureLaneKeys(join(directory, 'lane-keys'));
  const [sandbox, demo] = await Promise.all([
    startProcess({
      role: 'api',
      entry: 'embedded/sandbox/main.ts',
      env: { SANDBOX_TOKENS_PER_SECOND: '0' },
    }),
    ensureDemoAccounts(database.pool, directory),
  ]);
  const sandboxUrl = `http://127.0.0.1:${sandbox.port}`;
  const env: Environment = {
    DATABASE_URL: database.url,
    REDIS_URL: options.redisUrl ?? redis.url,
    ALLOW_VOLATILE_REDIS: '1',
    PUBLIC_URL: 'https://docket.example',
    DOCKET_DATA_DIR: directory,
    SIGNING_KEYS_DIR: signingKeysDir,
    EXPORT_STORE: join(directory, 'exports'),
    // As `npm start` names it: a base URL ends in /v1.
    SANDBOX_URL: `${options.upstreamUrl ?? sandboxUrl}/v1`,
    SUPPORT_EMAIL: 'support@docket.example',
    // All tests of a file come from one address.
    ADDRESS_REQUESTS_PER_SECOND: '100000',
    ...options.env,
  };
  let current = redis;
  const started = new Map<Role, StartedProcess[]>();
  const start = async (role: Role, more: Environment = {}): Promise<StartedProcess> => {
    const one = await startProcess({ role, env: { ...env, ...more } });
    started.set(role, [...(started.get(role) ?? []), one]);
    return one;
  };
  const { replicas } = options;
  await (replicas === undefined
    ? Promise.all([start('api'), startProcess({ role: 'inference', entry: JOINED, env })])
    : Promise.all(
        MAIN_ROLES.flatMap((role) =>
          Array.from({ length: replicas[role] ?? 1 }, () => start(role)),
        ),
      ));
  const baseUrls = started.get('api')!.map(({ port }) => `http://127.0.0.1:${port}/v1`);
  return {
    baseUrls,
    baseUrl: baseUrls[0]!,
    root: baseUrls[0]!.replace(/\/v1$/, ''),
    demo,
    key: demo.keys.enterprise,
    orgId: demo.organisations.enterprise,
    database,
    redis,
    sandbox,
    sandboxUrl,
    signingKeysDir,
    env,
    processes: (role) => started.get(role) ?? [],
    restartRedis: async (port) => {
      if (options.redis?.dataDir === undefined) throw new Error('without its files it forgets');
      await current.stop();
      current = await startTestRedis({ ...options.redis, port });
    },
    start,
  };
}
