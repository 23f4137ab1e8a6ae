import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';

const run = promisify(execFile);

const READY_MS = 60_000;
const STOP_MS = 10_000;
const LOOK_MS = 200;
const LOG_CHARS = 2_000;
/** Debian calls it the second. */
const ALERTMANAGERS = ['alertmanager', 'prometheus-alertmanager'];

export interface Programs {
  promtool: string;
  prometheus: string;
  alertmanager: string;
}

/** The programs of this machine; undefined where one is not there. */
export async function findPrograms(): Promise<Programs | undefined> {
  const [promtool, prometheus, alertmanager] = await Promise.all(
    [['promtool'], ['prometheus'], ALERTMANAGERS].map(firstThere),
  );
  if (promtool === undefined || prometheus === undefined || alertmanager === undefined) {
    return undefined;
  }
  return { promtool, prometheus, alertmanager };
}

async function firstThere(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    try {
      await run(name, ['--version']);
      return name;
    } catch {
      // Not this one.
    }
  }
  return undefined;
}

/** Runs promtool. @throws Error with what it has said, when it finds something wrong */
export async function runPromtool(program: string, args: readonly string[]): Promise<void> {
  try {
    await run(program, args);
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`promtool ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  }
}

/** Prometheus or Alertmanager, on a port of this machine alone. */
export class Server {
  readonly origin: string;
  readonly #process: ChildProcess;
  readonly #log: string;

  /** Starts it; resolves when it is ready. @throws Error with its log, when it does not come up */
  static async start(
    program: string,
    args: readonly string[],
    at: { port: number; scratch: string },
  ): Promise<Server> {
    const server = new Server(program, args, at);
    const end = Date.now() + READY_MS;
    while (!(await server.#isReady())) {
      if (server.#hasEnded || Date.now() > end) {
        await server.stop();
        throw new Error(`${program} did not come up:\n${server.#tail()}`);
      }
      await delay(LOOK_MS);
    }
    return server;
  }

  private constructor(
    program: string,
    args: readonly string[],
    { port, scratch }: { port: number; scratch: string },
  ) {
    this.origin = `http://127.0.0.1:${port}`;
    this.#log = join(scratch, `${program}.log`);
    const output = openSync(this.#log, 'a');
    this.#process = spawn(program, [...args, `--web.listen-address=127.0.0.1:${port}`], {
      cwd: scratch,
      env: { PATH: readEnvironment()['PATH'], HOME: scratch },
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    // It is not there, which the look at its readiness finds.
    this.#process.on('error', () => {});
  }

  async get<T>(path: string): Promise<T> {
    const answer = await fetch(`${this.origin}${path}`, { signal: AbortSignal.timeout(STOP_MS) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  async stop(): Promise<void> {
    const end = Date.now() + STOP_MS;
    this.#process.kill('SIGTERM');
    while (!this.#hasEnded) {
      if (Date.now() > end) this.#process.kill('SIGKILL');
      await delay(LOOK_MS);
    }
  }

  get #hasEnded(): boolean {
    const { pid, exitCode, signalCode } = this.#process;
    return pid === undefined || exitCode !== null || signalCode !== null;
  }

  async #isReady(): Promise<boolean> {
    try {
      return (await fetch(`${this.origin}/-/ready`)).ok;
    } catch {
      return false;
    }
  }

  #tail(): string {
    return readFileSync(this.#log, 'utf8').slice(-LOG_CHARS);
  }
}
