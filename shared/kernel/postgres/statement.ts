import type { QueryConfig } from 'pg';
import type { Queryable } from './transaction.ts';

/** Types of columns by PostgreSQL's names (`_text` is an array of `text`), and what the driver makes of them: `int8` stays text, it may exceed a number. */
interface DriverTypes {
  _float8: number[];
  _int4: number[];
  _text: string[];
  bool: boolean;
  bytea: Buffer;
  float8: number;
  int2: number;
  int4: number;
  int8: string;
  numeric: string;
  text: string;
  timestamptz: Date;
}

/** A type by name, with a question mark where the column may be null; or the values that a text column has. */
type Column = keyof DriverTypes | `${keyof DriverTypes}?` | readonly string[];

/** The columns of a statement's rows, in the order of its select list. */
export type Columns = Readonly<Record<string, Column>>;

type ValueOf<C> = C extends readonly (infer Value)[]
  ? Value
  : C extends keyof DriverTypes
    ? DriverTypes[C]
    : C extends `${infer Name extends keyof DriverTypes}?`
      ? DriverTypes[Name] | null
      : never;

export interface Statement<C extends Columns = Columns> {
  readonly columns: C;
  readonly text: string;
  /** Under which each connection keeps it prepared. */
  readonly name?: string;
}

/** A row of a statement. */
export type Row<S> =
  S extends Statement<infer C> ? { -readonly [Name in keyof C]: ValueOf<C[Name]> } : never;

/**
 * SQL to be read, with the columns of its rows: none where it returns nothing. A test has PostgreSQL describe each
 * statement over the migrated schema and compares names and types, so that the type of a row is what really comes.
 */
export function statement<const C extends Columns>(
  columns: C,
  text: string,
  options: { name?: string } = {},
): Statement<C> {
  return { columns, text, ...options };
}

export async function queryRows<C extends Columns>(
  db: Queryable,
  query: Statement<C>,
  values: readonly unknown[] = [],
): Promise<Row<Statement<C>>[]> {
  const { rows } = await db.query(configOf(query, values));
  return rows as Row<Statement<C>>[];
}

/** The first row, for statements that return one or none. */
export async function queryRow<C extends Columns>(
  db: Queryable,
  query: Statement<C>,
  values: readonly unknown[] = [],
): Promise<Row<Statement<C>> | undefined> {
  const [row] = await queryRows(db, query, values);
  return row;
}

/** Returns how many rows the statement wrote or deleted. */
export async function execute(
  db: Queryable,
  query: Statement,
  values: readonly unknown[] = [],
): Promise<number> {
  const { rowCount } = await db.query(configOf(query, values));
  return rowCount ?? 0;
}

function configOf({ text, name }: Statement, values: readonly unknown[]): QueryConfig {
  return name === undefined ? { text, values: [...values] } : { name, text, values: [...values] };
}
