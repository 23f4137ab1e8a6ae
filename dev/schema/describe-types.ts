import { join } from 'node:path';
import type { Pool } from 'pg';
import { SCHEMAS } from './describe-schema.ts';

/** The committed types; a test compares them with what the migrations make. */
export const TYPES_FILE = join(import.meta.dirname, '../../shared/kernel/postgres/database.ts');

const HEADING = `/**
 * The tables as kysely sees them: written by "npm run schema:dump" from the migrated schema, never by hand.
 * A \`bigint\` and a \`numeric\` come back as text, \`jsonb\` is parsed, and a column with a set of values that its check
 * constraint lists has that set as its type.
 */
import type { ColumnType } from 'kysely';

/** The value may be left out of an insert. */
type Defaulted<T> = ColumnType<T, T | undefined, T>;
/** Comes back as text, because it may exceed what a number holds exactly. */
type Int8 = ColumnType<string, bigint | number | string, bigint | number | string>;
type DefaultedInt8 = ColumnType<string, bigint | number | string | undefined, bigint | number | string>;
type GeneratedInt8 = ColumnType<string, never, never>;
/** Goes in as JSON text, comes back parsed and unchecked. */
type Json = ColumnType<unknown, string, string>;
`;

interface Column {
  owner: string;
  name: string;
  type: string;
  array: boolean;
  nullable: boolean;
  defaulted: boolean;
  generated: boolean;
  allowed: string[] | null;
}

const TYPES: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bytea: 'Buffer',
  date: 'Date',
  float8: 'number',
  int2: 'number',
  int4: 'number',
  int8: 'Int8',
  jsonb: 'Json',
  numeric: 'string',
  text: 'string',
  timestamptz: 'Date',
};

/**
 * TypeScript for the tables of a migrated database.
 * @throws Error when a column has a type that this has no word for.
 */
export async function describeTypes(pool: Pool): Promise<string> {
  const { rows } = await pool.query<Column>(
    `select concat(nullif(n.nspname, 'public') || '.', c.relname) as owner, a.attname as name,
            case when t.typcategory = 'A' then e.typname else t.typname end as type,
            t.typcategory = 'A' as array, not a.attnotnull as nullable,
            d.adbin is not null or a.attidentity <> '' as defaulted,
            a.attidentity = 'a' or a.attgenerated <> '' as generated,
            (select array(select m[1] from regexp_matches(pg_get_constraintdef(k.oid), '''([^'']*)''::text', 'g') m)
               from pg_constraint k
              where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
                and pg_get_constraintdef(k.oid) ~ ('^CHECK \\(\\(' || a.attname || ' = ANY \\(ARRAY\\[[^]]*\\]\\)\\)\\)$')
              limit 1) as allowed
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       join pg_type t on t.oid = a.atttypid
       left join pg_type e on e.oid = t.typelem
       left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relkind in ('r', 'p') and not c.relispartition
        and n.nspname = any ($1)
        and c.relname not like 'schema\\_migration%'
      order by n.nspname <> 'public', n.nspname collate "C", c.relname collate "C", a.attnum`,
    [SCHEMAS],
  );
  const tables = Map.groupBy(rows, ({ owner }) => owner);
  const fields = [...tables.keys()].map(
    (name) => `  ${name.includes('.') ? `'${name}'` : name}: ${nameOf(name)};`,
  );
  const shapes = [...tables].map(([name, columns]) => ({
    name: nameOf(name),
    lines: columns.map((column) => `  ${column.name}: ${typeOf(column)};`),
  }));
  return `${HEADING}\n${shapes.map((shape, index) => written(shape, shapes.slice(0, index))).join('\n\n')}\n\nexport interface Database {\n${fields.join('\n')}\n}\n`;
}

interface Shape {
  name: string;
  lines: readonly string[];
}

/** Of fewer columns, that two tables both have them says nothing. */
const EXTENDED_MIN = 10;

/** A table that has all columns of one before it extends that. */
function written({ name, lines }: Shape, before: readonly Shape[]): string {
  const extended = before.findLast(
    (other) =>
      other.lines.length >= EXTENDED_MIN && other.lines.every((line) => lines.includes(line)),
  );
  if (extended === undefined) return `interface ${name} {\n${lines.join('\n')}\n}`;
  const more = lines.filter((line) => !extended.lines.includes(line));
  if (more.length === 0) return `type ${name} = ${extended.name};`;
  return `interface ${name} extends ${extended.name} {\n${more.join('\n')}\n}`;
}

/** `receipt_pending` is `ReceiptPendingTable`, `persons.rate` is `PersonsRateTable`. */
function nameOf(table: string): string {
  return `${table.replaceAll(/(?:^|_|\.)([a-z])/g, (_match, letter: string) => letter.toUpperCase())}Table`;
}

function typeOf({
  owner,
  name,
  type,
  array,
  nullable,
  defaulted,
  generated,
  allowed,
}: Column): string {
  const plain = allowed?.map((value) => `'${value}'`).join(' | ') ?? TYPES[type];
  if (plain === undefined) throw new Error(`${owner}.${name}: no TypeScript type for ${type}`);
  const whole = (array ? `${plain}[]` : plain) + (nullable ? ' | null' : '');
  if (plain === 'Int8' && !array && !nullable) {
    return generated ? 'GeneratedInt8' : defaulted ? 'DefaultedInt8' : 'Int8';
  }
  if (generated) return `ColumnType<${whole}, never, never>`;
  return defaulted && plain !== 'Json' ? `Defaulted<${whole}>` : whole;
}
