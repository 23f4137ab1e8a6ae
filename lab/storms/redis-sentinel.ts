import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Environment, readEnvironment } from '#shared/config/config.ts';
import { claimPort } from '#embedded/ports.ts';
import { type RunningServer, startServer } from '#embedded/stores/server-process.ts';
import { ensureRedisBinary } from '#embedded/stores/redis-binary.ts';
import { type RedisServer, startRedisServer } from '#embedded/stores/redis.ts';
import type { Killed } from './redis-cluster.ts';

const run = promisify(execFile);

const HOST = '127.0.0.1';
const NAME = 'docket';
/** One that takes writes, and two that follow it. */
const SERVERS = 3;
const SENTINELS = 3;
const QUORUM = 2;
/** With a character that a URL has to escape. */
const PASSWORD = 'pass/word';
/** With less, Sentinels take the server that they have just named for lost. */
const DOWN_AFTER_MS = 2_000;
const FAILOVER_MS = 10_000;
/** By then every process has left. */
const PAUSE_MS = 10_000;
const AGREED_MS = 60_000;
/** Each look starts a program for every server. */
const LOOK_MS = 100;

interface Server {
  port: number;
  dataDir: string;
  running: RedisServer;
}

/** A Redis with two replicas and a password, which three Sentinels watch. */
export class RedisSentinel {
  readonly #directory: string;
  readonly #servers: Server[];
  readonly #sentinels: { port: number; running: RunningServer }[];

  static async start(): Promise<RedisSentinel> {
    const directory = await mkdtemp(join(tmpdir(), 'docket-sentinel-'));
    const servers: Server[] = [];
    for (let index = 0; index < SERVERS; index += 1) {
      const dataDir = join(directory, `server-${index}`);
      await mkdir(dataDir);
      const port = await claimPort(HOST, 0);
      servers.push({ port, dataDir, running: await startOne(dataDir, port, servers[0]?.port) });
    }
    const sentinels = [];
    for (let index = 0; index < SENTINELS; index += 1) {
      sentinels.push(await startSentinel(join(directory, `sentinel-${index}`), servers[0]!.port));
    }
    const all = new RedisSentinel(directory, servers, sentinels);
    await all.agreed();
    return all;
  }

  private constructor(
    directory: string,
    servers: Server[],
    sentinels: { port: number; running: RunningServer }[],
  ) {
    this.#directory = directory;
    this.#servers = servers;
    this.#sentinels = sentinels;
  }

  /** What the product is told. */
  get env(): Environment {
    return { REDIS_URL: this.urlOf('', PASSWORD) };
  }

  /** The address by which a user of the servers finds them. */
  urlOf(user: string, password: string): string {
    const hosts = this.#sentinels.map(({ port }) => `${HOST}:${port}`).join(',');
    return `redis+sentinel://${user}:${encodeURIComponent(password)}@${hosts}/${NAME}`;
  }

  /** Has every server do a command, as one that none tells the others. */
  async everywhere(words: readonly string[]): Promise<void> {
    for (const { port } of this.#servers) {
      const said = await ask(port, words);
      if (!said.startsWith('OK')) throw new Error(`${words[0]}: ${said}`);
    }
  }

  /** Kills the server that takes writes, without warning. */
  async killMaster(): Promise<Killed> {
    const port = await this.#master();
    const server = this.#servers.find((one) => one.port === port)!;
    server.running.kill();
    await server.running.exited;
    return {
      port,
      startAgain: async () => {
        await this.untilReplaced(port);
        server.running = await startOne(server.dataDir, port, await this.#master());
        await this.agreed();
      },
    };
  }

  /**
   * Has another take the place of the server that takes writes, which keeps its connections and becomes a replica. As
   * docs/stores.md says, it takes no writes from before: Sentinel lets it for seconds after another does, and those are lost.
   */
  async demoteMaster(): Promise<{ port: number }> {
    const port = await this.#master();
    // Sentinel refuses a second one for a while after the first.
    await this.#until(async () => {
      await ask(port, ['client', 'pause', String(PAUSE_MS), 'write']);
      const said = await ask(this.#sentinels[0]!.port, ['sentinel', 'failover', NAME]);
      if (!said.startsWith('OK')) await ask(port, ['client', 'unpause']);
      return said.startsWith('OK');
    }, 'Sentinel begins');
    await this.untilReplaced(port);
    return { port };
  }

