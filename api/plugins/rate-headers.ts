import { DAY_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import type { LimitState, RateState } from '#shared/lanes/redis/admission.ts';

/** Where a caller stands with the limit that it is nearest to. */
export function rateHeaders({ perSecond, remaining, resetMs }: RateState): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(perSecond),
    'x-ratelimit-remaining-requests': String(remaining),
    'x-ratelimit-reset-requests': durationText(resetMs),
  };
}

/** The headers of all limits, on every inference answer, refusals included. `now` in epoch milliseconds. */
export function limitHeaders(
  requestsPerDay: number,
  state: LimitState,
  now: number,
): Record<string, string> {
  return {
    ...rateHeaders(state),
    'x-ratelimit-limit-requests-day': String(requestsPerDay),
    'x-ratelimit-remaining-requests-day': String(state.remainingToday),
    'x-ratelimit-reset-requests-day': durationText(DAY_MS - (now % DAY_MS)),
  };
}

/** A duration as clients of the original expect it: `20ms`, `1.5s`, `6m0s`, `23h59m1s`. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.ceil(ms))}ms`;
  if (ms < MINUTE_MS) return `${Math.ceil(ms) / 1_000}s`;
  const seconds = Math.ceil(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${seconds % 60}s`;
  return `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds % 60}s`;
}
