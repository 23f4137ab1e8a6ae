import { execFile } from 'node:child_process';
import { chmod, lchown, lstat, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { bareEnvironment } from './bare-environment.ts';

export interface SystemUser {
  name: string;
  uid: number;
  gid: number;
}

/** The users that a server may run as when this process is root, in order of preference. */
const CANDIDATES = ['postgres', 'nobody'];

/** The user to drop to, or undefined when this process is not root. */
export async function unprivilegedUser(): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((row) => row.split(':'));
  for (const name of CANDIDATES) {
    const account = accounts.find(([login]) => login === name);
    if (account !== undefined) return { name, uid: Number(account[2]), gid: Number(account[3]) };
  }
  throw new Error(`The stores do not run as root, and there is no user ${CANDIDATES.join(' or ')}`);
}

/** Of a directory with what is ours: as root, the user of the stores passes through it on the way to its own. */
export const OWN_DIRECTORY_MODE = process.getuid?.() === 0 ? 0o711 : 0o700;

/**
 * Gives a directory and everything in it to the user, and closes it to all others. Symbolic links are given as such:
 * what they name is not. Nor is a file that has a second name, since its user may have linked one of ours in here.
 *
 * Another user may have it until now, and put something else in the place of what we have looked at. So each directory
 * becomes ours, and closed, before we look into it, and is given last: in between no other user changes a name in it. The
 * name of `dir` itself is for the caller to keep.
 */
export async function giveTo(user: Pick<SystemUser, 'uid' | 'gid'>, dir: string): Promise<void> {
  if (!(await lstat(dir)).isDirectory()) throw new Error(`${dir} is not a directory`);
  await lchown(dir, process.getuid!(), process.getgid!());
  await chmod(dir, 0o700);
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await giveTo(user, path);
    else if ((await lstat(path)).nlink === 1) await lchown(path, user.uid, user.gid);
  }
  await lchown(dir, user.uid, user.gid);
}

/** Removes a directory that another user may have. As root it is taken back first, so that only what is in it goes. */
export async function removeGiven(dir: string): Promise<void> {
  const isThere = await lstat(dir).then(
    () => true,
    () => false,
  );
  if (isThere && process.getuid?.() === 0) await giveTo({ uid: 0, gid: 0 }, dir);
  await rm(dir, { recursive: true, force: true });
}

export interface Invocation {
  command: string;
  args: readonly string[];
  user?: { uid: number; gid: number };
}

/**
 * The command line that runs `command` as the user, with nothing of root's rights and no way to gain any
 * (`no_new_privs`, an empty bounding set). Root's home directory is closed to everyone else; where the paths lie in such
 * a place the command keeps one capability, to pass through directories. On a machine without setpriv it is started as
 * the user, which drops every capability too, but leaves it programs that raise their caller.
 * @param paths absolute ones that the command opens, besides its own
 */
export async function runAs(
  user: SystemUser | undefined,
  command: string,
  args: readonly string[],
  paths: readonly string[],
): Promise<Invocation> {
  if (user === undefined) {
    const alone = ['--no-new-privs', '--'];
    return (await works(alone))
      ? { command: 'setpriv', args: [...alone, command, ...args] }
      : { command, args };
  }
  const drop = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--no-new-privs'];
  const open = await Promise.all([command, ...paths].map((path) => canReach(user, path)));
  if (open.every(Boolean)) {
    const none = [...drop, '--inh-caps=-all', '--bounding-set=-all', '--'];
    return (await works(none))
      ? { command: 'setpriv', args: [...none, command, ...args] }
      : { command, args, user: { uid: user.uid, gid: user.gid } };
  }
  const capability = await passingCapability();
  const one = [
    ...drop,
    // Without this bit access(2), by which initdb looks for its files, would not count the capability.
    '--securebits=+no_setuid_fixup',
    `--inh-caps=-all,+${capability}`,
    `--ambient-caps=+${capability}`,
    `--bounding-set=-all,+${capability}`,
    '--',
  ];
  if (await works(one)) return { command: 'setpriv', args: [...one, command, ...args] };
  throw new Error(
    `${command} must not run as root, and the user ${user.name} cannot reach ${resolve('.')}: move it out of root's home`,
  );
}

/** Whether there is a setpriv here that may do this; what a container leaves to its root differs. */
function works(prefix: readonly string[]): Promise<boolean> {
  return promisify(execFile)('setpriv', [...prefix, 'true'], { env: bareEnvironment() }).then(
    () => true,
    () => false,
  );
}

/** The lesser of the two capabilities that open directories, if we have it; containers often do not. */
async function passingCapability(): Promise<string> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  const readSearch = 1n << 2n;
  return (effective & readSearch) === 0n ? 'dac_override' : 'dac_read_search';
}

async function canReach(user: SystemUser, path: string): Promise<boolean> {
  for (let dir = dirname(resolve(path)); ; dir = dirname(dir)) {
    const { mode, uid, gid } = await stat(dir);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (dir === dirname(dir)) return true;
  }
}
