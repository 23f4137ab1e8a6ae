import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8');

/** The block of the page that has these words, as an operator copies it. @throws Error where the page has none, or two */
function blockWith(words: string): string {
  const blocks = [...PAGE.matchAll(/^```\w*\n([^]*?)^```$/gm)].map(([, block]) => block!);
  const found = blocks.filter((block) => block.includes(words));
  if (found.length !== 1) throw new Error(`${found.length} blocks of the page have ${words}`);
  return found[0]!;
}

/** Makes signing keys and lane keys as the page says, in these folders. */
export async function makeDocumentedKeys(env: {
  SIGNING_KEYS_DIR: string;
  LANE_KEYS_DIR: string;
}): Promise<void> {
  for (const block of [blockWith('openssl genpkey'), blockWith('openssl rand')])
    await promisify(execFile)('bash', ['-euc', block], {
      env: { PATH: process.env['PATH'], ...env },
    });
}

/** The statements that make the schema's owner and the database. */
export function documentedOwner(password: string): string[] {
  return blockWith('create role docket_owner').trim().replace('…', password).split('\n');
}

/** The roles that the page has become logins after the first migration. */
export function documentedLogins(): string[] {
  return blockWith('alter role docket_api login').match(/docket_\w+/g)!;
}

/** The command that gives the service its user of Redis. */
export function documentedRedisUser(password: string): string[] {
  return blockWith('ACL SETUSER').trim().replace('<password>', password).split(' ');
}

/** The commands of a backup, and of what brings it back. */
export const documentedBackup = (): string => blockWith('pg_basebackup');
export const documentedRestore = (): string => blockWith('recovery.signal');
