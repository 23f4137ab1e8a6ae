import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Role } from '#shared/config/settings.ts';
import { childEnvironment } from '#test/support/child-environment.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Far longer than a start takes: on a busy machine several are at it at once. */
const READY_MS = 300_000;

export interface Ended {
  code: number | null;
  lines: string[];
}

export interface Running {
  port: number;
  metricsPort: number;
  lines: readonly string[];
  stop: () => Promise<Ended>;
}

export type Variables = Readonly<Record<string, string>>;

/** Runs a file of the product to its end. */
export async function run(
  file: string,
  env: Variables,
  args: readonly string[] = [],
): Promise<Ended> {
  const { lines, ended } = begin(file, env, { args });
  return { code: await ended, lines };
}

export interface StartOptions {
  args?: readonly string[];
  /** Where another build of the product stands. */
  root?: string;
  /** A command that runs the one behind it, elsewhere. */
  within?: readonly string[];
}

/** Starts a process of the product and returns when it is ready. */
export async function start(
  file: string,
  env: Variables,
  options: StartOptions = {},
): Promise<Running> {
  const { child, lines, ended, ready } = begin(file, env, options);
  const late = AbortSignal.timeout(READY_MS);
  const silence = new Promise<undefined>((resolve) => {
    late.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const first = await Promise.race([ready, ended.then(() => undefined), silence]);
  if (first === undefined) {
    child.kill('SIGKILL');
    throw new Error(`${file} did not get ready:\n${lines.join('\n')}`);
  }
  return {
    port: Number(first['port'] ?? 0),
    metricsPort: Number(first['metrics_port'] ?? 0),
    lines,
    stop: async () => {
      child.kill('SIGTERM');
      return { code: await ended, lines };
    },
  };
}

/** The file of a role's process. */
export const fileOf = (role: Role): string =>
  role === 'api' ? 'api/main.ts' : `workers/${role}/main.ts`;

function begin(
  file: string,
  env: Variables,
  { args = [], root = ROOT, within = [] }: StartOptions,
) {
  const [command, ...rest] = [...within, process.execPath, join(root, file), ...args];
  const child = spawn(command!, rest, {
    cwd: root,
    env: { ...childEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const ready = new Promise<Record<string, unknown>>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        if (line.includes('"event":"ready"')) {
          resolve(JSON.parse(line) as Record<string, unknown>);
        }
      });
    }
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, lines, ready, ended };
}
