import { csvLine } from '#shared/kernel/csv.ts';
import { dateTime } from '#shared/kernel/time.ts';
import { count } from '#shared/methodology/readable.ts';
import { REPORT_STYLE } from '#shared/packs/report/style.ts';
import { escaped } from '#shared/packs/report/text.ts';
import type { DrawnRow, Sample } from './draw.ts';
import type { VerifiedPack } from './verified-pack.ts';

/** A drawn receipt, as it was written beside the workpaper. */
export interface SampledReceipt extends DrawnRow {
  /** From the workpaper. */
  file: string;
  /** Of its bytes, hex. */
  sha256: string;
}

/** Columns of the draw, then those of the pack's own table. */
const OF_DRAW = ['number', 'stratum_receipts', 'stratum_drawn', 'rank'] as const;
/** Of the table, those that are of the pack and not of the receipt. */
const NOT_OF_RECEIPT: readonly string[] = ['integrated_at', 'counted', 'revised_by'];
/** Filled in by who examines; compared with nothing. */
export const OF_EXAMINER = ['examined_by', 'finding'] as const;

/** The workpaper as a table: a line for each receipt drawn, with all that drawing it again takes. */
export function workpaperTable(
  { seed }: Sample,
  rows: readonly SampledReceipt[],
  { sha256 }: Pick<VerifiedPack, 'sha256'>,
): string {
  const lines = rows.map((drawn, i) => rowOf(drawn, i, { seed, sha256 }));
  const header = lines[0] === undefined ? [] : Object.keys(lines[0]);
  return csvLine(header) + lines.map((line) => csvLine(Object.values(line))).join('');
}

function rowOf(
  { row, rank, stratum, file, sha256 }: SampledReceipt,
  at: number,
  draw: { seed: string; sha256: string },
): Record<string, string | number> {
  const ofDraw = [at + 1, stratum.receipts, stratum.drawn, rank];
  const ofReceipt = Object.entries(row.columns).filter(([name]) => !NOT_OF_RECEIPT.includes(name));
  return {
    ...Object.fromEntries(OF_DRAW.map((name, i) => [name, ofDraw[i]!])),
    ...Object.fromEntries(ofReceipt),
    file,
    receipt_sha256: sha256,
    seed: draw.seed,
    pack_sha256: draw.sha256,
    ...Object.fromEntries(OF_EXAMINER.map((name) => [name, ''])),
  };
}

/** The workpaper as a page to be printed, with room for what was found. */
export function workpaperPage(
  sample: Sample,
  rows: readonly SampledReceipt[],
  {
    pack,
    seedFrom,
    hasFiles,
  }: {
    pack: Omit<VerifiedPack, 'pack' | 'exitCode'>;
    seedFrom: string;
    /** Whether the receipts are written beside it. */
    hasFiles: boolean;
  },
): string {
  const { range, checkpoint, organisation } = pack.seal.credentialSubject;
  const facts = {
    Pack: `${pack.path}, SHA-256 ${pack.sha256}`,
    Verdict: `${pack.verdict}, by ${pack.trusted}`,
    Issuer: pack.seal.issuer,
    Organisation: organisation,
    Entries: `${range.firstIndex} to ${range.lastIndex} of ${checkpoint.log}, under its head of ${checkpoint.size} entries`,
    Seed: `${sample.seed} (${seedFrom})`,
    Drawn: `${count(rows.length)} of ${count(sumOf(sample, 'receipts'))} receipts that count`,
  };
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><title>Sample of receipts</title>',
    `<style>${REPORT_STYLE}main{max-width:1080px}.finding{min-width:160px}</style></head><body><main>`,
    '<h1>Sample of receipts</h1>',
    '<p class="lead">Which receipts were drawn follows from the seed and the pack alone: each receipt that counts is ranked by the SHA-256 of the seed, a space and its address, and the lowest ranks of each kind are drawn.</p>',
    `<table class="facts"><tbody>${Object.entries(facts)
      .map(([name, value]) => `<tr><th>${name}</th><td>${escaped(value)}</td></tr>`)
      .join('')}</tbody></table>`,
    '<h2>Kinds</h2>',
    table(
      ['Region', 'Tier', 'Quality of data', 'Receipts', 'Drawn'],
      sample.strata.map(({ region, tier, dataQuality, receipts, drawn }) => [
        region,
        tier,
        dataQuality || 'no estimate',
        count(receipts),
        count(drawn),
      ]),
    ),
    '<h2>Receipts</h2>',
    hasFiles
      ? ''
      : `<p>Their bytes are in the pack, and beside this page they are not: <code>docket sample</code> with this seed and <code>--size ${rows.length}</code> draws the same receipts and writes them.</p>`,
    `<p>Each is ${hasFiles ? '' : 'then '}a file under <code>receipts/</code>, in its exact bytes, with the derivation record that it names: <code>docket verify receipts/INDEX.json --trust did.json</code> judges it, <code>docket recompute</code> computes its figures again.</p>`,
    table(
      [
        'Entry',
        'Receipt',
        'Began',
        'Model',
        'Tokens in, out',
        'Energy, kWh',
        'Gas, kg CO₂e',
        'Finding',
      ],
      rows.map(({ row, rank }) => [
        String(row.index),
        `${row.receipt} rank ${rank.slice(0, 16)}…`,
        dateTime(Date.parse(row.startedAt)),
        row.model,
        row.columns['input_tokens'] === ''
          ? 'none'
          : `${count(row.inputTokens)}, ${count(row.outputTokens)}`,
        row.columns['energy_kwh'] || 'none',
        row.columns['gwp_kgco2e'] || 'none',
        '',
      ]),
    ),
    '<p>Drawn by: ____________________ &nbsp; Examined by: ____________________ &nbsp; Date: ____________</p>',
    '</main></body></html>\n',
  ].join('\n');
}

function sumOf({ strata }: Sample, what: 'receipts' | 'drawn'): number {
  return strata.reduce((sum, stratum) => sum + stratum[what], 0);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]): string =>
    row.map((cell) => `<td class="words">${escaped(cell)}</td>`).join('');
  return [
    `<table class="dense"><thead><tr>${head.map((cell) => `<th class="words">${cell}</th>`).join('')}</tr></thead>`,
    `<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n')}</tbody></table>`,
  ].join('');
}
