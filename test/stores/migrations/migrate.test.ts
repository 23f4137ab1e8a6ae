import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { ForeignSchema, migrateToLatest, pendingMigrations } from '#migrations/migrate.ts';
import { createTestDatabase, waitsForLock } from '#test/support/database.ts';
import { isDeep } from '#test/support/depth.ts';
import { queryOnce, withDatabase } from '#test/support/sql.ts';
import { until } from '#test/support/until.ts';

const racing = await createTestDatabase({ empty: true });
const foreign = await createTestDatabase({ empty: true });
const blocked = await createTestDatabase({ empty: true });
const busy = await createTestDatabase({ empty: true });

describe('migrations', () => {
  it('twenty that race leave one schema, and each was applied once', async () => {
    const { url, pool } = racing;
    const applied = await Promise.all(Array.from({ length: 20 }, () => migrateToLatest(url)));
    const winners = applied.filter((names) => names.length > 0);
    expect(winners).toHaveLength(1);
    expect(winners[0]?.[0]).toBe('0001_roles');
    const rows = await queryOnce(url, 'select name from schema_migration order by name');
    expect(rows.map(({ name }) => name)).toEqual(winners[0]);
    expect(await pendingMigrations(pool)).toEqual([]);
  });

  it('of several databases of one cluster at once, which share the roles, all succeed', async () => {
    const server = inject('postgresUrl');
    const names = Array.from(
      { length: isDeep ? 20 : 4 },
      () => `test_${randomBytes(8).toString('hex')}`,
    );
    await Promise.all(names.map((name) => queryOnce(server, `create database ${name}`)));
    const applied = await Promise.all(
      names.map((name) => migrateToLatest(withDatabase(server, name))),
    );
    expect(new Set(applied.map((list) => list.join())).size).toBe(1);
    await Promise.all(names.map((name) => queryOnce(server, `drop database ${name}`)));
  });

  it('wait beside a transaction that is at work without holding up the requests behind them, and are applied when it ends', async () => {
    const { url, pool } = busy;
    const folder = join(import.meta.dirname, '../../../migrations');
    const files = readdirSync(folder).filter((name) => /^\d{4}.*\.sql$/.test(name));
    const before = files.filter((name) => name < '0029').toSorted();
    await pool.query('create table schema_migration (name text primary key, timestamp text)');
    for (const name of before) {
      await pool.query(readFileSync(join(folder, name), 'utf8'));
      await pool.query('insert into schema_migration values ($1, now()::text)', [
        name.slice(0, -4),
      ]);
    }
    const atWork = await pool.connect();
    await atWork.query('begin');
    await atWork.query('lock table sanctions_list in row exclusive mode');
    const migrating = migrateToLatest(url);
    await until(() => waitsForLock(pool));
    // It comes behind the migration, which is to go out of its way.
    await pool.query('select from sanctions_list');
    expect(await pendingMigrations(pool)).toContain('0029_sanctions_uploads');
    await atWork.query('commit');
    atWork.release();
    expect(await migrating).toContain('0029_sanctions_uploads');
  });

  it('that fail change nothing and name the file', async () => {
    const { url, pool } = blocked;
    await pool.query('create table account (in_the_way boolean)');
    await expect(migrateToLatest(url)).rejects.toThrow(/0002_accounts_and_keys/);
    const { rows } = await pool.query('select name from schema_migration');
    expect(rows).toEqual([]);
  });

  it('of a database that another build made, with migrations that are not here, none runs, and one line says what to do', async () => {
    const { url, pool } = foreign;
    await migrateToLatest(url);
    await pool.query(`update schema_migration set name = '0002_accounts' where name like '0002%'`);
    await pool.query(`delete from schema_migration where name > '0005'`);
    const { rows: before } = await pool.query('select name from schema_migration order by name');
    const refused = new ForeignSchema('0002_accounts');
    expect(refused.message).toMatch(/^The database was made by another build.* empty database.*$/);
    await expect(migrateToLatest(url)).rejects.toThrow(refused);
    await expect(pendingMigrations(pool)).rejects.toThrow(refused);
    const { rows } = await pool.query('select name from schema_migration order by name');
    expect(rows).toEqual(before);
  });
});
