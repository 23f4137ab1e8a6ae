import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { claimPort } from '#embedded/ports.ts';
import type { RunningServer } from '#embedded/stores/server-process.ts';
import { OWN_DIRECTORY_MODE, removeGiven } from '#embedded/stores/unprivileged-user.ts';
import { findPgBouncer, startPgBouncer } from '#lab/pooler/pgbouncer.ts';
import {
  type Ended,
  fileOf,
  run,
  type Running,
  start,
  type Variables,
} from '#lab/pooler/product.ts';
import { RedisSentinel } from '#lab/storms/redis-sentinel.ts';
import { type Build, makeAccount, migrate, unpack } from '#lab/upgrade/build.ts';
import { Postgres } from './debian-postgres.ts';
import {
  documentedBackup,
  documentedLogins,
  documentedOwner,
  documentedRedisUser,
  documentedRestore,
  makeDocumentedKeys,
} from './documented.ts';

const PASSWORD = 'a-word-of-the-lab';
const SESSION_SECRET = 'a secret of the lab that is long enough';
/** One api process on each, as on two machines; the first has everything else. */
const HOSTS = ['127.0.0.1', '127.0.0.2'] as const;

/** In the order in which the page has them upgraded, two of each that a request waits for, each role a process of its own. */
const PLACES = [
  ...(['receipts', 'receipts', 'inference', 'inference', 'api', 'api'] as const),
  ...(['ledger', 'recalculation', 'exports', 'purge', 'housekeeping'] as const),
];

/** The place of one process, in which builds take turns. */
export interface Place {
  role: (typeof PLACES)[number];
  host: string;
  metricsPort?: number;
  running?: Running;
}

/** What an operator provides by docs/operations.md, and the processes. */
export class Walk {
  readonly directory: string;
  readonly versions: readonly string[];
  readonly places: Place[];
  /** The same on each host; known from the start of the first process on. */
  apiPort: number | undefined;
  readonly sentinel: RedisSentinel;
  readonly #env: Variables;
  readonly #postgres: Postgres;
  readonly #servers: readonly Pick<RunningServer, 'stop'>[];
  #pooled = '';
  #bouncer: RunningServer | undefined;

  /** @param programs the folder of PostgreSQL's */
  static async start(programs: string, proxy: string): Promise<Walk> {
    return new Walk(await provide(programs, proxy));
  }

  private constructor(made: Awaited<ReturnType<typeof provide>>) {
    this.directory = made.directory;
    this.versions = made.versions;
    this.places = made.places;
    this.sentinel = made.sentinel;
    this.#env = made.env;
    this.#postgres = made.postgres;
    this.#servers = made.servers;
  }

  /** PostgreSQL itself, of the schema's owner. */
  get databaseUrl(): string {
    return this.#direct('docket_owner');
  }

  get redisUrl(): string {
    return this.#env['REDIS_URL']!;
  }

  unpack(commit: string): Promise<Build> {
    return unpack(commit, join(this.directory, commit));
  }

