import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { PATIENCE } from '#patience';
import type { Environment } from '#shared/config/config.ts';
import type { Role } from '#shared/config/settings.ts';
import { childEnvironment } from './child-environment.ts';
import { atFileEnd } from './file-end.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Starting takes under a second; a machine that runs much else at the same time needs longer. */
const READY_MS = 100_000;
/** Above the default of SHUTDOWN_MS, so that a process which drains to its bound is not cut short. */
const STOP_MS = 30_000;

export interface StartedProcess {
  pid: number;
  /** Of its API; 0 when it has none. */
  port: number;
  metricsPort: number;
  /** Everything it has written so far. */
  output(): string;
  /** Every JSON line it has written so far. */
  logs(): Record<string, unknown>[];
  /** Settles when the process has ended, with its exit code (null after a signal). */
  exited: Promise<number | null>;
  kill(signal?: NodeJS.Signals): void;
  /** SIGTERM, then waits; returns the exit code. */
  stop(): Promise<number | null>;
}

export interface ProcessOptions {
  role: Role;
  env: Environment;
  /** The file to run when it is not the role's own `main.ts`, relative to the repository. */
  entry?: string;
}

const running = new Set<StartedProcess>();

// A file that is aborted does not get to its last hook.
process.once('exit', () => {
  for (const started of running) started.kill('SIGKILL');
});

/**
 * Starts a process of the Procfile as production does and returns when it has logged
 * `{"event":"ready"}`. It gets free ports, a small environment of its own and what `env` adds;
 * a process that still runs after the file's last test is killed.
 * @throws Error with its output when it ends, or is silent, before that.
 */
export async function startProcess(options: ProcessOptions): Promise<StartedProcess> {
  const child = launch(options);
  const lines: string[] = [];
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const kill = (signal: NodeJS.Signals = 'SIGTERM'): void => {
    child.kill(signal);
  };
  const ready = new Promise<Record<string, unknown>>((resolve) => {
    for (const stream of [child.stdout!, child.stderr!]) {
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        const entry = parseLine(line);
        if (entry?.['event'] === 'ready') resolve(entry);
      });
    }
  });
  const timer = AbortSignal.timeout(READY_MS);
  const late = new Promise<'silence'>((resolve) => {
    timer.addEventListener('abort', () => resolve('silence'), { once: true });
  });
  const first = await Promise.race([ready, late, exited.then((code) => `exit ${code}` as const)]);
  if (typeof first === 'string') {
    kill('SIGKILL');
    throw new Error(`${options.role} did not get ready (${first}):\n${lines.join('\n')}`);
  }
  const started: StartedProcess = {
    pid: child.pid!,
    port: Number(first['port'] ?? 0),
    metricsPort: Number(first['metrics_port'] ?? 0),
    output: () => lines.join('\n'),
    logs: () => lines.map(parseLine).filter((entry) => entry !== undefined),
    exited,
    kill,
    stop: async () => {
      kill();
      const deadline = setTimeout(kill, STOP_MS, 'SIGKILL');
      const code = await exited;
      clearTimeout(deadline);
      return code;
    },
  };
  running.add(started);
  atFileEnd(async () => {
    started.kill('SIGKILL');
    await exited;
    running.delete(started);
  });
  return started;
}

function launch({ role, env, entry }: ProcessOptions): ChildProcess {
  const file = entry ?? (role === 'api' ? 'api/main.ts' : `workers/${role}/main.ts`);
  const addresses = {
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    LAME_DUCK_MS: '0',
    SUPPORT_EMAIL: 'support@docket.example',
    RECEIPT_WAIT_MS: String(2_000 * PATIENCE),
  };
  return spawn(process.execPath, [join(ROOT, file)], {
    cwd: ROOT,
    env: { ...childEnvironment(), ...addresses, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function parseLine(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
