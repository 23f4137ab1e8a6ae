import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { type Migration, type MigrationProvider, Migrator } from 'kysely/migration';
import type { Pool } from 'pg';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { refuseOldServer } from '#shared/kernel/postgres/fitness.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';

const DIRECTORY = import.meta.dirname;
const TABLE = 'schema_migration';

/** Migrations are applied in the order of their numbers. Two with one number are refused, so that none is passed by unseen. */
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;

/**
 * A table that requests are at work on is waited for so long: everything that comes to it meanwhile waits behind. Then the
 * migration goes out of the way, and begins anew, as it does when it and a request wait for each other.
 */
const LOCK_MS = 2_000;
const AGAIN_AFTER_MS = 1_000;
const TRIES = 30;
/** deadlock_detected, lock_not_available. */
const IN_THE_WAY: ReadonlySet<unknown> = new Set(['40P01', '55P03']);

/** What a person can do about a database of another build. */
const REMEDY =
  'start the build that made it, or a newer one; or begin anew, with an empty database in DATABASE_URL, or an empty folder in DOCKET_DATA_DIR where PostgreSQL comes with Docket';

/** The database has migrations that this build does not have: another one made it. */
export class ForeignSchema extends Error {
  readonly remedy = REMEDY;
  readonly migration: string;

  constructor(migration: string) {
    super(
      `The database was made by another build of Docket, which has the migration ${migration}: ${REMEDY}.`,
    );
    this.name = 'ForeignSchema';
    this.migration = migration;
  }
}

/**
 * Brings a database to the newest schema. All that is missing is applied in one transaction under
 * an advisory lock, so any number of processes may call this at once, and a failure changes nothing. Beside processes that
 * serve, requests wait seconds at most for it to come by a table; what it then does to one, they wait for until all is done.
 * @param target pool or URL of a user who owns the schema.
 * @returns the names of the migrations that this call applied.
 * @throws ForeignSchema, or DatabaseProblem for a server that is too old, before anything is changed
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

/**
 * Names of the migrations that the database does not have yet.
 * @throws ForeignSchema
 */
export async function pendingMigrations(pool: Pool): Promise<string[]> {
  return pendingOf(await readMigrations(), await appliedMigrations(pool));
}

async function appliedMigrations(pool: Pool): Promise<string[]> {
  const rows = await queriesOn(pool)
    .withTables<{ [TABLE]: { name: string } }>()
    .selectFrom(TABLE)
    .select('name')
    .orderBy('name')
    .execute();
  return rows.map(({ name }) => name);
}

function pendingOf(migrations: Record<string, Migration>, applied: readonly string[]): string[] {
  const foreign = applied.find((name) => !(name in migrations));
  if (foreign !== undefined) throw new ForeignSchema(foreign);
  return Object.keys(migrations).filter((name) => !applied.includes(name));
}

async function migrate(pool: Pool): Promise<string[]> {
  const { migrated } = await refuseOldServer(pool);
  if (migrated) await pendingMigrations(pool);
  const provider: MigrationProvider = { getMigrations: () => readMigrations(migrated) };
  const migrator = new Migrator({
    db: new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) }),
    provider,
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
  });
  let { error, results = [] } = await migrator.migrateToLatest();
  for (let tries = 1; isInTheWay(error) && tries < TRIES; tries += 1) {
    await delay(AGAIN_AFTER_MS);
    ({ error, results = [] } = await migrator.migrateToLatest());
  }
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

const isInTheWay = (error: unknown): boolean =>
  error instanceof Error && IN_THE_WAY.has(Reflect.get(error, 'code'));

/** @param beside whether processes may be at work on the database */
async function readMigrations(beside = false): Promise<Record<string, Migration>> {
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
        await sql.raw(beside ? `set local lock_timeout = ${LOCK_MS};\n${text}` : text).execute(db);
      },
    };
  }
  return migrations;
}
