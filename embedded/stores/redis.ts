import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { claimDirectory, releaseDirectory, stopOrphan } from './directory-owner.ts';
import { ensureRedisBinary } from './redis-binary.ts';
import { removeName, writePrivateFile } from './private-file.ts';
import {
  giveTo,
  removeGiven,
  runAs,
  type SystemUser,
  unprivilegedUser,
} from './unprivileged-user.ts';
import { type RunningServer, startServer, withPort } from './server-process.ts';

export interface RedisServerOptions {
  /** The directory of its files; a temporary one, removed at the stop, when absent. */
  dataDir?: string;
  /** A free one when absent. */
  port?: number;
  /** What every connection must say; none is asked for when absent. */
  password?: string;
  /** Append-only file on. Default: true when a directory is given. */
  durable?: boolean;
  /** Further lines of its configuration, as `['cluster-enabled yes']`. */
  settings?: readonly string[];
  onLog?: (line: string) => void;
  /** Told the server's process id before it is ready. */
  onSpawn?: (pid: number) => void;
}

export interface RedisServer extends RunningServer {
  readonly url: string;
}

/** Loading an append-only file of the largest lanes takes seconds. */
const READY_MS = 60_000;
const STOP_MS = 15_000;
const PID_FILE = 'redis.pid';
const PORT_TAKEN = /Address already in use|Failed listening|Could not create server TCP/i;

/**
 * Starts a Redis or Valkey on the loopback address; it never evicts, whether durable or not. As root, the server runs as
 * an unprivileged user who is given the directory, which no other user can look into.
 */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const binary = await ensureRedisBinary(options.onLog);
  const { dataDir, durable = dataDir !== undefined } = options;
  const dir =
    dataDir === undefined ? await mkdtemp(join(tmpdir(), 'docket-redis-')) : resolve(dataDir);
  if (dataDir !== undefined) {
    await claimDirectory(dir);
    await stopOrphan(PID_FILE, dir, 'SIGTERM', STOP_MS);
    await removeName(join(dir, PID_FILE));
  }
  const user = await unprivilegedUser();
  if (user === undefined) await chmod(dir, 0o700);
  else await giveTo(user, dir);
  const { server, port } = await withPort(options.port, PORT_TAKEN, async (free) => ({
    server: await launch({ binary, dir, user }, free, durable, options),
    port: free,
  }));
  const cleanUp = (): Promise<void> =>
    dataDir === undefined ? removeGiven(dir) : releaseDirectory(dir);
  const stop = async (): Promise<void> => {
    await server.stop();
    await cleanUp();
  };
  const { pid, exited, kill } = server;
  const credentials = options.password === undefined ? '' : `:${options.password}@`;
  return { pid, url: `redis://${credentials}127.0.0.1:${port}`, exited, kill, stop };
}

interface Place {
  binary: string;
  dir: string;
  user: SystemUser | undefined;
}

async function launch(
  { binary, dir, user }: Place,
  port: number,
  durable: boolean,
  { settings = [], password, onLog, onSpawn }: RedisServerOptions,
): Promise<RunningServer> {
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    'daemonize no',
    `pidfile ${PID_FILE}`,
    'maxmemory-policy noeviction',
    `appendonly ${durable ? 'yes' : 'no'}`,
    // At most the last second is lost when the machine loses power; PostgreSQL holds the truth.
    'appendfsync everysec',
    'save ""',
    ...settings,
  ];
  const args = lines.flatMap((line) => {
    const [name = '', ...values] = line.split(' ');
    return [`--${name}`, ...values.map((value) => value.replaceAll('"', ''))];
  });
  // In a file, because every user of the machine can read the arguments of a process.
  const config = join(dir, 'redis.conf');
  await writePrivateFile(config, password === undefined ? '' : `requirepass ${password}\n`, user);
  // By names within its directory, in which it is started: so it passes no other, and needs no right to.
  const inside = ['--include', basename(config), '--dir', '.'];
  const invocation = await runAs(user, binary, [...inside, ...args], []);
  return startServer({
    ...invocation,
    name: 'Redis',
    cwd: dir,
    ready: /Ready to accept connections/,
    readyMs: READY_MS,
    stopSignal: 'SIGTERM',
    stopMs: STOP_MS,
    ...(onLog === undefined ? {} : { onLog }),
    ...(onSpawn === undefined ? {} : { onSpawn }),
  });
}
