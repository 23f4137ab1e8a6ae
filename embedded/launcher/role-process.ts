import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const LEASH = new URL('./leash.ts', import.meta.url);

/** Which program to run, and how. */
export interface RoleCommand {
  /** The mark of its lines: `api`, or `api.2` for the second of several. */
  name: string;
  role: string;
  /** The main file. */
  entry: URL;
  cwd: URL;
  env: Readonly<Record<string, string | undefined>>;
  /** True when it serves /readyz on a port of its own. */
  probed: boolean;
  onLine: (line: string) => void;
}

/** The ports that a process names in its ready line. */
interface Announcement {
  port: number | null;
  metricsPort: number | null;
}

/** Reading and probing a local port takes a millisecond; this is how often it is asked at start. */
const PROBE_EVERY_MS = 25;
const PROBE_MS = 1_000;

/** One life of one process: from its start to its end, never restarted. */
export class RoleProcess {
  readonly command: RoleCommand;
  readonly startedAt = performance.now();
  /** Resolves when it has ended, with `exit 0`, `exit SIGKILL` or an error. */
  readonly exited: Promise<string>;
  readonly #child: ChildProcess;
  readonly #announced: Promise<Announcement>;
  #metricsPort: number | null = null;
  #port: number | null = null;

  constructor(command: RoleCommand) {
    this.command = command;
    this.#child = spawn(process.execPath, ['--import', LEASH.href, fileURLToPath(command.entry)], {
      cwd: command.cwd,
      env: { ...command.env },
      // Its own session: Ctrl-C reaches the launcher alone, which stops its processes in order.
      detached: true,
      // The channel tells it when the launcher is gone.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child.channel?.unref();
    this.exited = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('exit', (code, signal) => resolve(`exit ${signal ?? code}`));
    });
    this.#announced = this.#read();
  }

  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  get port(): number | null {
    return this.#port;
  }

  get metricsPort(): number | null {
    return this.#metricsPort;
  }

  /**
   * Resolves when it has announced itself and /readyz says yes.
   * @throws Error when it ends before, or `signal` is aborted.
   */
  async ready(signal: AbortSignal): Promise<void> {
    const dead = this.exited.then((how) => {
      throw new Error(`${this.command.name} ended before it was ready (${how})`);
    });
    dead.catch(() => {});
    const announcement = await Promise.race([this.#announced, dead, aborted(signal)]);
    this.#port = announcement.port;
    this.#metricsPort = announcement.metricsPort;
    if (!this.command.probed) return;
    await Promise.race([this.#probeUntilReady(signal), dead]);
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

  #read(): Promise<Announcement> {
    return new Promise((resolve) => {
      for (const stream of [this.#child.stdout, this.#child.stderr]) {
        if (stream === null) continue;
        createInterface({ input: stream }).on('line', (line) => {
          this.command.onLine(line);
          const announcement = announcementIn(line);
          if (announcement !== undefined) resolve(announcement);
        });
      }
    });
  }

  async #probeUntilReady(signal: AbortSignal): Promise<void> {
    if (this.#metricsPort === null) {
      throw new Error(`${this.command.name} did not say on which port it can be probed`);
    }
    const url = `http://127.0.0.1:${this.#metricsPort}/readyz`;
    for (;;) {
      const reply = await fetch(url, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
      })
        .then(async (response) => {
          await response.arrayBuffer();
          return response.ok;
        })
        .catch(() => false);
      if (reply) return;
      if (signal.aborted) throw new Error(`${this.command.name} did not become ready in time`);
      await delay(PROBE_EVERY_MS);
    }
  }
}

function announcementIn(line: string): Announcement | undefined {
  // Cheap first: every log line of a busy process passes here.
  if (!line.startsWith('{') || !line.includes('"ready"')) return undefined;
  try {
    const entry = JSON.parse(line) as Record<string, unknown>;
    if (entry['event'] !== 'ready') return undefined;
    return { port: numberOrNull(entry['port']), metricsPort: numberOrNull(entry['metrics_port']) };
  } catch {
    return undefined;
  }
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const refuse = (): void => reject(new Error('not ready in time'));
    if (signal.aborted) refuse();
    else signal.addEventListener('abort', refuse, { once: true });
  });
}
