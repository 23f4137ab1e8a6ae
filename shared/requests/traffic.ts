/** Of each organisation, the newest: none with many requests keeps the others from being seen. */
export const OF_ORGANISATION_MAX = 2_000;
/** In all, read and counted in a few seconds: organisations beyond are left out, and the page says so. */
export const TRAFFIC_ROWS_MAX = 100_000;

/** What requests are counted by. */
export type TrafficBy = 'all' | 'hour' | 'code' | 'region' | 'model' | 'organisation';

export interface TrafficRow {
  by: TrafficBy;
  /** Of the hour, code, region, model or organisation; empty for all, and where there is none. */
  name: string;
  /** Of an organisation, as its people call it. */
  title: string | null;
  requests: number;
  /** Answered with 4xx, and with 5xx. */
  refused: number;
  failed: number;
  /** Milliseconds of those that were answered: half of them, 95 and 99 of a hundred took no longer; null for none. */
  p50: number | null;
  p95: number | null;
  p99: number | null;
}
