import { draft, type Draft } from '#shared/accounts/letters.ts';
import { inert } from '#shared/kernel/plain-text.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import type { CodeCount } from './row.ts';

/** The time that is looked back. */
export const WINDOW_MS = 10 * MINUTE_MS;
/** Of those, the newest: as many as say how the others were. */
export const LOOKED_AT_MAX = 2_000;
/** Fewer failures are what a person who tries something makes. */
const FAILED_MIN = 20;
/** In per cent. */
const SHARE_MIN = 10;
/** An episode has ended when errors were not frequent for so long. */
export const EPISODE_ENDS_MS = 30 * MINUTE_MS;

/** Codes that are named, the most frequent first. */
const CODES_NAMED = 3;

/** A row as far as it is looked at. */
interface Outcome {
  status: number;
  code: string | null;
  requests: number;
}

/** Requests of the last minutes of which too many failed. */
export interface Failing {
  requests: number;
  failed: number;
  /** In per cent, rounded down. */
  share: number;
  codes: readonly CodeCount[];
}

/** What has a code has failed, but for what came too fast: callers who are told to wait do so, and ask again. */
const hasFailed = ({ status, code }: Outcome): boolean => code !== null && status !== 429;

/** Whether too many of these failed: undefined where that is not so. */
export function failingOf(rows: readonly Outcome[]): Failing | undefined {
  const codes = new Map<string, number>();
  let [requests, failed] = [0, 0];
  for (const row of rows) {
    requests += row.requests;
    if (!hasFailed(row)) continue;
    failed += row.requests;
    codes.set(row.code!, (codes.get(row.code!) ?? 0) + row.requests);
  }
  if (failed < FAILED_MIN || failed * 100 < requests * SHARE_MIN) return undefined;
  const named = [...codes]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, CODES_NAMED)
    .map(([code, of]) => ({ code, requests: of }));
  return { requests, failed, share: Math.floor((failed / requests) * 100), codes: named };
}

/** The e-mail about them. */
export function draftOfFailing({ requests, failed, share, codes }: Failing): Draft {
  const named = codes.map(({ code, requests: of }) => `${inert(code, 128)} (${of})`).join(', ');
  return draft(`${share} % of requests are refused or fail`, [
    `Of the newest ${requests} requests of the last ten minutes ${failed} were refused or failed, most often with ${named}. Those that came too fast are not counted.`,
    'The page of requests in the dashboard has each of them, and what its code means. There is another e-mail when this has been over for half an hour and comes back.',
  ]);
}
