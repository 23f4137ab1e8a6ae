import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  sql,
} from 'kysely';
import type { Database } from './database.ts';
import type { Queryable } from './transaction.ts';

/** The query builder over the tables of the migrated schema: a column that does not exist does not compile. */
export type Queries = Kysely<Database>;

const known = new WeakMap<Queryable, Queries>();

/**
 * Queries on a pool, or within the transaction that a client holds (`inTransaction`), with the rights and
 * time-outs of its connections. Asking again for the same pool or client costs a look-up.
 */
export function queriesOn(on: Queryable): Queries {
  let queries = known.get(on);
  if (queries === undefined) {
    queries = new Kysely<Database>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new QueryableDriver(on),
        createIntrospector: (db) => new PostgresIntrospector(db),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    });
    known.set(on, queries);
  }
  return queries;
}

/** Hands each statement to the pool or client, which stays its owner's to end. */
class QueryableDriver implements Driver {
  readonly #connection: DatabaseConnection;

  constructor(on: Queryable) {
    this.#connection = {
      async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
        const { command, rowCount, rows } = await on.query(query.sql, [...query.parameters]);
        const changes = /^(INSERT|UPDATE|DELETE|MERGE)$/.test(command);
        return { rows, ...(changes ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) };
      },
      streamQuery: () => {
        throw new Error('Rows are read in pages here, not as a stream.');
      },
    };
  }

  async init(): Promise<void> {}
  async destroy(): Promise<void> {}
  async releaseConnection(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  /** On a pool, `begin` and what follows it could run on different connections. */
  async beginTransaction(): Promise<void> {
    throw new Error('Transactions are begun with inTransaction, which holds one connection.');
  }

  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
}

/** The server's clock: processes may disagree about the time. */
export const now = sql<Date>`now()`;
