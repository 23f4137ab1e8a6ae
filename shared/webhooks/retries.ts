import { DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';

/** With the waits below about a day: a receiver that is away longer is looked at by a person, who has messages sent again. */
export const ATTEMPTS_MAX = 10;
const WAIT_MIN_MS = 10_000;
const WAIT_FACTOR = 4;
const WAIT_MAX_MS = 6 * HOUR_MS;
/** A quarter more or less, so that messages that failed together do not come back together. */
const JITTER = 0.25;

/**
 * How long a message waits after its `attempts`th failure, in milliseconds; null when it is given up.
 * @param random at least 0 and below 1
 */
export function waitAfterFailure(attempts: number, random: number): number | null {
  if (attempts >= ATTEMPTS_MAX) return null;
  const wait = Math.min(WAIT_MIN_MS * WAIT_FACTOR ** (attempts - 1), WAIT_MAX_MS);
  return Math.round(wait * (1 - JITTER + 2 * JITTER * random));
}

/** An endpoint at which nothing has arrived for so long is paused when one more message is given up. */
const FAILING_MS_MAX = 3 * DAY_MS;

/** What becomes of an endpoint after a failure: why it is paused; null where it goes on. */
export function pauseAfter(failure: {
  status: number | null;
  /** Whether the message will not be tried again. */
  isLast: boolean;
  failingForMs: number;
}): 'gone' | 'failing' | null {
  if (failure.status === 410) return 'gone';
  return failure.isLast && failure.failingForMs >= FAILING_MS_MAX ? 'failing' : null;
}

/** How long it is kept what was sent, and how that went. */
export const DELIVERY_DAYS = 30;
