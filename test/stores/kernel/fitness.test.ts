import { describe, expect, it } from 'vitest';
import { databaseCheck, databaseProblem } from '#shared/kernel/postgres/fitness.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { startRefusal } from '#shared/process/start-refusal.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const empty = await createTestDatabase({ empty: true });

function changed(url: string, change: (url: URL) => void): string {
  const made = new URL(url);
  change(made);
  return made.href;
}

/** What a process says that is not to start; undefined where it waits or works. */
async function refusalAt(url: string): Promise<string | undefined> {
  const pool = createPool({ url, role: 'docket_api', max: 1, applicationName: 'test' });
  try {
    await databaseCheck(pool, 'select from account limit 0')();
    return undefined;
  } catch (error) {
    return startRefusal(error);
  } finally {
    await pool.end();
  }
}

describe('a database that no process can work on [survives.unfit-database]', () => {
  it.each([
    ['a wrong password', (url: URL) => (url.password = 'wrong'), /password authentication failed/],
    ['a missing database', (url: URL) => (url.pathname = '/not_there'), /Create the database/],
    [
      'TLS that the server does not offer',
      (url: URL) => url.searchParams.set('sslmode', 'verify-full'),
      /does not support SSL connections\. Take sslmode out of the URL/,
    ],
    [
      'a file of an authority that is not there',
      (url: URL) => url.searchParams.set('sslrootcert', '/not/there.pem'),
      /Correct sslrootcert/,
    ],
  ])('%s is refused in one line', async (_, change, said) => {
    const refusal = await refusalAt(changed(database.url, change));
    expect(refusal).toMatch(said);
    expect(refusal).toMatch(/^DATABASE_URL cannot be used: [^\n]+$/);
  });

  it('one that was never migrated is refused in one line that says how', async () => {
    expect(await refusalAt(empty.url)).toMatch(
      /^[^\n]*has no schema of Docket\. Run node migr[^\n]*$/,
    );
  });

  it('a server that is too old is, with its version', async () => {
    const rows = [{ version: '14.11', number: 140_011, migrated: true }];
    const old = { query: async () => ({ rows }) } as unknown as Queryable;
    const refused = await databaseCheck(old, 'select')().catch(startRefusal);
    expect(refused).toMatch(/^[^\n]*PostgreSQL 14\.11\. Use 15 or newer\.$/);
  });

  it('one that cannot be reached, and one that is migrated, are not', async () => {
    expect(await refusalAt(changed(database.url, (url) => (url.port = '1')))).toBeUndefined();
    expect(await refusalAt(database.url)).toBeUndefined();
    expect(databaseProblem(Object.assign(new Error('gone'), { code: '57P01' }))).toBeUndefined();
  });
});
