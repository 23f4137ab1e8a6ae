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
  const { host, pathname } = new URL(databaseUrl);
  const name = hash('sha256', `${host}${pathname}`).slice(0, 16);
  return join(homedir(), '.config', 'docket', `login-${name}.json`);
}

/** Undefined where this user has not signed in. */
export function readLogin(databaseUrl: string): Login | undefined {
  const path = loginFile(databaseUrl);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
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
  // A file that is there keeps its mode: it goes first.
  rmSync(path, { force: true });
  writeFileSync(path, JSON.stringify(login), { mode: 0o600 });
}

export function removeLogin(databaseUrl: string): void {
  rmSync(loginFile(databaseUrl), { force: true });
}
