import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Environment, readEnvironment } from '#shared/config/config.ts';
import { claimPort } from '#embedded/ports.ts';
import { signal } from './processes.ts';
import { type RedisServer, startRedisServer } from '#embedded/stores/redis.ts';

const run = promisify(execFile);

const HOST = '127.0.0.1';
const MASTERS = 3;
const NODES = 2 * MASTERS;
const USER = 'docket';
/** With a character that a URL has to escape. */
const PASSWORD = 'pass/word';
const CERTIFICATE = 'certificate.pem';
const PRIVATE_KEY = 'key.pem';
const NODE_TIMEOUT_MS = 2_000;
const AGREED_MS = 30_000;
/** What shows whether nodes agree: by one program for each, because all of these start anew at each look. */
const WHAT_THEY_SAY = ['cluster info', 'info replication', 'cluster nodes'];
const LOOK_MS = 100;

interface Node {
  port: number;
  dataDir: string;
  settings: string[];
  server: RedisServer;
}

/** A server that took writes, and was killed. */
export interface Killed {
  port: number;
  startAgain: () => Promise<void>;
}

/** A Redis Cluster of three masters and three replicas: TLS only, with a user and a password. */
export class RedisCluster {
  readonly #directory: string;
  readonly #nodes: Node[];

  static async start(): Promise<RedisCluster> {
    const directory = await mkdtemp(join(tmpdir(), 'docket-cluster-'));
    await makeCertificate(directory);
    const nodes: Node[] = [];
    for (let index = 0; index < NODES; index += 1) {
      const port = await claimPort(HOST, 0);
      const settings = settingsOf(port, await claimPort(HOST, 0));
      const dataDir = join(directory, `node-${index}`);
      await mkdir(dataDir);
      // Among its own files, because it may read no others.
      for (const file of [CERTIFICATE, PRIVATE_KEY]) {
        await copyFile(join(directory, file), join(dataDir, file));
      }
      const server = await startRedisServer({ dataDir, port, settings });
      nodes.push({ port, dataDir, settings, server });
    }
    const cluster = new RedisCluster(directory, nodes);
    const addresses = nodes.map(({ port }) => `${HOST}:${port}`);
    const create = '--cluster-replicas 1 --cluster-yes'.split(' ');
    await cluster.#ask(nodes[0]!, ['--cluster', 'create', ...addresses, ...create]);
    await cluster.#agreed();
    return cluster;
  }

  private constructor(directory: string, nodes: Node[]) {
    this.#directory = directory;
    this.#nodes = nodes;
  }

