/** The tables of docs/receipts.md that say field by field what a receipt holds. */
import type { TSchema } from 'typebox';
import { schemaWords, type Schema } from '#shared/kernel/schema-words.ts';
import type { Condition, Described } from '#shared/receipts/fields.ts';

type Field = Described & Readonly<Record<string, unknown>>;

/** When a field is there, in words. */
const WHEN: Readonly<Record<Condition, string>> = {
  called: 'unless refused',
  ran: 'unless failed or refused',
  refused: 'refused',
  failed: 'failed',
  estimated: 'estimated',
  degraded: 'degraded',
  revision: 'a revision',
};

/**
 * A row for each field: its name, when it is there, what may stand in it, and what it says. Objects within are written
 * out under their names, but for `apart`, which have tables of their own.
 */
export function fieldRows(object: TSchema, apart: readonly string[] = []): string[][] {
  return rowsOf(object as unknown as Field, '', apart);
}

function rowsOf(object: Field, holder: string, apart: readonly string[]): string[][] {
  const required = object['required'] as readonly string[];
  const fields = object['properties'] as Readonly<Record<string, Field>>;
  return Object.entries(fields).flatMap(([name, field]) => {
    const path = holder + name;
    const inner = field['items'] === undefined ? field : (field['items'] as Field);
    const list = inner === field ? '' : '[]';
    const row = [
      `\`${path}${list}\``,
      required.includes(name) ? 'always' : (WHEN[field['x-when'] as Condition] ?? 'if any'),
      valueOf(field),
      field.description ?? '',
    ];
    const within = inner['properties'] !== undefined && !apart.includes(name);
    return within ? [row, ...rowsOf(inner, `${path}${list}.`, apart)] : [row];
  });
}

function valueOf(field: Field): string {
  if (field['properties'] !== undefined) return 'object';
  if (field['items'] !== undefined) return `list of ${rangeOf(field)}`;
  if (field['x-type'] === 'xsd:string' && field['pattern'] === undefined && !field['enum']) {
    return 'text';
  }
  // Examples are for those who got one wrong.
  return schemaWords(field as Schema).replace(/ such as .*/, '');
}

function rangeOf({ minItems, maxItems }: Field): string {
  return `${String(minItems)} to ${String(maxItems)}`;
}
