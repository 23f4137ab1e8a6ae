import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { type Migration, type MigrationProvider, Migrator } from 'kysely/migration';
import type { Pool } from 'pg';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';

const DIRECTORY = import.meta.dirname;
const TABLE = 'schema_migration';

/** Migrations are applied in the order of their numbers. Two with one number are refused, so that none is passed by unseen. */
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;

/**
 * Brings a database to the newest schema. All that is missing is applied in one transaction under
 * an advisory lock, so any number of processes may call this at once, and a failure changes nothing.
 * @param target pool or URL of a user who owns the schema.
 * @returns the names of the migrations that this call applied.
 */
export async function migrateToLatest(target: Pool | string): Promise<string[]> {
  if (typeof target !== 'string') return migrate(target);
  const pool = createPool({ url: target, max: 2, applicationName: 'docket release' });
  try {
    return await migrate(pool);
  } finally {
    await pool.end();
  }
}

/** Names of the migrations that the database does not have yet. */
export async function pendingMigrations(pool: Pool): Promise<string[]> {
  const rows = await queriesOn(pool)
    .withTables<{ [TABLE]: { name: string } }>()
    .selectFrom(TABLE)
    .select('name')
    .execute();
  const applied = new Set(rows.map(({ name }) => name));
  return Object.keys(await readMigrations()).filter((name) => !applied.has(name));
}

async function migrate(pool: Pool): Promise<string[]> {
  const provider: MigrationProvider = { getMigrations: readMigrations };
  const migrator = new Migrator({
    db: new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) }),
    provider,
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
  });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const failed = results.find(({ status }) => status === 'Error')?.migrationName;
    const where = failed === undefined ? '' : ` in ${failed}`;
    const reason = error instanceof Error ? error.message : JSON.stringify(error);
    throw new Error(`The migration failed${where}, and the database is as it was: ${reason}`, {
      cause: error,
    });
  }
  return results.map(({ migrationName }) => migrationName);
}

async function readMigrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(DIRECTORY)).filter((name) => FILE_NAME.test(name)).toSorted();
  const migrations: Record<string, Migration> = {};
  const numbers = new Set<string>();
  for (const file of files) {
    const number = FILE_NAME.exec(file)?.[1] ?? '';
    if (numbers.has(number)) throw new Error(`${file}: another migration has the number ${number}`);
    numbers.add(number);
    const text = await readFile(join(DIRECTORY, file), 'utf8');
    migrations[file.replace(/\.sql$/, '')] = {
      up: async (db) => {
        await sql.raw(text).execute(db);
      },
    };
  }
  return migrations;
}
