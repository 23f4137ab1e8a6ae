/**
 * A circuit breaker as a value. Closed: calls go through. Open: none do, for a while that doubles each time.
 * Half-open: one trial call decides.
 */
export interface Breaker {
  state: 'closed' | 'open' | 'half_open';
  /** Failures in a row. */
  failures: number;
  /** Epoch milliseconds until which an open breaker lets nothing through. */
  openUntil: number;
  /** The time for which it was opened last, in milliseconds. */
  openMs: number;
}

/** Five failures in a row are no accident; one or two are. */
export const FAILURES_MAX = 5;
const OPEN_MS = 2_000;
const OPEN_MS_MAX = 60_000;

export const CLOSED: Breaker = { state: 'closed', failures: 0, openUntil: 0, openMs: 0 };

/** Tells whether a call may be made now, with the state after asking: an open breaker whose time is over lets one trial through. */
export function askBreaker(breaker: Breaker, now: number): { allowed: boolean; next: Breaker } {
  if (breaker.state === 'closed') return { allowed: true, next: breaker };
  if (breaker.state === 'half_open' && now < breaker.openUntil)
    return { allowed: false, next: breaker };
  if (breaker.state === 'open' && now < breaker.openUntil) return { allowed: false, next: breaker };
  // The trial itself may get lost (a killed call reports nothing): after `openMs` another one is let through.
  return {
    allowed: true,
    next: { ...breaker, state: 'half_open', openUntil: now + breaker.openMs },
  };
}

/** True when it is open and its time is over: the next to ask gets the trial. */
export function isDue(breaker: Breaker, now: number): boolean {
  return breaker.state !== 'closed' && now >= breaker.openUntil;
}

export function afterSuccess(): Breaker {
  return CLOSED;
}

/**
 * A stream has begun: calls may be made again, and the first that fails opens it at once, for longer than before. A
 * beginning is less than an answer, so it does not wipe the slate.
 */
export function afterBeginning(breaker: Breaker): Breaker {
  if (breaker.state === 'closed') return breaker;
  return { state: 'closed', failures: FAILURES_MAX - 1, openUntil: 0, openMs: breaker.openMs };
}

export function afterFailure(breaker: Breaker, now: number): Breaker {
  const failures = breaker.failures + 1;
  // Calls that were under way when it opened fail too; they tell nothing new, and must not keep it open for longer.
  if (breaker.state === 'open' && now < breaker.openUntil) return { ...breaker, failures };
  if (breaker.state === 'closed' && failures < FAILURES_MAX) return { ...breaker, failures };
  const openMs = Math.min(breaker.openMs === 0 ? OPEN_MS : breaker.openMs * 2, OPEN_MS_MAX);
  return { state: 'open', failures, openUntil: now + openMs, openMs };
}

/** One endpoint may serve several regions, and be cut off from one of them only. Neither name holds a space. */
export function circuitName(region: string, endpoint: string): string {
  return `${region} ${endpoint}`;
}
