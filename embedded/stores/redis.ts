import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { claimDirectory, releaseDirectory, stopOrphan } from './directory-owner.ts';
import { ensureRedisBinary } from './redis-binary.ts';
import { type RunningServer, startServer, withPort } from './server-process.ts';

export interface RedisServerOptions {
  /** The directory of its files; a temporary one, removed at the stop, when absent. */
  dataDir?: string;
  /** A free one when absent. */
  port?: number;
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
const PORT_TAKEN = /Address already in use|Failed listening|Could not create server TCP/i;

/** Starts a Redis or Valkey on the loopback address; it never evicts, whether durable or not. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const binary = await ensureRedisBinary(options.onLog);
  const { dataDir, durable = dataDir !== undefined } = options;
  const dir =
    dataDir === undefined ? await mkdtemp(join(tmpdir(), 'docket-redis-')) : resolve(dataDir);
  if (dataDir !== undefined) {
    await claimDirectory(dir);
    await stopOrphan(await pidOf(dir), dir, 'SIGTERM', STOP_MS);
  }
  const { server, port } = await withPort(options.port, PORT_TAKEN, async (free) => ({
    server: await launch(binary, dir, free, durable, options),
    port: free,
  }));
  const cleanUp = (): Promise<void> =>
    dataDir === undefined ? rm(dir, { recursive: true, force: true }) : releaseDirectory(dir);
  const stop = async (): Promise<void> => {
    await server.stop();
    await cleanUp();
  };
  const { pid, exited, kill } = server;
  return { pid, url: `redis://127.0.0.1:${port}`, exited, kill, stop };
}

function launch(
  binary: string,
  dir: string,
  port: number,
  durable: boolean,
  { settings = [], onLog, onSpawn }: RedisServerOptions,
): Promise<RunningServer> {
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    'daemonize no',
    'pidfile redis.pid',
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
  return startServer({
    name: 'Redis',
    command: binary,
    args: ['--dir', dir, ...args],
    cwd: dir,
    ready: /Ready to accept connections/,
    readyMs: READY_MS,
    stopSignal: 'SIGTERM',
    stopMs: STOP_MS,
    ...(onLog === undefined ? {} : { onLog }),
    ...(onSpawn === undefined ? {} : { onSpawn }),
  });
}

async function pidOf(dir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dir, 'redis.pid'), 'utf8').catch(() => ''), 10);
}
