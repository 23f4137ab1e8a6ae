/** The tables of docs/spec: forms to the letter, where docs/receipts.md says what they mean. */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BLANK, UNSEEN } from '#shared/kernel/characters.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import type { Schema } from '#shared/kernel/schema-words.ts';
import { FROZEN_FACTOR_SETS, FROZEN_METHODOLOGIES } from '#shared/methodology/frozen.ts';
import { CONTEXT_NAMES, contextDocument, receiptShapes } from '#shared/packs/files/contexts.ts';
import { SHAPES } from '#shared/packs/layout.ts';
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

/** The documents that say what terms mean, and their digests. */
export const documentRows = (): string[][] =>
  [
    ...CONTEXT_NAMES.map((name) => [`contexts/${name}`, contextDocument(name)!] as const),
    [SHAPES.slice('data/'.length), receiptShapes()] as const,
  ].map(([name, bytes]) => [code(name), code(hash('sha256', bytes))]);

export const releaseRows = (): string[][] => [
  ...FROZEN_METHODOLOGIES.map(({ id, version, digest }) => [
    `${code(id)} ${version}`,
    code(multihashOf(digest, id)),
  ]),
  ...FROZEN_FACTOR_SETS.map(({ version, digest }) => [
    `factor set ${version}`,
    code(multihashOf(digest, version)),
  ]),
];

/** Reasons of which there can be no vector, and why. */
const WITHOUT_VECTOR: Readonly<Record<string, string>> = {
  methodology_unreleased:
    'none: every receipt of the corpus is by a released methodology, and a pack by another differs in nearly every byte; [the tamper matrix](../tampering.md) has one',
};

const ROOT = join(import.meta.dirname, '..');
const SPECIFICATION = join(ROOT, 'docs/spec');
/** Where the reasons that verifiers give are listed. */
const REASONS = [
  'shared/kernel/malformed-data.ts',
  'shared/receipts/verify.ts',
  'shared/packs/problem.ts',
  'cli/verify/cose-judgement.ts',
];

/**
 * The reasons that the specification names, and by which vectors they are shown.
 * @throws Error where one is shown by none
 */
export function reasonRows(): string[][] {
  const known = REASONS.flatMap((file) =>
    [
      ...readFileSync(join(ROOT, file), 'utf8').matchAll(
        /^ *(?:\| |throw new Refused\()?'(\w+)'/gm,
      ),
    ].map(([, reason]) => reason!),
  );
  const named = readdirSync(SPECIFICATION)
    .filter((name) => name.endsWith('.md'))
    .flatMap((page) => {
      const text = readFileSync(join(SPECIFICATION, page), 'utf8');
      const own = text.replace(/<!-- table: reasons -->[^]*?<!-- end/, '');
      return [...own.matchAll(/`([a-z0-9]+(?:_[a-z0-9]+)+|contradiction)`/g)].map(
        ([, word]) => word!,
      );
    });
  const shown = casesByReason();
  return [...new Set(known)]
    .filter((reason) => named.includes(reason))
    .toSorted()
    .map((reason) => {
      const words = shown.get(reason) ?? [];
      if ((words.length === 0) !== (WITHOUT_VECTOR[reason] !== undefined))
        throw new Error(`${reason}: a vector, or a reason why there can be none, and not both`);
      return [code(reason), WITHOUT_VECTOR[reason] ?? words.join('; ')];
    });
}

/** The first case of each file with a reason. */
function casesByReason(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of ['json.json', 'receipts.json', 'cose.json', 'packs.json']) {
    const text = readFileSync(join(SPECIFICATION, 'vectors', file), 'utf8');
    const { cases, figures = [] } = JSON.parse(text) as Partial<
      Record<'cases' | 'figures', { name: string; reason?: string }[]>
    >;
    for (const [reason, same] of Map.groupBy([...cases!, ...figures], (each) => each.reason)) {
      if (reason === undefined) continue;
      const more = same.length === 1 ? '' : `, and ${same.length - 1} more`;
      found.set(reason, [...(found.get(reason) ?? []), `${code(file)}: ${same[0]!.name}${more}`]);
    }
  }
  return found;
}
