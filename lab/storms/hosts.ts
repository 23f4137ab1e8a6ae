import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isThere } from '#lab/proxies/proxies.ts';
import { type Running, fileOf, start, type Variables } from '#lab/pooler/product.ts';
import { makeAccount, migrate, THIS_BUILD } from '#lab/upgrade/build.ts';
import { BACKGROUND_ROLES } from '#shared/config/settings.ts';
import { type Latency, SlowLink } from './slow-link.ts';

/** Each a network namespace, with an address and, where faketime is installed, a clock of its own. */
const HOSTS = ['stores', 'api', 'worker-1', 'worker-2'] as const;
export type Host = (typeof HOSTS)[number];
/** Those that reach the stores over a link. */
export type Distant = Exclude<Host, 'stores'>;

/** So that the clocks of the two workers are five seconds apart, and each is wrong for stores and api. */
const CLOCKS: Partial<Record<Host, string>> = { 'worker-1': '+2.5s', 'worker-2': '-2.5s' };
const CLOCK_LIBRARY = 'faketime/libfaketimeMT.so.1';

/** The stores that a host reaches over links that can be slow; all else goes straight. */
const SLOW_LINKS = {
  api: ['REDIS_URL'],
  'worker-1': ['REDIS_URL', 'DATABASE_URL'],
  'worker-2': ['REDIS_URL', 'DATABASE_URL'],
} as const satisfies Record<Distant, readonly string[]>;

/** Which way packets of a link are lost. One that loses them one way has ends that differ in what they know. */
export const CUTS = {
  'both ways': ['in', 'out'],
  'towards the stores': ['out'],
  'from the stores': ['in'],
} as const;
export type Cut = keyof typeof CUTS;

/** The address as whose neighbour the lab calls. */
const LAB = 254;
/** The address at which slow links begin, so that a host which is cut off from the stores is so from them. */
const LINKS = 253;
/** Addresses for tests between machines (RFC 2544), which no network at hand uses. */
const networkOf = (runId: number): string => `198.18.${runId % 256}`;

/** The product over four hosts of one network: stores and sandbox, an api process, and two with workers of each role. */
export class Hosts {
  readonly #name: string;
  readonly #network: string;
  readonly #running: Running[] = [];
  readonly #links = new Map<Distant, SlowLink[]>();
  #info!: { base_url: string; api_key: string; database_url: string; redis_url: string };

  /** The library by which clocks are apart; undefined where faketime is not installed: then all have one. */
  readonly clockLibrary = findClockLibrary();

  static async start(): Promise<Hosts> {
    if (process.getuid?.() !== 0) throw new Error('hosts are network namespaces: run it as root');
    if (!isThere('iptables')) throw new Error('links are cut by iptables: install it');
    const hosts = new Hosts(process.pid);
    try {
      hosts.#build();
      await hosts.#startAll();
    } catch (error) {
      await hosts.remove();
      throw error;
    }
    return hosts;
  }

  private constructor(runId: number) {
    this.#name = `dk${runId}`;
    this.#network = networkOf(runId);
  }

  get info() {
    return this.#info;
  }

  /** Everything that the processes have written, one after another. */
  get output(): string {
    return this.#running.flatMap(({ lines }) => lines).join('\n');
  }

