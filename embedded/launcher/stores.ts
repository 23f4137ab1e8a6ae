import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { startRedisServer } from '#embedded/stores/redis.ts';
import { ensurePassword } from '#embedded/stores/private-file.ts';
import type { RunningServer } from '#embedded/stores/server-process.ts';
import { Repetitions } from '#shared/process/repetitions.ts';
import { Backoff } from './backoff.ts';
import type { StoreGuard } from './store-guard.ts';
import type { Output } from './output.ts';

/** A database server: one of ours, or one that was there before us (then there is nothing to stop). */
interface Store {
  readonly url: string;
  stop(): Promise<void>;
  kill(): void;
}

export interface Stores {
  postgres: Store;
  redis: Store;
}

interface StoresOptions {
  dataDir: string;
  /** Of servers that run already; none is started for those. */
  databaseUrl: string | undefined;
  redisUrl: string | undefined;
  output: Output;
  guard: StoreGuard;
}

/** Starts what is not given by URL, both at once. When one fails, the other is stopped again. */
export async function startStores(options: StoresOptions): Promise<Stores> {
  const settled = await Promise.allSettled([postgres(options), redis(options)]);
  const [first, second] = settled;
  if (first.status === 'fulfilled' && second.status === 'fulfilled') {
    return { postgres: first.value, redis: second.value };
  }
  for (const one of settled) if (one.status === 'fulfilled') await one.value.stop();
  throw settled.find((one) => one.status === 'rejected')?.reason as Error;
}

async function postgres({ dataDir, databaseUrl, output, guard }: StoresOptions): Promise<Store> {
  if (databaseUrl !== undefined) return external(databaseUrl);
  return KeptStore.start({
    name: 'postgres',
    output,
    guard,
    // `2026-11-20 10:00:43 UTC [27] LOG:  checkpoint complete`, and a tab before what belongs to it.
    itsOwnLine: /^\t| \[\d+\] [A-Z]+: /,
    worthALine: / (ERROR|FATAL|PANIC|WARNING): /,
    start: (how) => startEmbeddedPostgres({ dataDir: join(dataDir, 'postgres'), ...how }),
  });
}

async function redis({ dataDir, redisUrl, output, guard }: StoresOptions): Promise<Store> {
  if (redisUrl !== undefined) return external(redisUrl);
  const password = await ensurePassword(join(dataDir, 'redis.password'));
  return KeptStore.start({
    name: 'redis',
    output,
    guard,
    // `27:M 20 Nov 2026 10:00:43.020 # Server initialized`; `#` marks a warning.
    itsOwnLine: /^\d+:\S+ /,
    worthALine: /^\d+:\S+ .* # /,
    start: (how) => startRedisServer({ dataDir: join(dataDir, 'redis'), password, ...how }),
  });
}

function external(url: string): Store {
  return { url, stop: async () => {}, kill: () => {} };
}

type Server = RunningServer & { readonly url: string };

interface KeptStoreOptions {
  name: string;
  output: Output;
  guard: StoreGuard;
  /** Tells a line of the server's log from a line of the program that starts it. */
  itsOwnLine: RegExp;
  /** Lines of its log that are shown while it runs; the launcher itself reports starts and stops. */
  worthALine: RegExp;
  start: (how: {
    port?: number;
    onLog: (line: string) => void;
    onSpawn: (pid: number) => void;
  }) => Promise<Server>;
}

/** A database server that is started again, on the same port, when it dies. */
class KeptStore implements Store {
  readonly #options: KeptStoreOptions;
  readonly #stopping = new AbortController();
  readonly #backoff = new Backoff();
  #server: Server;
  #startedAt = performance.now();
  #up = true;
  readonly #watching: Promise<void>;

  /** Starts it and resolves once it takes connections. */
  static async start(options: KeptStoreOptions): Promise<KeptStore> {
    const early: { kept?: KeptStore } = {};
    const server = await options.start({
      onLog: (line) => logLine(options, line, early.kept?.isUp ?? false),
      onSpawn: (pid) => options.guard.watch(options.name, pid),
    });
    early.kept = new KeptStore(options, server);
    return early.kept;
  }

  private constructor(options: KeptStoreOptions, server: Server) {
    this.#options = options;
    this.#server = server;
    this.#watching = this.#watch();
  }

  get url(): string {
    return this.#server.url;
  }

  get isUp(): boolean {
    return this.#up;
  }

  async stop(): Promise<void> {
    this.#up = false;
    this.#stopping.abort();
    await this.#server.stop();
    await this.#watching;
    this.#options.guard.watch(this.#options.name, undefined);
  }

  kill(): void {
    this.#stopping.abort();
    this.#server.kill();
  }

  async #watch(): Promise<void> {
    for (;;) {
      const how = await this.#server.exited;
      this.#up = false;
      if (this.#stopping.signal.aborted) return;
      this.#options.output.say(`${this.#options.name} ended (${how})`, 'red');
      if (!(await this.#startAgain())) return;
    }
  }

  /** Tries until it is up again; false when there is to be no other try. */
  async #startAgain(): Promise<boolean> {
    const { name, output, guard, start } = this.#options;
    const port = Number(new URL(this.#server.url).port);
    for (;;) {
      const waitMs = this.#backoff.next(performance.now() - this.#startedAt);
      output.say(`starting ${name} again in ${waitMs} ms`, 'red');
      await delay(waitMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
      if (this.#stopping.signal.aborted) return false;
      this.#startedAt = performance.now();
      try {
        this.#server = await start({
          port,
          onLog: (line) => logLine(this.#options, line, this.#up),
          onSpawn: (pid) => guard.watch(name, pid),
        });
      } catch (error) {
        output.say(error instanceof Error ? error.message : String(error), 'red');
        continue;
      }
      if (this.#stopping.signal.aborted) {
        // Told to stop while it was coming up: `stop` has found only the dead one.
        await this.#server.stop();
        return false;
      }
      this.#up = true;
      output.say(`${name} is back`, 'green');
      return true;
    }
  }
}

function logLine(
  { name, output, itsOwnLine, worthALine }: KeptStoreOptions,
  line: string,
  up: boolean,
): void {
  if (!itsOwnLine.test(line)) output.line(name, line);
  else if (up && worthALine.test(line)) tellOnce(output, name, line);
}

const repetitions = new Repetitions();
/** Dates, process ids and sizes: two lines of a server's log that differ in them alone say the same. */
const NUMBERS = /\d+/g;

/** A full disk fails every statement with a line of its own: it is shown once, and then counted. */
function tellOnce(output: Output, name: string, line: string): void {
  const tell = (times: number): void => output.line(name, `${line} (${times} times)`);
  const key = `${name} ${line.replaceAll(NUMBERS, '#')}`;
  if (repetitions.admit(key, 1, tell)) output.line(name, line);
}
