import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Before the name of a socket that lies in no folder, which Linux alone has. */
const ABSTRACT = 'unix:@';
const IN_FOLDER = 'unix:';

/** A fresh address on this machine. On Linux nothing is left of it when its process is killed. */
export function newAddress(): string {
  if (process.platform === 'linux') return `${ABSTRACT}docket-${randomBytes(16).toString('hex')}`;
  return `${IN_FOLDER}${join(mkdtempSync(join(tmpdir(), 'docket-')), 'replies')}`;
}

/** The path to listen at or to connect to; undefined for what is no such address. */
export function pathOf(address: string): string | undefined {
  if (address.startsWith(ABSTRACT)) return `\0${address.slice(ABSTRACT.length)}`;
  return address.startsWith(IN_FOLDER) ? address.slice(IN_FOLDER.length) : undefined;
}

/** Removes the folder of an address that is given up. */
export function forgetAddress(address: string): void {
  if (address.startsWith(ABSTRACT)) return;
  rmSync(dirname(address.slice(IN_FOLDER.length)), { recursive: true, force: true });
}