  /** What the product is told: one node, and whom to trust. */
  get env(): Environment {
    const identity = `${USER}:${encodeURIComponent(PASSWORD)}`;
    return {
      REDIS_URL: `rediss://${identity}@${HOST}:${this.#nodes[0]!.port}`,
      NODE_EXTRA_CA_CERTS: join(this.#directory, CERTIFICATE),
      SHARDS: '8',
    };
  }

  /** Kills the master that has the most to do, without warning; returns its port and what starts it again. */
  async killMaster(): Promise<Killed> {
    const masters: { node: Node; load: number }[] = [];
    for (const node of this.#nodes) {
      const info = await this.#ask(node, ['info']);
      const load = Number(/instantaneous_ops_per_sec:(\d+)/.exec(info)?.[1] ?? 0);
      if (/^role:master/m.test(info)) masters.push({ node, load });
    }
    return this.#kill(masters.toSorted((a, b) => b.load - a.load)[0]!.node);
  }

  /** Kills the master that has this key. */
  async killMasterOf(key: string): Promise<Killed> {
    for (const node of this.#nodes) {
      if (!(await this.#ask(node, ['exists', key])).startsWith('MOVED')) return this.#kill(node);
    }
    throw new Error(`no node has ${key}`);
  }

  async #kill(node: Node): Promise<Killed> {
    node.server.kill();
    await node.server.exited;
    return {
      port: node.port,
      startAgain: async () => {
        const { dataDir, port, settings } = node;
        // Its replica first, or it would go on as the master that it was, without what was written since.
        await this.#agreed(node);
        node.server = await startRedisServer({ dataDir, port, settings });
        await this.#agreed();
      },
    };
  }

  /** Freezes every node for less than the time after which a replica would take over, which needs masters that vote. */
  async whileFrozen<T>(work: () => Promise<T>): Promise<T> {
    const pids = this.#nodes.map(({ server }) => server.pid);
    signal(pids, 'SIGSTOP');
    try {
      return await work();
    } finally {
      signal(pids, 'SIGCONT');
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#nodes.map(({ server }) => server.stop()));
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Waits until every node (but one that is away) says that all slots are served, and every replica is in step. */
  async #agreed(away?: Node): Promise<void> {
    const end = Date.now() + AGREED_MS;
    const nodes = this.#nodes.filter((node) => node !== away);
    for (;;) {
      const states = await Promise.all(
        nodes.map((node) => this.#ask(node, [], WHAT_THEY_SAY.join('\n'))),
      );
      const served = states.every((said) => /cluster_state:ok/.test(said));
      const masters = states.filter((said) => /^role:master/m.test(said)).length;
      const inStep = states.every((said) => !/master_link_status:down/.test(said));
      // One that is back is for a while among those that others think lost, or take for the master that it was.
      const knows = (all: string): boolean =>
        countOf(all, 'master') === MASTERS && countOf(all, 'slave') === nodes.length - MASTERS;
      const known = states.every(knows);
      if (served && masters === MASTERS && inStep && known) return;
      if (Date.now() > end) throw new Error('the nodes of the cluster do not agree');
      await delay(LOOK_MS);
    }
  }

  /** @param commands in place of the words of one: lines, whose answers come one after the other */
  async #ask(node: Node, words: readonly string[], commands = ''): Promise<string> {
    const certificate = join(this.#directory, CERTIFICATE);
    const asking = run(
      'redis-cli',
      ['--tls', '--cacert', certificate, '-p', String(node.port), '--user', USER, ...words],
      { env: { PATH: readEnvironment()['PATH'], REDISCLI_AUTH: PASSWORD } },
    );
    // One that found no node has ended, and says so by its code.
    asking.child.stdin!.on('error', () => {}).end(commands);
    return (await asking).stdout;
  }
}

/** Nodes in this role that a node knows and does not think lost. */
function countOf(all: string, role: 'master' | 'slave'): number {
  const flags = all.split('\n').map((line) => line.split(' ')[2] ?? '');
  return flags.filter((some) => some.includes(role) && !/\bfail\b/.test(some)).length;
}

function settingsOf(port: number, busPort: number): string[] {
  return [
    'port 0',
    `tls-port ${port}`,
    'tls-cluster yes',
    'tls-replication yes',
    'tls-auth-clients no',
    `tls-cert-file ${CERTIFICATE}`,
    `tls-key-file ${PRIVATE_KEY}`,
    `tls-ca-cert-file ${CERTIFICATE}`,
    'cluster-enabled yes',
    `cluster-port ${busPort}`,
    `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
    // A master would wait five seconds for further replicas before it tells the first one what it has.
    'repl-diskless-sync-delay 0',
    `user ${USER} on >${PASSWORD} ~* &* +@all`,
    `masteruser ${USER}`,
    `masterauth ${PASSWORD}`,
    `requirepass ${PASSWORD}`,
  ];
}

/** A certificate for the loopback address that vouches for itself. */
async function makeCertificate(directory: string): Promise<void> {
  const options = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2';
  const names = ['-subj', '/CN=docket', '-addext', `subjectAltName=IP:${HOST}`];
  const [key, certificate] = [join(directory, PRIVATE_KEY), join(directory, CERTIFICATE)];
  await run('openssl', [...options.split(' '), ...names, '-keyout', key, '-out', certificate]);
}
