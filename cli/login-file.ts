import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** What a user's home keeps of a sign-in at the command line. */
interface Login {
  token: string;
}

/** One file for each database, in the home of the user whose sign-in it is: a folder of data has other readers. */
function loginFile(databaseUrl: string): string {
  const { host, pathname, searchParams } = new URL(databaseUrl);
  // A socket stands behind the question mark, where the rest of the address may be empty.
  const socket = ['host', 'port', 'dbname'].map((part) => searchParams.get(part) ?? '').join(' ');
  const name = hash('sha256', `${host}${pathname} ${socket}`).slice(0, 16);
  return join(homedir(), '.config', 'docket', `login-${name}.json`);
}

/** Undefined where this user has not signed in. */
export function readLogin(databaseUrl: string): Login | undefined {
  const path = loginFile(databaseUrl);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    // Users of services often have a home that is no folder.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
  try {
    const { token } = JSON.parse(text) as Partial<Login>;
    if (typeof token === 'string') return { token };
  } catch {
    // Not JSON; the error below says so.
  }
  throw new Error(`${path} is no sign-in. Sign in again (docket login).`);
}

export function writeLogin(databaseUrl: string, login: Login): void {
  const path = loginFile(databaseUrl);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // A file that is there keeps its mode, and a link leads elsewhere: it goes first.
  rmSync(path, { force: true });
  writeFileSync(path, JSON.stringify(login), { mode: 0o600, flag: 'wx' });
}

export function removeLogin(databaseUrl: string): void {
  rmSync(loginFile(databaseUrl), { force: true });
}
