import { isTagKey } from '#shared/kernel/tags.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';

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