  /** Waits until Sentinel names another server than the one on this port. */
  async untilReplaced(port: number): Promise<void> {
    await this.#until(async () => (await this.#master()) !== port, 'another takes its place');
  }

  /** Freezes one of the Sentinels meanwhile, as if its machine were lost. */
  async whileOneIsFrozen<T>(work: () => Promise<T>): Promise<T> {
    const { pid } = this.#sentinels.at(-1)!.running;
    process.kill(pid, 'SIGSTOP');
    try {
      return await work();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  /** The names of the clients that have a connection to the server on this port. */
  async clientsOf(port: number): Promise<string[]> {
    const list = await ask(port, ['client', 'list']);
    return [...list.matchAll(/ name=(\S+)/g)].map(([, name]) => name!);
  }

  /** Waits until the Sentinels name one server, which the others follow. */
  async agreed(): Promise<void> {
    await this.#until(() => this.#isAgreed(), 'Sentinels and servers agree');
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sentinels.map(({ running }) => running.stop()));
    await Promise.all(this.#servers.map(({ running }) => running.stop()));
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #master(): Promise<number> {
    const said = await ask(this.#sentinels[0]!.port, ['sentinel', 'get-master-addr-by-name', NAME]);
    return Number(said.split('\n')[1]);
  }

  async #isAgreed(): Promise<boolean> {
    const named = await Promise.all(
      this.#sentinels.map(({ port }) => ask(port, ['sentinel', 'master', NAME])),
    );
    const field = (text: string, name: string): string => {
      const lines = text.split('\n');
      return lines[lines.indexOf(name) + 1] ?? '';
    };
    const knowEachOther = named.every(
      (text) =>
        field(text, 'num-other-sentinels') === String(SENTINELS - 1) &&
        field(text, 'num-slaves') === String(SERVERS - 1) &&
        field(text, 'flags') === 'master',
    );
    const ports = new Set(named.map((text) => field(text, 'port')));
    if (!knowEachOther || ports.size !== 1) return false;
    const info = await ask(Number([...ports][0]), ['info', 'replication']);
    const inStep = info.match(/^slave\d+:.*state=online/gm) ?? [];
    return /^role:master/m.test(info) && inStep.length === SERVERS - 1;
  }

  async #until(look: () => Promise<boolean>, what: string): Promise<void> {
    const end = Date.now() + AGREED_MS;
    while (!(await look().catch(() => false))) {
      if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
      await delay(LOOK_MS);
    }
  }
}

function startOne(dataDir: string, port: number, master?: number): Promise<RedisServer> {
  const settings = [
    `masterauth ${PASSWORD}`,
    // A server would wait five seconds for further replicas before it tells the first one what it has.
    'repl-diskless-sync-delay 0',
    'min-replicas-to-write 1',
    'min-replicas-max-lag 10',
    ...(master === undefined ? [] : [`replicaof ${HOST} ${master}`]),
  ];
  return startRedisServer({ dataDir, port, password: PASSWORD, settings });
}

async function startSentinel(
  directory: string,
  master: number,
): Promise<{ port: number; running: RunningServer }> {
  const port = await claimPort(HOST, 0);
  await mkdir(directory);
  const lines = [
    `port ${port}`,
    `bind ${HOST}`,
    `dir ${directory}`,
    `sentinel monitor ${NAME} ${HOST} ${master} ${QUORUM}`,
    `sentinel auth-pass ${NAME} ${PASSWORD}`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} ${FAILOVER_MS}`,
  ];
  const config = join(directory, 'sentinel.conf');
  await writeFile(config, `${lines.join('\n')}\n`);
  const running = await startServer({
    command: await ensureRedisBinary(),
    args: [config, '--sentinel'],
    name: 'Sentinel',
    cwd: directory,
    ready: /\+monitor master/,
    readyMs: AGREED_MS,
    stopSignal: 'SIGTERM',
    stopMs: AGREED_MS,
  });
  return { port, running };
}

async function ask(port: number, words: readonly string[]): Promise<string> {
  const { stdout } = await run('redis-cli', ['-p', String(port), ...words], {
    env: { PATH: readEnvironment()['PATH'], REDISCLI_AUTH: PASSWORD },
  });
  return stdout;
}
