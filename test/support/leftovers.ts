import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Directories of test runs are `<prefix><pid of the run>-<random>`. */
export const RUN_PREFIX = 'docket-test-';

export interface Leftover {
  pid: number;
  command: string;
}

/**
 * Processes that a run has started and not ended: those that inherited its id, and the stores, which
 * overwrite their environment but work in its directory. Linux only; elsewhere nothing is found.
 */
export async function findLeftovers(directory: string, runId: string): Promise<Leftover[]> {
  const found: Leftover[] = [];
  for (const pid of await processIds()) {
    const [environment, cwd, commandLine] = await Promise.all([
      readFile(`/proc/${pid}/environ`, 'latin1').catch(() => ''),
      readlink(`/proc/${pid}/cwd`).catch(() => ''),
      readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => ''),
    ]);
    const ours =
      environment.includes(`DOCKET_TEST_RUN=${runId}`) ||
      cwd.startsWith(directory) ||
      commandLine.includes(directory);
    // Vitest ends its own workers after this look, and with them their hosts of commands; the bundler's service with itself.
    const theirs = /vitest|esbuild|rolldown|command-host-process/.test(commandLine);
    if (ours && !theirs && pid !== process.pid && commandLine !== '') {
      found.push({ pid, command: commandLine.replaceAll('\0', ' ').trim() });
    }
  }
  return found;
}

/** Cleans up in a directory of runs after those that were killed before they could do so themselves. */
export async function removeDeadRuns(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(new RegExp(`^${RUN_PREFIX}(\\d+)-`).exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    const directory = join(parent, name);
    for (const left of await findLeftovers(directory, 'none')) process.kill(left.pid, 'SIGKILL');
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function processIds(): Promise<number[]> {
  const entries = await readdir('/proc').catch(() => []);
  return entries.filter((name) => /^\d+$/.test(name)).map(Number);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
