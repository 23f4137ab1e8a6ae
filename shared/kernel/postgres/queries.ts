import { Kysely, PostgresDialect } from 'kysely';
import type { Pool } from 'pg';
import type { Database } from './database.ts';

/** The query builder over the tables of the migrated schema: a column that does not exist does not compile. */
export type Queries = Kysely<Database>;

/** Queries on a pool's connections, with its rights and time-outs. The pool stays the caller's to end. */
export function queriesOn(pool: Pool): Queries {
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
