import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { eachLine } from '#embedded/each-line.ts';
import { LOCALHOST } from '#shared/kernel/localhost.ts';

/** Imported first by every process, so that it ends with the launcher. */
export const PARENT_WATCH = new URL('./parent-watch.ts', import.meta.url).href;

/** Which program to run, and how. */
export interface RoleCommand {
  /** The mark of its lines: `api`, or `api.2` for the second of several. */
  name: string;
  /** What it does: several where roles share a process, none for what is no role. */
  roles: readonly string[];
  /** The main file. */
  entry: URL;
  args?: readonly string[];
  /** Of V8, in MiB: half of what the young generation may take. */
  semiSpaceMib: number;
  cwd: URL;
  env: Readonly<Record<string, string | undefined>>;
  /** True when it serves /readyz, on the port that it names over the channel. */
  probed: boolean;
  onLine: (line: string) => void;
}

/** Of glibc: each thread of a process would keep freed memory to itself. Ten processes have a hundred threads. */
const MALLOC_ARENA_MAX = '2';
/** Asking a local port takes a millisecond; this is how often it is asked at start. */
const PROBE_EVERY_MS = 25;
const PROBE_MS = 1_000;

/** One life of one process: from its start to its end, never restarted. */
export class RoleProcess {
  readonly command: RoleCommand;
  readonly startedAt = performance.now();
  /** Resolves when it has ended, with `exit 0`, `exit SIGKILL` or an error. */
  readonly exited: Promise<string>;
  readonly #child: ChildProcess;
  /** Resolves with the port of its /readyz; null for a process that has none and takes connections. */
  readonly #listening: Promise<number | null>;
  #metricsPort: number | null = null;

  constructor(command: RoleCommand) {
    this.command = command;
    const program = [fileURLToPath(command.entry), ...(command.args ?? [])];
    const flags = [`--max-semi-space-size=${command.semiSpaceMib}`, '--import', PARENT_WATCH];
    this.#child = spawn(process.execPath, [...flags, ...program], {
      cwd: command.cwd,
      env: { MALLOC_ARENA_MAX, ...command.env },
      // Its own session: Ctrl-C reaches the launcher alone, which stops its processes in order.
      detached: true,
      // The channel tells it when the launcher is gone, and the launcher where it listens.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child.channel?.unref();
    this.exited = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', (code, signal) => resolve(`exit ${signal ?? code}`));
    });
    this.#listening = new Promise((resolve) => {
      this.#child.on('message', (message) => {
        const port = listeningPort(message);
        if (port !== undefined) resolve(port);
      });
    });
    this.#read();
  }

  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  get metricsPort(): number | null {
    return this.#metricsPort;
  }

  /**
   * Resolves when it listens and /readyz says yes. Its log is not read for that: with a LOG_LEVEL above `info` it says
   * nothing there.
   * @throws Error that names the process, when it ends before or `signal` is aborted.
   */
  async ready(signal: AbortSignal): Promise<void> {
    const dead = this.exited.then((how) => {
      throw new Error(`${this.command.name} ended before it was ready (${how})`);
    });
    dead.catch(() => {});
    const late = aborted(signal, `${this.command.name} was not ready in time`);
    late.catch(() => {});
    this.#metricsPort = await Promise.race([this.#listening, dead, late]);
    if (this.command.probed) await Promise.race([this.#askUntilReady(signal), dead, late]);
  }

  /** SIGTERM, and SIGKILL when that takes longer than `withinMs`. */
  async stop(withinMs: number): Promise<void> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.kill(), withinMs);
    await this.exited;
    clearTimeout(timer);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /**
   * Has it read its catalogue again, as soon as it listens: before that the signal would end it. One that has read the
   * catalogue earlier in its start reads it once more.
   */
  reload(): void {
    void this.#listening.then(() => this.#child.kill('SIGHUP'));
  }

  #read(): void {
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream !== null) eachLine(stream, (line) => this.command.onLine(line));
    }
  }

  async #askUntilReady(signal: AbortSignal): Promise<void> {
    if (this.#metricsPort === null) {
      throw new Error(`${this.command.name} did not say on which port it can be asked`);
    }
    const host = askableHost(this.command.env['METRICS_HOST']);
    const url = `http://${host}:${this.#metricsPort}/readyz`;
    while (!signal.aborted) {
      const reply = await fetch(url, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
      })
        .then(async (response) => {
          await response.arrayBuffer();
          return response.ok;
        })
        .catch(() => false);
      if (reply) return;
      await delay(PROBE_EVERY_MS);
    }
  }
}

/** What a process says over the channel once it listens: `{ listening: { metricsPort } }`. Other messages mean nothing here. */
function listeningPort(message: unknown): number | null | undefined {
  const { listening } = (message ?? {}) as { listening?: { metricsPort?: unknown } };
  if (typeof listening !== 'object' || listening === null) return undefined;
  return typeof listening.metricsPort === 'number' ? listening.metricsPort : null;
}

/** Where a server that listens on this address is reached from here. */
export function askableHost(host: string | undefined): string {
  if (host === undefined || ['', LOCALHOST, '0.0.0.0', '::'].includes(host)) return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function aborted(signal: AbortSignal, message: string): Promise<never> {
  return new Promise((_, reject) => {
    const refuse = (): void => reject(new Error(message));
    if (signal.aborted) refuse();
    else signal.addEventListener('abort', refuse, { once: true });
  });
}
