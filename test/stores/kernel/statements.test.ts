/** Statements that are written as SQL: TypeScript believes what they say of their rows, so PostgreSQL is asked. */
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection, FieldDef, Submittable } from 'pg';
import { expect, it, vi } from 'vitest';
import type { Columns, Statement } from '#shared/kernel/postgres/statement.ts';
import { createTestDatabase } from '#test/support/database.ts';

const declared = vi.hoisted((): Statement[] => []);
vi.mock(import('#shared/kernel/postgres/statement.ts'), async (importOriginal) => {
  const original = await importOriginal();
  return {
    ...original,
    statement: <const C extends Columns>(...given: Parameters<typeof original.statement<C>>) => {
      const made = original.statement(...given);
      declared.push(made);
      return made;
    },
  };
});

const { pool } = await createTestDatabase();
const ROOT = join(import.meta.dirname, '../../..');

/** A column as PostgreSQL describes it, in the words of a statement. */
interface Described {
  name: string;
  type: string;
  /** Whether it is a table's own column that may be null; computed columns say nothing about it. */
  nullable: boolean;
}

/** Parses and plans a statement without running it. */
async function describeRows(text: string): Promise<FieldDef[]> {
  const { promise, resolve, reject } = Promise.withResolvers<FieldDef[]>();
  let fields: FieldDef[] = [];
  const description = {
    submit(connection: Connection) {
      connection.parse({ name: '', text, types: [] }, true);
      connection.describe({ type: 'S', name: '' }, true);
      connection.sync();
    },
    handleRowDescription: (message: { fields: FieldDef[] }) => void (fields = message.fields),
    handleParseComplete() {},
    handleError: reject,
    handleReadyForQuery: () => resolve(fields),
  };
  const client = await pool.connect();
  try {
    client.query(description as unknown as Submittable);
    return await promise;
  } finally {
    client.release();
  }
}

async function describeColumns(text: string): Promise<Described[]> {
  const fields = await describeRows(text);
  const { rows } = await pool.query<Described>(
    `select f.name, t.typname as type, coalesce(not a.attnotnull, false) as nullable
     from unnest($1::text[], $2::oid[], $3::oid[], $4::int[]) with ordinality as f (name, type, "table", "column", place)
     join pg_type t on t.oid = f.type
     left join pg_attribute a on a.attrelid = f."table" and a.attnum = f."column" and f."column" > 0
     order by f.place`,
    [
      fields.map(({ name }) => name),
      fields.map(({ dataTypeID }) => dataTypeID),
      fields.map(({ tableID }) => tableID),
      fields.map(({ columnID }) => columnID),
    ],
  );
  return rows;
}

/** What a statement says of its rows, in PostgreSQL's words. A list of values is text; a table says itself what is null. */
function saidOf({ columns }: Statement, described: readonly Described[]): Described[] {
  return Object.entries(columns).map(([name, column]) => {
    const type = typeof column === 'string' ? column.replace(/\?$/, '') : 'text';
    const mayBeNull = typeof column === 'string' && column.endsWith('?');
    const known = described.find((each) => each.name === name)?.nullable ?? false;
    return { name, type, nullable: known && mayBeNull };
  });
}

for (const file of globSync('{api,workers,shared,cli,embedded}/**/*.ts', { cwd: ROOT })) {
  const text = await readFile(join(ROOT, file), 'utf8');
  if (/\bstatement\(/.test(text)) await import(join(ROOT, file));
}

it('every statement that is written as SQL returns the columns that it declares', async () => {
  expect(declared).not.toEqual([]);
  const returned = new Map<string, Described[]>();
  for (const { text } of declared) returned.set(text, await describeColumns(text));
  const said = declared.map((each) => [each.text, saidOf(each, returned.get(each.text)!)] as const);
  expect(new Map(said)).toEqual(returned);
});
