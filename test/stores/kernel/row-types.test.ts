import { Client, type Connection, type FieldDef, type Submittable } from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '#test/support/database.ts';
import { findTypedStatements, type TypedStatement } from '#test/support/typed-statements.ts';

const database = await createTestDatabase();
const client = new Client({ connectionString: database.url });
await client.connect();
afterAll(() => client.end());

/** What the driver makes of a column of each type. */
const READ_AS: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bytea: 'Buffer',
  float8: 'number',
  int2: 'number',
  int4: 'number',
  int8: 'string',
  name: 'string',
  numeric: 'string',
  regclass: 'string',
  text: 'string',
  timestamptz: 'Date',
  varchar: 'string',
};

/** Has PostgreSQL parse a statement and say what it would give, without running it. */
class Description implements Submittable {
  readonly done = Promise.withResolvers<readonly FieldDef[]>();
  readonly #text: string;
  #fields: readonly FieldDef[] = [];
  #error: Error | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  submit(connection: Connection): void {
    connection.parse({ name: '', text: this.#text, types: [] }, true);
    connection.describe({ type: 'S', name: '' }, true);
    connection.sync();
  }

  handleRowDescription({ fields }: { fields: readonly FieldDef[] }): void {
    this.#fields = fields;
  }

  handleError(error: Error): void {
    this.#error = error;
  }

  handleReadyForQuery(): void {
    if (this.#error === null) this.done.resolve(this.#fields);
    else this.done.reject(this.#error);
  }
}

async function describeStatement(text: string): Promise<readonly FieldDef[]> {
  return client.query(new Description(text)).done.promise;
}

async function readTypes(): Promise<ReadonlyMap<number, string>> {
  const { rows } = await client.query<{ oid: number; name: string; element: string | null }>(
    `select t.oid, t.typname as name, e.typname as element
     from pg_type t left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'`,
  );
  return new Map(
    rows.map(({ oid, name, element }) => [
      oid,
      element === null ? (READ_AS[name] ?? name) : `${READ_AS[element] ?? element}[]`,
    ]),
  );
}

async function readNullable(): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ column: string }>(
    `select attrelid || ' ' || attnum as column from pg_attribute where attnum > 0 and not attnotnull`,
  );
  return new Set(rows.map(({ column }) => column));
}

const types = await readTypes();
const nullables = await readNullable();

async function problemsOf({ texts, problem, columns }: TypedStatement): Promise<string[]> {
  if (problem !== null) return [problem];
  const described = await Promise.all(texts.map((text) => describeStatement(text)));
  const problems = described.flatMap((fields) =>
    columns.flatMap(({ name, type, nullable }) => {
      const field = fields.find((candidate) => candidate.name === name);
      if (field === undefined) return [`there is no column ${name}`];
      const given = types.get(field.dataTypeID)!;
      if (given !== type && given !== 'json' && given !== 'jsonb') {
        return [`${name} is read as ${given}, not as ${type}`];
      }
      const canBeNull = nullables.has(`${field.tableID} ${field.columnID}`);
      return canBeNull && !nullable ? [`${name} can be null`] : [];
    }),
  );
  return [...new Set(problems)];
}

describe('the row types that statements in SQL are given', () => {
  const statements = findTypedStatements();

  it.each(statements)('agree with PostgreSQL: $place', async (statement) => {
    expect(await problemsOf(statement)).toEqual([]);
  });
});
