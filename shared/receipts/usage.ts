import { isTagKey } from '#shared/kernel/tags.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import {
  DATA_QUALITIES,
  QUANTITY_UNITS,
  type QuantityName,
} from '#shared/methodology/measurement.ts';

/** By which usage can be grouped beside tags, in the order in which a refusal lists them. */
export const USAGE_GROUPS = [
  'hour',
  'day',
  'month',
  'model',
  'region',
  'key',
  'tier',
  'quality',
] as const;
export type UsageGrouping = (typeof USAGE_GROUPS)[number] | TagGrouping;

/** By the values of a tag: empty where a request has none, and one name for those beyond the values that a day has. */
type TagGrouping = `tag:${string}`;

const OF_TAG = 'tag:';

/** The key of the tag that a grouping is by. */
export function tagKeyOf(grouping: UsageGrouping): string | undefined {
  return grouping.startsWith(OF_TAG) ? grouping.slice(OF_TAG.length) : undefined;
}

/** The grouping that a text names; undefined where it names none. */
export function groupingOf(text: string): UsageGrouping | undefined {
  const known = USAGE_GROUPS.find((each) => each === text);
  if (known !== undefined || !text.startsWith(OF_TAG)) return known;
  return isTagKey(text.slice(OF_TAG.length)) ? (text as TagGrouping) : undefined;
}

/** More groupings at once make more groups than a reader reads. */
export const USAGE_GROUPINGS_MAX = 3;

/** More groups than this are refused: an hour's figures of a year are below. */
export const USAGE_ROWS_MAX = 10_000;

/** A year and a day: leap years fit. */
export const USAGE_DAYS_MAX = 366;
export const USAGE_DAYS_DEFAULT = 30;

/** The groupings that a text names, with commas between. @throws Fault `invalid_group_by`, which lists what there is */
export function groupingsOf(text: string): UsageGrouping[] {
  const names = text.split(',').map((name) => name.trim());
  const known = names.map(groupingOf).filter((grouping) => grouping !== undefined);
  const all = known.length === names.length && new Set(names).size === names.length;
  if (all && names.length <= USAGE_GROUPINGS_MAX) return known;
  throw invalidParam(
    'group_by',
    `\`group_by\` must be one to ${USAGE_GROUPINGS_MAX} different ones of ${USAGE_GROUPS.join(', ')} and tags as in \`tag:team\`, with commas between.`,
  );
}

/** A quantity of several requests, as exact decimals: sums of medians and of bounds. */
export interface UsageAmount {
  value: string;
  lower: string;
  upper: string;
}

/** Tokens of several requests. */
interface UsageTokens {
  input: number;
  cachedInput: number;
  output: number;
}

/** Usage of inferences, each counted once, by its current receipt. */
export interface UsageFigures {
  requests: number;
  /** Blocked by screening: nothing ran, so they are neither covered nor uncovered. */
  refused: number;
  /** An upstream was called and nothing came of it: what they used is not known, and will not be. */
  failed: number;
  /** Requests whose current receipt states a measurement. The quantities are theirs. */
  covered: number;
  /** Requests whose current receipt is degraded: their usage is not estimated yet. */
  uncovered: number;
  tokens: UsageTokens;
  /** The part of the tokens that belongs to uncovered requests. */
  uncoveredTokens: UsageTokens;
  amounts: Readonly<Record<QuantityName, UsageAmount>>;
  /** What the operator's prices gave for the `priced` requests, as an exact decimal in `UsageReport.currency`. */
  cost: string;
  priced: number;
  /** Covered requests by the tier of their data. */
  quality: readonly number[];
}

export interface UsageGroup extends UsageFigures {
  /** One for each grouping: `2026-11-20T14:00:00Z`, `2026-11-20`, `2026-11`, an id, a tier of data; empty where a request has none. */
  names: string[];
}

/** What is summed up: requests by time, or entries of the ledger. */
export type UsageRange =
  /* Epoch milliseconds of the requests (the time in their ids), `from` included, `to` excluded. */
  | { from: number; to: number }
  /* Indexes of first receipts, both included. */
  | { firstIndex: number; lastIndex: number };

export interface UsageReport {
  /** Entries of the ledger that the figures are of. */
  ledgerSize: number;
  /** In which costs are counted, as ISO 4217 writes it; null where nothing had a price yet. */
  currency: string | null;
  /** In the order of their names; null when there are too many. */
  groups: UsageGroup[] | null;
  total: UsageFigures;
}

/** The quantities under the names that they have in answers. */
export const USAGE_AMOUNTS = Object.entries(QUANTITY_UNITS).map(
  ([name, unit]) => [name as QuantityName, `${name}_${unit.toLowerCase()}`] as const,
);

function shareOf(covered: number, all: number): number | null {
  return all === 0 ? null : Math.floor((covered / all) * 10_000) / 10_000;
}

/** Figures under the names that they have for programs: every amount an exact decimal. */
export function usageFields(of: UsageFigures, currency: string | null) {
  const ran = of.covered + of.uncovered;
  return {
    requests: of.requests,
    refused: of.refused,
    failed: of.failed,
    covered: of.covered,
    uncovered: of.uncovered,
    coverage: shareOf(of.covered, ran),
    coverage_with_failed: shareOf(of.covered, ran + of.failed),
    input_tokens: of.tokens.input,
    cached_input_tokens: of.tokens.cachedInput,
    output_tokens: of.tokens.output,
    uncovered_input_tokens: of.uncoveredTokens.input,
    uncovered_cached_input_tokens: of.uncoveredTokens.cachedInput,
    uncovered_output_tokens: of.uncoveredTokens.output,
    data_quality: Object.fromEntries(DATA_QUALITIES.map((tier, i) => [tier, of.quality[i]!])),
    ...Object.fromEntries(
      USAGE_AMOUNTS.flatMap(([name, field]) => [
        [field, of.amounts[name].value],
        [`${field}_lower`, of.amounts[name].lower],
        [`${field}_upper`, of.amounts[name].upper],
      ]),
    ),
    ...(currency !== null && { cost: { amount: of.cost, currency, requests: of.priced } }),
  };
}

/** A report for programs, with the groups that it has. */
export function usageAnswer(
  { ledgerSize, total, currency }: UsageReport,
  groups: readonly UsageGroup[],
  { groupBy, range }: { groupBy: readonly UsageGrouping[]; range: UsageRange },
) {
  return {
    object: 'usage' as const,
    ...rangeFields(range, ledgerSize),
    ledger_size: ledgerSize,
    group_by: groupBy.join(','),
    data: groups.map(({ names, ...figures }) => ({
      group: names.join(', '),
      by: Object.fromEntries(groupBy.map((name, i) => [name, names[i]!])),
      ...usageFields(figures, currency),
    })),
    total: usageFields(total, currency),
  };
}

function rangeFields(range: UsageRange, ledgerSize: number) {
  if ('from' in range) {
    return { from: new Date(range.from).toISOString(), to: new Date(range.to).toISOString() };
  }
  const { firstIndex, lastIndex } = range;
  // An empty ledger has no last entry.
  const last = Math.min(lastIndex, ledgerSize - 1);
  return { first_index: firstIndex, ...(last < firstIndex ? {} : { last_index: last }) };
}
