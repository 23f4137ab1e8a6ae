import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type DevFile, readDevFile } from '#embedded/launcher/dev-file.ts';
import { childEnvironment } from '#test/support/child-environment.ts';

export interface StartedLauncher {
  pid: number;
  output: () => string;
  /** Settles with the exit code, null after a signal. */
  exited: Promise<number | null>;
  /** Waits until the output matches. */
  said: (pattern: RegExp) => Promise<void>;
  devFile: () => Promise<DevFile>;
  kill: (signal: NodeJS.Signals) => void;
}

/** A start with everything cold, on a machine that does much else. */
export const START_MS = 120_000;

const running = new Set<StartedLauncher>();

/** Stops all that were started; for an `afterEach` of the file. */
export async function stopLaunchers(): Promise<void> {
  for (const launcher of running) launcher.kill('SIGTERM');
  await Promise.all([...running].map(({ exited }) => exited));
  running.clear();
}

export interface StartOptions {
  /** In place of the fixture's: those of the product. */
  realRoles?: boolean;
  /** Runs on a terminal of its own; `kill` is for that terminal then. */
  terminal?: boolean;
  /** Runs in a shell, as npm runs it; `kill` is for that shell then. */
  npm?: boolean;
  /** Loads each module from its own file, without what makes starts of tests quick. */
  fileByFile?: boolean;
}

/** Starts the launcher in a process of its own, with the fixture's roles and a real PostgreSQL and Redis. */
export function startLauncher(
  dataDir: string,
  env: Record<string, string> = {},
  { realRoles = false, terminal = false, npm = false, fileByFile = false }: StartOptions = {},
): StartedLauncher {
  const program = realRoles
    ? [join(import.meta.dirname, '../../../cli/docket.ts'), 'up']
    : [join(import.meta.dirname, 'launcher-process.ts')];
  // The fixture has no program in which roles share a process.
  const own = realRoles ? {} : { BACKGROUND_ROLES: 'none' };
  const command = [process.execPath, ...program];
  const line = command.join(' ');
  const onTerminal = ['script', '-qfec', line, '/dev/null'];
  const inShell = ['sh', '-c', `${line}; exit $?`];
  const [file, ...args] = terminal ? onTerminal : npm ? inShell : command;
  const child: ChildProcess = spawn(file!, args, {
    env: {
      ...childEnvironment(),
      ...(fileByFile ? { NODE_OPTIONS: '' } : {}),
      PORT: '0',
      DOCKET_DATA_DIR: dataDir,
      ...own,
      ...(npm ? { npm_command: 'exec' } : {}),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  }
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const launcher: StartedLauncher = {
    pid: child.pid!,
    output: () => text,
    exited,
    said: async (pattern) => {
      await vi.waitFor(
        () => {
          if (!pattern.test(text)) throw new Error(`${pattern} is not in:\n${text}`);
        },
        { timeout: START_MS, interval: 20 },
      );
    },
    devFile: async () => (await readDevFile(dataDir))!,
    kill: (signal) => void child.kill(signal),
  };
  running.add(launcher);
  return launcher;
}

/** True while there is such a process. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until none of the processes is there any more. */
export async function gone(pids: readonly number[]): Promise<void> {
  await vi.waitFor(
    () => {
      const left = pids.filter(isAlive);
      if (left.length > 0) throw new Error(`still there: ${left.join(', ')}`);
    },
    { timeout: 20_000, interval: 20 },
  );
}
