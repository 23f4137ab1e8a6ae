import { csvLine } from '#shared/kernel/csv.ts';
import { QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { type PackTotals, QUANTITIES, type Totals, TOTALS_BY } from './totals.ts';

/** The tables of a pack, for spreadsheets: what they say follows from the receipts, and verifiers make them again. */

const AMOUNTS = QUANTITIES.flatMap((name) => {
  const column = `${name}_${QUANTITY_UNITS[name].toLowerCase()}`;
  return [column, `${column}_lower`, `${column}_upper`];
});

export const TOTALS_HEADER = csvLine([
  'by',
  'name',
  'requests',
  'refused',
  'failed',
  'covered',
  'uncovered',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'uncovered_input_tokens',
  'uncovered_cached_input_tokens',
  'uncovered_output_tokens',
  ...AMOUNTS,
]);

/** Figures of everything, then by month, model, region and quality of data. Tokens are of all requests that neither failed nor were refused. */
export function totalsTable(totals: PackTotals): string {
  const lines = TOTALS_BY.flatMap((by) =>
    totals.by(by).map(([name, each]) => csvLine([by, name, ...figuresOf(each)])),
  );
  return TOTALS_HEADER + csvLine(['total', '', ...figuresOf(totals.total())]) + lines.join('');
}

function figuresOf(totals: Totals): (string | number)[] {
  const { counts } = totals;
  const { covered, uncovered, failed, refused } = counts;
  return [
    totals.requests,
    refused,
    failed,
    covered,
    uncovered,
    counts.coveredInputTokens + counts.uncoveredInputTokens,
    counts.coveredCachedInputTokens + counts.uncoveredCachedInputTokens,
    counts.coveredOutputTokens + counts.uncoveredOutputTokens,
    counts.uncoveredInputTokens,
    counts.uncoveredCachedInputTokens,
    counts.uncoveredOutputTokens,
    ...QUANTITIES.flatMap((name) => {
      const { value, lower, upper } = totals.amount(name);
      return [value, lower, upper];
    }),
  ];
}

/** Columns of what a receipt states. */
export const STATED_COLUMNS = [
  'signed_at',
  'started_at',
  'route',
  'model',
  'region',
  'grid_zone',
  'outcome',
  'tier',
  'data_quality',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  ...AMOUNTS,
] as const;

export const RECEIPTS_HEADER = csvLine([
  'integrated_at',
  'counted',
  'index',
  'receipt',
  'revises',
  'revised_by',
  ...STATED_COLUMNS,
]);

/**
 * A receipt's line behind its first two fields, which are not its own: when it was integrated, and whether it counts
 * (1 or 0). What a receipt does not state is empty.
 */
export function receiptRow(
  document: ReceiptDocument,
  index: number,
  revisedBy: number | null,
): string {
  const revises = document.wasRevisionOf?.leafIndex ?? '';
  return csvLine([index, document.id, revises, revisedBy ?? '', ...statedFields(document)]);
}

/** What a receipt states, in the order of its columns; what it does not is empty. */
export function statedFields(document: ReceiptDocument): (string | number)[] {
  const { credentialSubject: subject, measurement } = document;
  return [
    document.validFrom ?? '',
    subject.startedAt,
    subject.route,
    subject.model,
    subject.region,
    subject.gridZone ?? '',
    subject.outcome,
    document.tier ?? '',
    measurement?.dataQuality ?? '',
    subject.inputTokens ?? '',
    subject.cachedInputTokens ?? '',
    subject.outputTokens ?? '',
    ...QUANTITIES.flatMap((name) => {
      const result = measurement?.result.find(({ quantityKind }) => quantityKind === name);
      return [result?.value ?? '', result?.lower ?? '', result?.upper ?? ''];
    }),
  ];
}
