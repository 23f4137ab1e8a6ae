/** What requests are counted by, beside all together. */
export type CountedBy = 'all' | 'model' | 'region' | 'key' | 'tag' | 'code';

/** What is counted of a request with another organisation's, for those who run the service: keys and tags are of one alone. */
export const COUNTED_OF_SERVICE = ['all', 'model', 'region', 'code'] as const;

/** Names of one thing, or values of one tag, that are counted by themselves in a day: a caller who makes new ones makes no more rows. */
export const COUNTED_NAMES_MAX = 100;

/** How long hours are kept, and days: two years and more, so that what was a year ago can be compared with the period before it. */
export const HOURS_KEPT_DAYS = 100;
export const DAYS_KEPT_DAYS = 800;

/** The times of a request that are counted: to the end of its answer, to the first of a stream, and until its upstream was called. */
export const COUNTED_TIMES = ['total', 'first', 'queued'] as const;
export type CountedTime = (typeof COUNTED_TIMES)[number];

/** Whose counts are those of all organisations together. */
export const ALL_ORGANISATIONS = '';

/** How many requests took how long, by the buckets of the database’s `time_bucket`. */
export type TimeCounts = readonly number[];

/** The requests of an hour or a day with one name. */
export interface CountsRow {
  at: number;
  name: string;
  requests: number;
  refused: number;
  failed: number;
  gone: number;
  times: TimeCounts;
}

/** Each bucket but the first ends at this many times its beginning. */
const BUCKET_RATIO = 2 ** (1 / 4);

/** By how much a percentile of counted times may be off: it is the middle of a bucket, by its factor. */
export const PERCENTILE_ERROR = Math.sqrt(BUCKET_RATIO) - 1;

/** The times of both together. */
export function addedTimes(a: TimeCounts, b: TimeCounts): TimeCounts {
  const [longer, shorter] = a.length >= b.length ? [a, b] : [b, a];
  return longer.map((count, i) => count + (shorter[i] ?? 0));
}

/** How long the `share` of the requests that took least took at most, in milliseconds; undefined for none. */
export function percentileOf(times: TimeCounts, share: number): number | undefined {
  const all = times.reduce((sum, count) => sum + count, 0);
  if (all === 0) return undefined;
  const rank = Math.max(1, Math.ceil(all * share));
  let below = 0;
  const bucket = times.findIndex((count) => (below += count) >= rank);
  // The first one is of zero; the middle of each other is taken by its factor.
  return bucket === 0 ? 0 : BUCKET_RATIO ** (bucket - 0.5);
}
