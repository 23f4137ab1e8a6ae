import { execFile } from 'node:child_process';
import { lchown, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

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

/** Gives a directory and everything in it to the user. Symbolic links are given as such: what they name is not. */
export async function giveTo(user: Pick<SystemUser, 'uid' | 'gid'>, dir: string): Promise<void> {
  await lchown(dir, user.uid, user.gid);
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) await giveTo(user, path);
    else await lchown(path, user.uid, user.gid);
  }
}

export interface Invocation {
  command: string;
  args: readonly string[];
  user?: { uid: number; gid: number };
}

/**
 * The command line that runs `command` as the user. Root's home directory is closed to everyone else; where the
 * paths lie in such a place the command keeps one capability, to pass through directories, and
 * nothing more of root's rights.
 */
export async function runAs(
  user: SystemUser | undefined,
  command: string,
  args: readonly string[],
  paths: readonly string[],
): Promise<Invocation> {
  if (user === undefined) return { command, args };
  const open = await Promise.all([command, ...paths].map((path) => canReach(user, path)));
  if (open.every(Boolean)) return { command, args, user: { uid: user.uid, gid: user.gid } };
  const capability = await passingCapability();
  const prefix = [
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    '--clear-groups',
    // Without this bit access(2), by which initdb looks for its files, would not count the capability.
    '--securebits=+no_setuid_fixup',
    `--inh-caps=+${capability}`,
    `--ambient-caps=+${capability}`,
    '--',
  ];
  await promisify(execFile)('setpriv', [...prefix, 'true']).catch((cause: unknown) => {
    const message = `${command} must not run as root, and the user ${user.name} cannot reach ${resolve('.')}: move it out of root's home`;
    throw new Error(message, { cause });
  });
  return { command: 'setpriv', args: [...prefix, command, ...args] };
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
