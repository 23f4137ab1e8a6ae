import { type ErrorCode, Fault } from '#shared/kernel/errors.ts';
import type { Limits } from '#shared/kernel/plan.ts';
import type { Admission, LimitState } from '#shared/lanes/redis/admission.ts';

const DAY_MS = 86_400_000;

/** The rate headers of contract.md, on every inference answer and on every refusal by a limit. */
export function limitHeaders(
  limits: Limits,
  state: LimitState,
  now: number,
): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(limits.requestsPerSecond),
    'x-ratelimit-remaining-requests': String(state.remaining),
    'x-ratelimit-reset-requests': durationText(state.resetMs),
    'x-ratelimit-limit-requests-day': String(limits.requestsPerDay),
    'x-ratelimit-remaining-requests-day': String(state.remainingToday),
    'x-ratelimit-reset-requests-day': durationText(DAY_MS - (now % DAY_MS)),
  };
}

/** A duration as clients of the original expect it: `20ms`, `1.5s`, `6m0s`, `23h59m1s`. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.ceil(ms))}ms`;
  if (ms < 60_000) return `${Math.ceil(ms) / 1_000}s`;
  const seconds = Math.ceil(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${seconds % 60}s`;
  return `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds % 60}s`;
}

type Refused = Exclude<Admission, { verdict: 'admitted' | 'replay' | 'wait' }>;

/** One row per verdict: the stable code, and what a person reads. */
const REFUSALS: Record<Refused['verdict'], [code: ErrorCode, message: (region: string) => string]> =
  {
    reused: [
      'idempotency_key_reused',
      () => 'This Idempotency-Key was used with a different request in the last 24 hours.',
    ],
    rate: [
      'requests_per_second_exceeded',
      () => 'Too many requests per second. Wait and try again.',
    ],
    day: [
      'daily_budget_exceeded',
      () => 'The daily request budget is used up. It resets at midnight UTC.',
    ],
    streams: [
      'concurrent_streams_exceeded',
      () => 'Too many streams are open. Close idle streams or upgrade the plan.',
    ],
    saturated: [
      'region_saturated',
      (region) => `The region ${region} is at capacity. Try again shortly.`,
    ],
    backlog: ['dispatch_unavailable', () => 'The gateway is catching up. Try again shortly.'],
  };

/** The refusal of a request that was not admitted. */
export function refusalOf(
  admission: Refused,
  region: string,
  headers: Record<string, string>,
): Fault {
  const [code, message] = REFUSALS[admission.verdict];
  const details =
    admission.verdict === 'reused'
      ? { param: 'Idempotency-Key' }
      : { retryAfterMs: admission.retryMs };
  return new Fault(code, message(region), { ...details, headers });
}
