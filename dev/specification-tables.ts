/** The tables of docs/spec: forms to the letter, where docs/receipts.md says what they mean. */
import { BLANK, UNSEEN } from '#shared/kernel/characters.ts';
import type { Schema } from '#shared/kernel/schema-words.ts';
import { CONTEXT_NAMES } from '#shared/packs/files/contexts.ts';
import { SEAL_FORMAT } from '#shared/packs/seal-format.ts';
import { RECEIPTS_HEADER, TOTALS_HEADER } from '#shared/packs/tables.ts';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';
import { fieldRows } from './receipt-table.ts';

const code = (text: string): string => `\`${text}\``;

/** Every field of a receipt, and of what is in it. */
export const formRows = (): string[][] => fieldRows(FORMAT_1).map((row) => row.slice(0, 3));

export const sealRows = (): string[][] => fieldRows(SEAL_FORMAT);

/** What forms are called, and the patterns that they have: in a fence, because they have what looks like links. */
export function patterns(): string {
  const found = new Map<string, string>();
  for (const format of [FORMAT_1, SEAL_FORMAT]) collect(format as unknown as Schema, found);
  const lines = [...found].map(
    ([words, pattern]) => `${words.replace(/ such as .*/, '')}\n    ${pattern}`,
  );
  return ['```', ...lines, '```'].join('\n');
}

function collect(schema: Schema, found: Map<string, string>): void {
  const { pattern, properties = {}, items } = schema;
  if (pattern !== undefined) found.set(schema['x-expected']!, pattern);
  for (const each of [...Object.values(properties), ...(items === undefined ? [] : [items])]) {
    collect(each, found);
  }
}

/** The characters that texts may not hold, in lines that can be read. */
export function characters(): string {
  const lines = [
    ['unseen', UNSEEN],
    ['blank', BLANK],
  ].flatMap(([name, list]) => [
    name!,
    ...list!.match(/.{1,96}(?: |$)/g)!.map((line) => `    ${line.trim()}`),
  ]);
  return ['```', ...lines, '```'].join('\n');
}

export const contextRows = (): string[][] =>
  CONTEXT_NAMES.filter((name) => name.startsWith('docket-receipt-')).map((name) => [
    '1',
    code(name),
  ]);

export const columns = (of: 'totals' | 'receipts'): string =>
  (of === 'totals' ? TOTALS_HEADER : RECEIPTS_HEADER).trim().split(',').map(code).join(', ');
