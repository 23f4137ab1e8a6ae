import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readEnvironment } from '#shared/config/config.ts';
import { claimPort } from '#embedded/ports.ts';
import { NotToBeHad } from './cache.ts';
import type { ServerKind } from './servers.ts';

/** Importing torch on a busy machine takes a minute. */
const READY_MS = 240_000;
const LOOK_MS = 100;
const LOG_CHARS = 1_500;
/** A tick of the processor's clock, as Linux counts it for programs. */
const TICK_MS = 10;

export interface ServerOptions {
  kind: ServerKind;
  python: string;
  models: string;
  /** A folder of this run, for the server's log and files. */
  scratch: string;
  behindUrl?: string;
}

/** One real model server, on a port that it keeps. */
export class ModelServer {
  readonly kind: ServerKind;
  readonly port: number;
  readonly #options: ServerOptions;
  readonly #log: string;
  #process!: ChildProcess;

  /** Starts it; resolves when it is ready. @throws NotToBeHad when it does not come up */
  static async start(options: ServerOptions): Promise<ModelServer> {
    await mkdir(options.scratch, { recursive: true });
    const server = new ModelServer(options, await claimPort('127.0.0.1', 0));
    await server.launch();
    return server;
  }

  private constructor(options: ServerOptions, port: number) {
    this.kind = options.kind;
    this.port = port;
    this.#options = options;
    this.#log = join(options.scratch, `${options.kind.name}-${port}.log`);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  get model(): string {
    return this.kind.model(this.#options.models);
  }

  /** Everything that the server has written, of all its lives. */
  get log(): string {
    return readFileSync(this.#log, 'utf8');
  }

  /** Processor time of this life, in milliseconds, with that of its children. */
  get cpuMs(): number {
    const stat = readFileSync(`/proc/${this.#process.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  }

  async launch(): Promise<void> {
    const { kind, python, models, scratch, behindUrl = '' } = this.#options;
    const command = kind.start({ models, scratch, port: this.port, behindUrl });
    for (const [name, content] of Object.entries(command.files ?? {})) {
      await writeFile(join(scratch, name), content);
    }
    const log = openSync(this.#log, 'a');
    this.#process = spawn(python, command.args, {
      cwd: scratch,
      // Nothing of the caller's environment: a credential there would be sent to, or asked for by, a server.
      env: {
        PATH: readEnvironment()['PATH'],
        HOME: scratch,
        PYTHONUNBUFFERED: '1',
        ...command.env,
      },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const end = Date.now() + READY_MS;
    while (!(await this.#isReady())) {
      if (this.#process.exitCode !== null || Date.now() > end) {
        await this.stop();
        throw new NotToBeHad(`it did not come up:\n${this.log.slice(-LOG_CHARS)}`);
      }
      await delay(LOOK_MS);
    }
  }

  /** SIGKILL, as a machine or an out-of-memory killer ends it; resolves when it is gone. */
  stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) resolve();
    this.#process.once('exit', () => resolve());
    this.#process.kill('SIGKILL');
    return promise;
  }

  async #isReady(): Promise<boolean> {
    try {
      const headers = authorization(this.kind);
      return (await fetch(this.origin + this.kind.readyPath, { headers })).ok;
    } catch {
      return false;
    }
  }
}

export function authorization({ apiKey }: ServerKind): Record<string, string> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}
