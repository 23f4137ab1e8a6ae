/**
 * Generic cell rate algorithm with a burst: a bucket of `burst` requests that refills by one each `intervalUs`.
 * The whole state is one number, the theoretical arrival time. What admission.lua is compared with.
 */
export interface ArrivalDecision {
  allowed: boolean;
  /** The state to store when the request is admitted (microseconds). */
  nextTatUs: number;
  /** Microseconds until the same request would be allowed (0 when it is). */
  retryUs: number;
}

/** Decides one arrival at `nowUs`. `tatUs` is the stored state, 0 at first. */
export function decideArrival(
  tatUs: number,
  nowUs: number,
  intervalUs: number,
  burst: number,
): ArrivalDecision {
  const nextTatUs = Math.max(tatUs, nowUs) + intervalUs;
  const allowedAtUs = nextTatUs - burst * intervalUs;
  const allowed = nowUs >= allowedAtUs;
  return { allowed, nextTatUs, retryUs: allowed ? 0 : allowedAtUs - nowUs };
}

/** Number of further requests that the state would admit at once. */
export function remainingOf(
  tatUs: number,
  nowUs: number,
  intervalUs: number,
  burst: number,
): number {
  return Math.max(
    0,
    Math.floor((nowUs + burst * intervalUs - Math.max(tatUs, nowUs)) / intervalUs),
  );
}
