import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { type DemoAccounts, ensureDemoAccounts } from '#embedded/demo-accounts.ts';
import type { RunningServer } from '#embedded/stores/server-process.ts';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { startRedisServer } from '#embedded/stores/redis.ts';
import { removeGiven } from '#embedded/stores/unprivileged-user.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { type Role, ROLES } from '#shared/config/settings.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { ensureLaneKeys } from '#shared/lanes/files/lane-keys.ts';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { startReplica } from '#test/support/replica.ts';
import { type PgBouncer, startPgBouncer } from './pgbouncer.ts';
import { type Ended, fileOf, run, type Running, start, type Variables } from './product.ts';

/** Of each login: fewer than a process asks for, so that processes and requests share them. */
const SERVERS = 2;
const PASSWORD = 'a-word-of-the-lab';

/** PostgreSQL with a replica, PgBouncer before it, Redis, the sandbox, and a login for each process. */
export class Ground {
  /** Of processes, without the addresses of PostgreSQL. */
  readonly #common: Variables;
  readonly #pooler: Omit<Parameters<typeof startPgBouncer>[0], 'port'>;
  readonly #processes = new Map<Role, Running>();
  readonly #directory: string;
  readonly #servers: readonly Pick<RunningServer, 'stop'>[];
  readonly owner: Pool;
  readonly demo: DemoAccounts;
  readonly replica: RunningServer & { url: string };
  #bouncer: PgBouncer;

  private constructor(made: Awaited<ReturnType<typeof make>>) {
    this.#common = made.common;
    this.#pooler = made.pooler;
    this.#directory = made.directory;
    this.#servers = made.servers;
    this.#bouncer = made.bouncer;
    this.owner = made.owner;
    this.demo = made.demo;
    this.replica = made.replica;
  }

  static async start(binary: string): Promise<Ground> {
    return new Ground(await make(binary));
  }

  /** Ports: of PgBouncer, of the server itself, of its replica. */
  urlOf(login: string, way: 'pooled' | 'direct' | 'replica' = 'pooled'): string {
    const ports = {
      pooled: this.#bouncer.port,
      direct: this.#pooler.server.port,
      replica: new URL(this.replica.url).port,
    };
    return `postgres://docket_${login}:${PASSWORD}@127.0.0.1:${ports[way]}/docket`;
  }

  envOf(login: string, more: Variables = { DATABASE_POOLER: 'transaction' }): Variables {
    return { ...this.#common, DATABASE_URL: this.urlOf(login), ...more };
  }

  /** Runs a command as an operator. */
  docket(...args: string[]): Promise<Ended> {
    return run('cli/start.js', this.envOf('operator'), args);
  }

  /** Starts the process of a role, in place of the one that runs. */
  async startRole(role: Role, more: Variables = {}): Promise<void> {
    await this.#processes.get(role)?.stop();
    const env = { ...this.envOf(role), ...more };
    this.#processes.set(role, await start(fileOf(role), env));
  }

  get api(): Running {
    return this.#processes.get('api')!;
  }

  async killPgBouncer(): Promise<void> {
    this.#bouncer.kill();
    await this.#bouncer.exited;
  }

  async startPgBouncer(): Promise<void> {
    this.#bouncer = await startPgBouncer({ ...this.#pooler, port: this.#bouncer.port });
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((one) => one.stop()));
    await this.owner.end();
    for (const server of [this.#bouncer, ...this.#servers]) await server.stop();
    await removeGiven(this.#directory);
  }
}

async function make(binary: string) {
  const directory = await mkdtemp(join(tmpdir(), 'docket-pooler-'));
  const home = join(directory, 'primary');
  const postgres = await startEmbeddedPostgres({ dataDir: home });
  await migrateToLatest(postgres.url);
  const owner = createPool({ url: postgres.url, max: 2, applicationName: 'lab' });
  const logins = [...ROLES.filter((role) => role !== 'inference'), 'operator'];
  for (const login of logins) {
    await owner.query(`alter role docket_${login} login password '${PASSWORD}'`);
  }
  const redis = await startRedisServer();
  const replica = await startReplica(postgres.url, home);
  const pooler = {
    binary,
    directory: join(directory, 'pgbouncer'),
    servers: SERVERS,
    server: new URL(postgres.url),
    logins: new Map(logins.map((login) => [`docket_${login}`, PASSWORD])),
  };
  const bouncer = await startPgBouncer(pooler);
  const ports = { HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0' };
  const sandbox = await start('embedded/sandbox/main.ts', {
    ...ports,
    SANDBOX_TOKENS_PER_SECOND: '0',
  });
  const keys = { signing: join(directory, 'signing-keys'), lane: join(directory, 'lane-keys') };
  ensureSigningKeys(keys.signing);
  ensureLaneKeys(keys.lane);
  const common: Variables = {
    ...ports,
    LAME_DUCK_MS: '0',
    SUPPORT_EMAIL: 'support@docket.example',
    PUBLIC_URL: 'https://docket.example',
    REDIS_URL: redis.url,
    ALLOW_VOLATILE_REDIS: '1',
    DOCKET_DATA_DIR: directory,
    SIGNING_KEYS_DIR: keys.signing,
    LANE_KEYS_DIR: keys.lane,
    EXPORT_STORE: join(directory, 'exports'),
    SANDBOX_URL: `http://127.0.0.1:${sandbox.port}/v1`,
    ADDRESS_REQUESTS_PER_SECOND: '100000',
  };
  const demo = await ensureDemoAccounts(owner, directory);
  const servers = [sandbox, replica, redis, postgres] as Pick<RunningServer, 'stop'>[];
  return { directory, owner, demo, replica, pooler, bouncer, common, servers };
}
