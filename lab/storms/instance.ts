import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '#shared/config/config.ts';
import type { Role } from '#shared/config/settings.ts';
import { type DevFile, readDevFile } from '#embedded/launcher/dev-file.ts';
import { childEnvironment } from '#test/support/child-environment.ts';
import { isAlive, signal } from './processes.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Two of each role on the path of an answer, so that one can be away. */
const REPLICAS = 'api=2,inference=2,receipts=2,ledger=2';
/** A start after everything was killed recovers both stores first, on a machine that is busy. */
const READY_MS = 300_000;
const STOP_MS = 60_000;
const LOOK_MS = 50;

export interface InstanceOptions {
  env?: Environment;
  /** Puts all data on a file system of its own of this size (as root): for what a full disk does. */
  diskMib?: number | undefined;
}

/** The product as `npm start` runs it, on data of its own: a launcher, both stores, and two of each role. */
export class Instance {
  readonly directory: string;
  readonly dataDir: string;
  readonly #env: Environment;
  readonly #mounted: boolean;
  #launcher!: ChildProcess;
  #info: DevFile | undefined;

  static async start(options: InstanceOptions = {}): Promise<Instance> {
    const directory = await mkdtemp(join(tmpdir(), 'docket-storm-'));
    const dataDir = join(directory, 'data');
    await mkdir(dataDir);
    if (options.diskMib !== undefined) {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${options.diskMib}m`, 'tmpfs', dataDir]);
    }
    for (const folder of [directory, dataDir]) await chmod(folder, 0o711);
    const instance = new Instance(directory, options);
    try {
      await instance.launch();
    } catch (error) {
      await instance.remove();
      throw error;
    }
    return instance;
  }

  private constructor(directory: string, { env = {}, diskMib }: InstanceOptions) {
    this.directory = directory;
    this.dataDir = join(directory, 'data');
    this.#env = env;
    this.#mounted = diskMib !== undefined;
  }

  get info(): DevFile {
    return this.#info!;
  }

  /** Everything that the instance has written, of all its lives. */
  get output(): string {
    return readFileSync(join(this.directory, 'output.log'), 'utf8');
  }

  /** Starts everything, on the port it had before; resolves when it is ready. */
  async launch(): Promise<void> {
    const port = this.#info === undefined ? '0' : new URL(this.#info.base_url).port;
    const output = openSync(join(this.directory, 'output.log'), 'a');
    await rm(join(this.dataDir, 'dev.json'), { force: true });
    this.#launcher = spawn(process.execPath, [join(ROOT, 'cli/docket.ts'), 'up'], {
      cwd: ROOT,
      env: {
        ...childEnvironment(),
        PORT: port,
        DOCKET_DATA_DIR: this.dataDir,
        REPLICAS,
        ...this.#env,
      },
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    const info = await this.#until('the instance is ready', async () => {
      if (this.#hasEnded) throw new Error(`it ended:\n${this.output.slice(-4_000)}`);
      return readDevFile(this.dataDir);
    });
    this.#info = info;
  }

  /** The processes of a role that are alive now. */
  async pids(role: Role): Promise<number[]> {
    const { processes } = (await readDevFile(this.dataDir)) ?? this.info;
    return processes.filter((one) => one.role === role && isAlive(one.pid)).map(({ pid }) => pid);
  }

  async storePid(store: 'postgres' | 'redis'): Promise<number | undefined> {
    const file = store === 'postgres' ? 'postgres/data/postmaster.pid' : 'redis/redis.pid';
    const text = await readFile(join(this.dataDir, file), 'utf8').catch(() => '');
    const pid = Number.parseInt(text, 10);
    return Number.isNaN(pid) || !isAlive(pid) ? undefined : pid;
  }

  /** Signals one process, which ends by it, and resolves when another is ready in its place. */
  async replace(role: Role, pid: number, how: NodeJS.Signals): Promise<void> {
    const before = new Set(await this.pids(role));
    signal([pid], how);
    await this.#until(`another ${role} is ready`, async () => {
      const now = await this.pids(role);
      const fresh = now.filter((one) => !before.has(one));
      return !isAlive(pid) && fresh.length > 0 && now.length >= before.size ? true : undefined;
    });
  }

  /** Kills the launcher, every role and both stores at the same moment. */
  async killEverything(): Promise<void> {
    // One that never got ready has said of none where it is.
    const { processes } = (await readDevFile(this.dataDir)) ?? this.#info ?? { processes: [] };
    const stores = [await this.storePid('postgres'), await this.storePid('redis')];
    const pids = [this.#launcher.pid, ...stores, ...processes.map(({ pid }) => pid)].filter(
      (pid) => pid !== undefined,
    );
    signal(pids, 'SIGKILL');
    await this.#until('everything has ended', () =>
      Promise.resolve(pids.some(isAlive) ? undefined : true),
    );
  }

  /** Stops everything and removes its data. */
  async remove(): Promise<void> {
    if (!this.#hasEnded) signal([this.#launcher.pid!], 'SIGTERM');
    const end = Date.now() + STOP_MS;
    while (!this.#hasEnded) {
      if (Date.now() > end) await this.killEverything();
      await delay(LOOK_MS);
    }
    if (this.#mounted) execFileSync('umount', ['--lazy', this.dataDir]);
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  get #hasEnded(): boolean {
    return this.#launcher.exitCode !== null || this.#launcher.signalCode !== null;
  }

  async #until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    const end = Date.now() + READY_MS;
    for (;;) {
      const seen = await look();
      if (seen !== undefined) return seen;
      if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
      await delay(LOOK_MS);
    }
  }
}
