import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const IN_FOLDER = 'unix:';

/**
 * The beginning of addresses that lie in no folder, which Linux alone has. Such a name is one process's in one network
 * namespace of one machine, and any user's who comes first in all others, from where what is told could be passed on: so
 * an address names its namespace and machine, and leads nowhere from another. Undefined where it cannot be said.
 */
const ABSTRACT = abstractHere();

/** A fresh address on this machine. On Linux nothing is left of it when its process is killed. */
export function newAddress(): string {
  if (ABSTRACT !== undefined) return ABSTRACT + randomBytes(16).toString('hex');
  return `${IN_FOLDER}${join(mkdtempSync(join(tmpdir(), 'docket-')), 'replies')}`;
}

/** The path to listen at or to connect to; undefined for what is no such address, or one of another place. */
export function pathOf(address: string): string | undefined {
  if (ABSTRACT !== undefined)
    return address.startsWith(ABSTRACT) ? `\0${address.slice('unix:@'.length)}` : undefined;
  const path = address.startsWith(`${IN_FOLDER}/`) ? address.slice(IN_FOLDER.length) : undefined;
  return path !== undefined && isOurs(dirname(path)) ? path : undefined;
}

/** Removes the folder of an address that is given up. */
export function forgetAddress(address: string): void {
  if (ABSTRACT !== undefined) return;
  rmSync(dirname(address.slice(IN_FOLDER.length)), { recursive: true, force: true });
}

function abstractHere(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const machine = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const namespace = readlinkSync('/proc/self/ns/net');
    const here = createHash('sha256').update(`${machine} ${namespace}`).digest('hex').slice(0, 32);
    return `unix:@docket-${here}-`;
  } catch {
    return undefined;
  }
}

/** A folder of the same path may be another user's on another machine, or here once its process has died. */
function isOurs(folder: string): boolean {
  const found = statSync(folder, { throwIfNoEntry: false });
  return found !== undefined && found.uid === process.getuid?.();
}
