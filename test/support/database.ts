import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { afterAll, inject } from 'vitest';
import { createPool, type DatabaseRole } from '#shared/kernel/postgres/pool.ts';
import { TEMPLATE } from './global-setup.ts';
import { queryOnce, withDatabase } from './sql.ts';

export interface TestDatabase {
  /** As the owner of the schema; give it to processes under test as DATABASE_URL. */
  url: string;
  /** As the owner of the schema, for arranging and looking. */
  pool: Pool;
  /** A pool with the rights of one process; ended with the database. */
  poolAs(role: DatabaseRole, max?: number): Pool;
}

/** Steps that are to be undone after the file's last test. */
const undo: (() => Promise<void>)[] = [];

afterAll(async () => {
  await Promise.all(undo.splice(0).map((step) => step()));
});

/**
 * A database of the file's own, with the newest schema, empty; dropped after the file's last test.
 * @param options.empty without a schema, for tests of the migrations themselves.
 */
export async function createTestDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const server = inject('postgresUrl');
  const name = `test_${randomBytes(8).toString('hex')}`;
  // Its files are copied as they are: by way of the log, as is usual, each of their pages would be written twice.
  await queryOnce(
    server,
    `create database ${name} template ${empty ? 'template0' : TEMPLATE} strategy file_copy`,
  );
  const url = withDatabase(server, name);
  const pools: Pool[] = [];
  const open = (max: number, role?: DatabaseRole): Pool => {
    const pool = createPool({ url, max, applicationName: name, ...(role ? { role } : {}) });
    pools.push(pool);
    return pool;
  };
  undo.push(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await queryOnce(server, `drop database ${name} with (force)`);
  });
  const pool = open(10);
  return { url, pool, poolAs: (role, max = 10) => open(max, role) };
}
