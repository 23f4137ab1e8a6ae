import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { inject } from 'vitest';
import { createPool, type DatabaseRole } from '#shared/kernel/postgres/pool.ts';
import { TEMPLATE } from './global-setup.ts';
import { atFileEnd } from './file-end.ts';
import { queryOnce, withDatabase } from './sql.ts';

export interface TestDatabase {
  /** As the owner of the schema; give it to processes under test as DATABASE_URL. */
  url: string;
  /** As the owner of the schema, for arranging and looking. */
  pool: Pool;
  /** A pool with the rights of one process; ended with the database. */
  poolAs(role: DatabaseRole, max?: number): Pool;
}

/**
 * A database of the file's own, with the newest schema, empty; dropped after the file's last test.
 * @param options.empty without a schema, for tests of the migrations themselves.
 */
export function createTestDatabase(options: { empty?: boolean } = {}): Promise<TestDatabase> {
  return createDatabaseOn(inject('postgresUrl'), options);
}

/** The same where no test is run: before all files. */
export async function createDatabaseOn(
  server: string,
  { empty = false }: { empty?: boolean } = {},
): Promise<TestDatabase> {
  const { name, url, open } = await cloneTemplate(server, empty ? 'template0' : TEMPLATE);
  const pools: Pool[] = [];
  const kept: typeof open = (...how) => {
    const pool = open(...how);
    pools.push(pool);
    return pool;
  };
  atFileEnd(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await queryOnce(server, `drop database ${name} with (force)`);
  });
  const pool = kept(10);
  return { url, pool, poolAs: (role, max = 10) => kept(max, role) };
}

/** One for all files of a process, which look at what the first of them has put there. Between queries no connection is open. */
export async function createKeptDatabase(): Promise<TestDatabase> {
  const { url, open } = await cloneTemplate(inject('postgresUrl'), TEMPLATE);
  const kept: typeof open = (...how) => {
    const pool = open(...how);
    pool.options.idleTimeoutMillis = 1;
    return pool;
  };
  const pool = kept(10);
  return { url, pool, poolAs: (role, max = 10) => kept(max, role) };
}

async function cloneTemplate(server: string, template: string) {
  const name = `test_${randomBytes(8).toString('hex')}`;
  // Its files are copied as they are: by way of the log, as is usual, each of their pages would be written twice.
  await queryOnce(server, `create database ${name} template ${template} strategy file_copy`);
  const url = withDatabase(server, name);
  const open = (max: number, role?: DatabaseRole): Pool =>
    createPool({ url, max, applicationName: name, ...(role ? { role } : {}) });
  return { name, url, open };
}

/** Whether so many statements wait for a row of this database that another holds. */
export async function waitsForLock(pool: Pool, statements = 1): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rowCount! >= statements;
}