  migrate(build: Build): void {
    migrate(build, { ...this.#env, DATABASE_URL: this.databaseUrl });
  }

  /** Gives each process its login, puts PgBouncer before PostgreSQL, and starts everything; returns a key to call with. */
  async startAll(build: Build): Promise<string> {
    this.migrate(build);
    const logins = documentedLogins();
    const owner = new Client({ connectionString: this.databaseUrl });
    await owner.connect();
    for (const login of logins)
      await owner.query(`alter role ${login} login password '${PASSWORD}'`);
    await owner.end();
    const { binary } = (await findPgBouncer())!;
    const bouncer = await startPgBouncer({
      binary,
      directory: join(this.directory, 'pgbouncer'),
      server: new URL(this.#postgres.url),
      logins: new Map(logins.map((login) => [login, PASSWORD])),
    });
    this.#bouncer = bouncer;
    this.#pooled = `${HOSTS[0]}:${bouncer.port}`;
    const apiKey = makeAccount(build, { ...this.#env, DATABASE_URL: this.databaseUrl });
    for (const place of this.places) place.running = await this.#startOne(place, build);
    return apiKey;
  }

  /** Has a process of a build take the place of one. @throws Error when the old one does not end by itself, as it should */
  async replace(place: Place, build: Build): Promise<void> {
    const { code, lines } = await place.running!.stop();
    if (code !== 0) throw new Error(`${place.role} ended with ${code}:\n${lines.join('\n')}`);
    place.running = await this.#startOne(place, build);
  }

  /** Runs a command as an operator, with the settings of an api process. */
  docket(...args: string[]): Promise<Ended> {
    return run('cli/start.js', this.#envOf('operator'), args);
  }

  /** Takes a base backup, as the page says. */
  async backUp(): Promise<void> {
    const env = { BACKUP: join(this.#postgres.directory, 'backup'), PGURL: this.#postgres.url };
    await this.#postgres.shell(documentedBackup(), env);
  }

  /** Restores a copy of the backup beside the service at work, and asks fsck. */
  checkBackup(): ReturnType<typeof run> {
    const { directory, programs } = this.#postgres;
    const places = ['--programs', programs, '--scratch', directory];
    const direct = { ...this.#env, DATABASE_URL: this.databaseUrl };
    return run('cli/start.js', direct, ['backup', join(directory, 'backup'), '--check', ...places]);
  }

  /**
   * Brings the backup back in place of the database, as the page says, and asks fsck, whose exit code it returns.
   * @param lost what there is of WAL beside the base backup: nothing, or the archive and the disk of the old server
   */
  async restore(wal: 'none' | 'all'): Promise<{ code: number | null; lines: readonly string[] }> {
    await this.#stopAll();
    await this.#postgres.stop();
    const { directory } = this.#postgres;
    const [OLD, PGDATA] = [join(directory, 'old'), join(directory, 'data')];
    const env = { BACKUP: join(directory, 'backup'), OLD, PGDATA };
    const aside = `if [ -d "$OLD" ]; then rm -r "$PGDATA"; else mv "$PGDATA" "$OLD"; fi\n`;
    // Without the others it is an older database: a backup alone.
    const way = wal === 'all' ? documentedRestore() : 'cp -a "$BACKUP/base" "$PGDATA"';
    await this.#postgres.shell(aside + way, env);
    await this.#postgres.begin();
    const direct = { ...this.#env, DATABASE_URL: this.databaseUrl };
    return run('cli/start.js', direct, ['ledger', 'fsck']);
  }

  async remove(): Promise<void> {
    await this.#stopAll();
    await this.#bouncer?.stop();
    await this.sentinel.stop();
    for (const server of this.#servers) await server.stop();
    await removeGiven(this.directory);
  }

  async #stopAll(): Promise<void> {
    await Promise.all(
      this.places.map(async (place) => {
        await place.running?.stop();
        delete place.running;
      }),
    );
  }

  async #startOne(place: Place, { root }: Build): Promise<Running> {
    const { role, host } = place;
    // Where Prometheus asks, and nginx sends: the same for each build.
    this.apiPort ??= await claimPort(HOSTS[0], 0);
    const metricsPort = (place.metricsPort ??= await claimPort(host, 0));
    const ports = { PORT: String(this.apiPort), METRICS_PORT: String(metricsPort) };
    const own = { HOST: host, METRICS_HOST: host, ...ports };
    return start(fileOf(role), { ...this.#envOf(role), ...own }, { root });
  }

  #envOf(role: string): Variables {
    const login = role === 'inference' ? '' : `docket_${role}:${PASSWORD}@`;
    return {
      ...this.#env,
      DATABASE_POOLER: 'transaction',
      DATABASE_URL: `postgres://${login}${this.#pooled}/docket`,
      DATABASE_DIRECT_URL: this.#direct(role === 'inference' ? '' : `docket_${role}`),
    };
  }

  #direct(login: string): string {
    const { host } = new URL(this.#postgres.url);
    return `postgres://${login === '' ? '' : `${login}:${PASSWORD}@`}${host}/docket`;
  }
}

async function provide(programs: string, proxy: string) {
  const directory = await mkdtemp(join(tmpdir(), 'docket-walk-'));
  await chmod(directory, OWN_DIRECTORY_MODE);
  const postgres = await Postgres.start(programs, join(directory, 'postgres'), PASSWORD);
  const superuser = new Client({ connectionString: `${postgres.url}/postgres` });
  await superuser.connect();
  for (const query of documentedOwner(PASSWORD)) await superuser.query(query);
  await superuser.end();
  const sentinel = await RedisSentinel.start();
  await sentinel.everywhere(documentedRedisUser(PASSWORD));
  const sandbox = await start('embedded/sandbox/main.ts', {
    HOST: HOSTS[0],
    PORT: '0',
    METRICS_PORT: '0',
    SANDBOX_TOKENS_PER_SECOND: '0',
  });
  const keys = {
    SIGNING_KEYS_DIR: join(directory, 'signing-keys'),
    LANE_KEYS_DIR: join(directory, 'lane-keys'),
  };
  await makeDocumentedKeys(keys);
  const env: Variables = {
    ...keys,
    PUBLIC_URL: 'https://gateway.example',
    SUPPORT_EMAIL: 'support@gateway.example',
    SESSION_SECRET,
    WEBHOOKS_SECRET: SESSION_SECRET,
    TRUSTED_PROXIES: proxy,
    REDIS_URL: sentinel.urlOf('docket', PASSWORD),
    DOCKET_DATA_DIR: directory,
    EXPORT_STORE: join(directory, 'exports'),
    SANDBOX_URL: `http://${HOSTS[0]}:${sandbox.port}/v1`,
    // All callers are behind one address.
    ADDRESS_REQUESTS_PER_SECOND: '100000',
  };
  const second = PLACES.lastIndexOf('api');
  const places = PLACES.map((role, at): Place => ({ role, host: HOSTS[at === second ? 1 : 0] }));
  const servers = [sandbox, postgres] as Pick<RunningServer, 'stop'>[];
  const versions = [await postgres.version(), (await findPgBouncer())!.version];
  return { directory, postgres, sentinel, env, places, servers, versions };
}
