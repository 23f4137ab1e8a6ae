/**
 * The tables of verify.py: `node dev/verifier-forms.ts` writes them anew. The forms of signed documents, made from their
 * descriptions, with which the script checks that a document has the members of its form and no others; and what was
 * released with the product, by its digests.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { WRITTEN_DECIMAL_PATTERN } from '#shared/kernel/decimal.ts';
import { MULTIHASH_PATTERN, multihashOf } from '#shared/kernel/multihash.ts';
import { FROZEN_FACTOR_SETS, FROZEN_METHODOLOGIES } from '#shared/methodology/frozen.ts';
import { SEAL_FORMAT } from '#shared/packs/seal-format.ts';
import { BLANK, UNSEEN } from '#shared/kernel/characters.ts';
import { DERIVATION } from '#shared/receipts/derivation.ts';
import { IRI_PATTERN } from '#shared/receipts/fields.ts';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';

type Field = Readonly<Record<string, unknown>>;

const SCRIPT = new URL('../shared/packs/files/verify.py', import.meta.url);
const END = "\n''')\n";
const WIDTH_MAX = 118;

/**
 * A form as the script reads it: an object as such, with `?` after names that need not be there and the condition under
 * which they are; `["=", …]` for one of these values; `["*", form, min, max]` for a list; a number for a whole number of
 * at least that; `record` for a flat record; any other text for a text of this pattern or of the one that is named so, `time` and empty for any.
 */
function formOf(field: Field): unknown {
  if ('const' in field) return ['=', field['const']];
  if ('enum' in field) return ['=', ...(field['enum'] as unknown[])];
  if ('patternProperties' in field) return 'record';
  if (field['type'] === 'array') {
    return ['*', formOf(field['items'] as Field), field['minItems'] ?? 0, field['maxItems']];
  }
  if (field['type'] === 'integer') return field['minimum'];
  if (field['format'] === 'date-time') return 'time';
  if (field['type'] === 'string') return formOfText(field['pattern'] as string | undefined);
  const required = new Set(field['required'] as string[]);
  return Object.fromEntries(
    Object.entries(field['properties'] as Record<string, Field>).map(([name, inner]) => {
      const when = (inner['x-when'] as string | undefined) ?? '';
      return [required.has(name) ? name : `${name}?${when}`, formOf(inner)];
    }),
  );
}

/** Patterns that stand in many places, by the names that the script has for them. */
const NAMED: Readonly<Record<string, string>> = {
  decimal: WRITTEN_DECIMAL_PATTERN,
  digest: MULTIHASH_PATTERN,
  iri: IRI_PATTERN,
};

function formOfText(pattern = ''): string {
  return Object.keys(NAMED).find((name) => NAMED[name] === pattern) ?? pattern;
}

/** Broken between members, so that lines can be read. */
function broken(text: string): string {
  const lines = [''];
  for (const part of text.split(/(?<=,)(?=")/)) {
    if (lines.at(-1)!.length + part.length > WIDTH_MAX) lines.push('');
    lines[lines.length - 1] += part;
  }
  return lines.join('\n');
}

/** What was released, by the multihashes of methodologies and factor sets. */
function released(): object {
  return {
    factorSets: Object.fromEntries(
      FROZEN_FACTOR_SETS.map(({ version, digest }) => [multihashOf(digest), version]),
    ),
    methodologies: Object.fromEntries(
      FROZEN_METHODOLOGIES.map(({ id, version, digest }) => [
        multihashOf(digest),
        `${id} ${version}`,
      ]),
    ),
  };
}

/** The script with another table under this name. */
function withTable(script: string, name: string, table: object): string {
  const begin = `\n${name} = json.loads(r'''\n`;
  const start = script.indexOf(begin) + begin.length;
  const end = script.indexOf(END, start);
  return script.slice(0, start) + broken(JSON.stringify(table)) + script.slice(end);
}

/** The script with the tables as what they are made from is now. */
export function withTables(script: string): string {
  const forms = {
    patterns: NAMED,
    seal: formOf(SEAL_FORMAT as unknown as Field),
    1: formOf(FORMAT_1 as unknown as Field),
    derivation: formOf(DERIVATION as unknown as Field),
  };
  const tables = {
    FORMS: forms,
    CHARACTERS: { unseen: UNSEEN, blank: BLANK },
    RELEASED: released(),
  };
  return Object.entries(tables).reduce(
    (written, [name, table]) => withTable(written, name, table),
    script,
  );
}

if (import.meta.main) writeFileSync(SCRIPT, withTables(readFileSync(SCRIPT, 'utf8')));
