import { setTimeout as delay } from 'node:timers/promises';
import { Backoff } from './backoff.ts';
import type { Output } from './output.ts';
import { type RoleCommand, RoleProcess } from './role-process.ts';

export interface SupervisorOptions {
  output: Output;
  /** Told whenever a process has become ready again under another id. */
  onChange: () => void;
}

/** A process that dies three times before it was ever ready would die a fourth time too. */
const FIRST_LIVES_MAX = 3;
/** The end of a role whose settings cannot be used (EX_CONFIG of sysexits); it has named them. */
const UNUSABLE_SETTINGS = 'exit 78';
/** The slowest machine this is meant for starts a role in a few seconds. */
const READY_MS = 60_000;

/** Keeps one process alive: starts it, starts it again when it dies, stops it for good when told. */
export class Supervisor {
  readonly command: RoleCommand;
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  readonly #backoff = new Backoff();
  #current: RoleProcess | undefined;

  constructor(command: RoleCommand, options: SupervisorOptions) {
    this.command = command;
    this.#options = options;
  }

  get current(): RoleProcess | undefined {
    return this.#current;
  }

  /**
   * Starts it and resolves once it is ready; from then on it is kept alive.
   * @throws Error when it does not become ready; its output has been shown.
   */
  async start(): Promise<void> {
    for (let life = 1; ; life += 1) {
      const process = new RoleProcess(this.command);
      this.#current = process;
      try {
        await process.ready(this.#deadline());
        void this.#keepAlive(process);
        return;
      } catch (error) {
        process.kill();
        await process.exited;
        if (this.#stopping.signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        const hopeless = (await process.exited) === UNUSABLE_SETTINGS;
        if (hopeless || life >= FIRST_LIVES_MAX) throw error;
        await this.#pause(reason, process);
        if (this.#stopping.signal.aborted) return;
      }
    }
  }

  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#current?.stop(withinMs);
  }

  /** Has the process read its catalogue again. One that is to be started later reads it by itself. */
  reload(): void {
    this.#current?.reload();
  }

  kill(): void {
    this.#stopping.abort();
    this.#current?.kill();
  }

  async #keepAlive(first: RoleProcess): Promise<void> {
    let process = first;
    for (;;) {
      const how = await process.exited;
      if (this.#stopping.signal.aborted) return;
      await this.#pause(`${this.command.name} ended (${how})`, process);
      if (this.#stopping.signal.aborted) return;
      process = new RoleProcess(this.command);
      this.#current = process;
      void this.#tellWhenReady(process);
    }
  }

  async #tellWhenReady(process: RoleProcess): Promise<void> {
    try {
      await process.ready(this.#deadline());
    } catch {
      // Not ready in time: it goes on trying. Dead already: `#keepAlive` starts another.
      return;
    }
    this.#options.output.say(`${this.command.name} is back`, 'green');
    this.#options.onChange();
  }

  async #pause(reason: string, process: RoleProcess): Promise<void> {
    const waitMs = this.#backoff.next(performance.now() - process.startedAt);
    this.#options.output.say(`${reason}; starting it again in ${waitMs} ms`, 'red');
    await delay(waitMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }

  #deadline(): AbortSignal {
    return AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(READY_MS)]);
  }
}
