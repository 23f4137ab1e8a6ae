import { mkdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readPlainFile, removeName, writePrivateFile } from './private-file.ts';

/**
 * Claims a store's directory for this process, so that two launchers never run two servers on the
 * same files. The claim of a process that is gone does not count.
 * @throws Error that names the process which holds the directory.
 */
export async function claimDirectory(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true });
  const file = join(dir, 'owner');
  const owner = await readPlainFile(file).catch(() => '');
  const pid = Number.parseInt(owner, 10);
  if (pid > 0 && pid !== process.pid && owner === (await identityOf(pid))) {
    throw new Error(`${dir} is in use by process ${pid}; stop it or choose another directory`);
  }
  await writePrivateFile(file, (await identityOf(process.pid)) ?? '');
}

/** Gives the directory back. */
export async function releaseDirectory(dir: string): Promise<void> {
  await removeName(join(dir, 'owner'));
}

/**
 * Stops a server that outlived its launcher (which was killed), so that a new one can have its
 * files. Does nothing when the process that the file names is not a server working in `dir`.
 */
export async function stopOrphan(
  pidFile: string,
  dir: string,
  signal: NodeJS.Signals,
  stopMs: number,
): Promise<void> {
  const pid = Number.parseInt(await readPlainFile(join(dir, pidFile)).catch(() => ''), 10);
  if (!(pid > 0) || !(await worksIn(pid, dir))) return;
  process.kill(pid, signal);
  const deadline = Date.now() + stopMs;
  while (await worksIn(pid, dir)) {
    if (Date.now() > deadline) process.kill(pid, 'SIGKILL');
    await delay(20);
  }
}

/**
 * Tells our server from a stranger with the same number. Both stores change into their data
 * directory; where we may not see that of another user's process, PostgreSQL names it when started. They run as the
 * directory's owner, who wrote the number, and may not have another user's process stopped by it.
 */
async function worksIn(pid: number, dir: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  const [cwd, commandLine, status, own, owner] = await Promise.all([
    readlink(`/proc/${pid}/cwd`).catch(() => ''),
    readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
    readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''),
    realpath(dir).catch(() => dir),
    stat(dir).then(({ uid }) => uid),
  ]);
  if (Number(/^Uid:\t(\d+)/m.exec(status)?.[1]) !== owner) return false;
  return cwd === own || commandLine.split('\0').includes(dir);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * A process number with its start time, where the system tells it: numbers come again, above all in
 * a restarted container. Undefined when there is no such process.
 */
async function identityOf(pid: number): Promise<string | undefined> {
  if (!isAlive(pid)) return undefined;
  if (process.platform !== 'linux') return String(pid);
  const row = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // Fields are counted after the command, which may hold blanks itself; the start time is the 22nd.
  const fields = row.slice(row.lastIndexOf(')') + 2).split(' ');
  const [state, started] = [fields[0], fields[19]];
  // A zombie has ended; only its parent has not looked yet.
  return started === undefined || state === 'Z' ? undefined : `${pid} ${started}`;
}