  /** Loses packets between a host and the stores, without a word to either, until it is mended. */
  cut(host: Distant, cut: Cut): void {
    for (const stores of [this.#address('stores'), `${this.#network}.${LINKS}`]) {
      for (const way of CUTS[cut]) {
        const rule = way === 'in' ? `INPUT -s ${stores}` : `OUTPUT -d ${stores}`;
        this.#inside(host, `iptables -w -A ${rule} -j DROP`);
      }
    }
  }

  mend(host: Distant): void {
    this.#inside(host, 'iptables -w -F');
  }

  /** What goes between a host and stores takes this long, until it is called without a latency. */
  slow(host: Distant, latency?: Latency): void {
    for (const link of this.#links.get(host) ?? []) link.slow(latency);
  }

  /** Ends every process, the stores last, and takes the network away. */
  async remove(): Promise<void> {
    const [stores, ...others] = this.#running;
    await Promise.all(others.map((one) => one.stop()));
    for (const link of [...this.#links.values()].flat()) await link.close();
    await stores?.stop();
    for (const host of HOSTS) tryTo(`ip netns del ${this.#namespace(host)}`);
    tryTo(`ip link del ${this.#name}`);
  }

  #build(): void {
    const bridge = this.#name;
    run(`ip link add ${bridge} type bridge`);
    for (const own of [LAB, LINKS]) run(`ip addr add ${this.#network}.${own}/24 dev ${bridge}`);
    run(`ip link set ${bridge} up`);
    for (const [index, host] of HOSTS.entries()) {
      const [space, cable] = [this.#namespace(host), `${bridge}h${index}`];
      run(`ip netns add ${space}`);
      run(`ip link add ${cable} type veth peer name eth0 netns ${space}`);
      run(`ip link set ${cable} master ${bridge} up`);
      this.#inside(host, 'ip link set lo up');
      this.#inside(host, `ip addr add ${this.#address(host)}/24 dev eth0`);
      this.#inside(host, 'ip link set eth0 up');
    }
    // The stores listen on the loopback address of their host alone, and are reached by that of the host.
    this.#inside('stores', 'sysctl -qw net.ipv4.conf.eth0.route_localnet=1');
    const tcp = 'iptables -w -t nat -A';
    this.#inside('stores', `${tcp} PREROUTING -i eth0 -p tcp -j DNAT --to-destination 127.0.0.1`);
    this.#inside('stores', `${tcp} INPUT -p tcp -j SNAT --to-source 127.0.0.1`);
  }

  async #startAll(): Promise<void> {
    const env = await this.#startStores();
    migrate(THIS_BUILD, env);
    const apiKey = makeAccount(THIS_BUILD, env);
    const own = {
      api: await this.#overLinks('api', env),
      'worker-1': await this.#overLinks('worker-1', env),
      'worker-2': await this.#overLinks('worker-2', env),
    };
    const workers = (['worker-1', 'worker-2'] as const).flatMap((host) => [
      this.#start(host, fileOf('receipts'), own[host]),
      this.#start(host, fileOf('inference'), own[host]),
      this.#start(host, 'workers/background/main.ts', own[host], BACKGROUND_ROLES),
    ]);
    const address = this.#address('api');
    const api = this.#start('api', fileOf('api'), { ...own.api, HOST: address });
    // All of them, so that none is still starting when those that run are stopped.
    const failed = (await Promise.allSettled([...workers, api])).find(isRejected);
    if (failed !== undefined) throw failed.reason;
    const { port } = await api;
    this.#info = {
      base_url: `http://${address}:${port}/v1`,
      api_key: apiKey,
      database_url: env['DATABASE_URL']!,
      redis_url: env['REDIS_URL']!,
    };
  }

  /** @returns the settings of every process, as they are right on other hosts */
  async #startStores(): Promise<Variables> {
    const { lines } = await this.#start('stores', 'lab/storms/stores-host.ts', {});
    const { env } = JSON.parse(lines.find((line) => line.includes('"ready"'))!) as {
      env: Variables;
    };
    const elsewhere = ['DATABASE_URL', 'REDIS_URL', 'SANDBOX_URL'].map((name) => [
      name,
      env[name]!.replace('127.0.0.1', this.#address('stores')),
    ]);
    return { ...env, ...Object.fromEntries(elsewhere) };
  }

  /** @returns the settings of a host's processes, with links of its own to the stores */
  async #overLinks(host: Distant, env: Variables): Promise<Variables> {
    const links: SlowLink[] = [];
    this.#links.set(host, links);
    const overLinks: Record<string, string> = {};
    for (const name of SLOW_LINKS[host]) {
      const url = new URL(env[name]!);
      const address = `${this.#network}.${LINKS}`;
      const link = await SlowLink.open(address, { host: url.hostname, port: Number(url.port) });
      links.push(link);
      overLinks[name] = env[name]!.replace(url.host, `${address}:${link.port}`);
    }
    return { ...env, ...overLinks };
  }

  async #start(
    host: Host,
    file: string,
    env: Variables,
    args: readonly string[] = [],
  ): Promise<Running> {
    const clock = CLOCKS[host];
    const time =
      clock === undefined || this.clockLibrary === undefined
        ? []
        : [`LD_PRELOAD=${this.clockLibrary}`, `FAKETIME=${clock}`, 'DONT_FAKE_MONOTONIC=1'];
    const within = ['ip', 'netns', 'exec', this.#namespace(host), 'env', ...time];
    const running = await start(file, env, { args, within });
    this.#running.push(running);
    return running;
  }

  #inside(host: Host, command: string): void {
    run(`ip netns exec ${this.#namespace(host)} ${command}`);
  }

  #namespace(host: Host): string {
    return `${this.#name}-${host}`;
  }

  #address(host: Host): string {
    return `${this.#network}.${HOSTS.indexOf(host) + 1}`;
  }
}

function findClockLibrary(): string | undefined {
  return readdirSync('/usr/lib')
    .map((folder) => join('/usr/lib', folder, CLOCK_LIBRARY))
    .find((path) => existsSync(path));
}

const isRejected = (one: PromiseSettledResult<unknown>): one is PromiseRejectedResult =>
  one.status === 'rejected';

function run(command: string): void {
  const [program, ...args] = command.split(' ');
  execFileSync(program!, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function tryTo(command: string): void {
  try {
    run(command);
  } catch {
    // It was not made.
  }
}
