import { HOUR_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import type { Person } from './roles.ts';

/** Half a day: a working day with its evening, and no person is still signed in the next morning. */
export const SESSION_MS = 12 * HOUR_MS;

/** For so long after its person has shown that it is they, a session creates, grants and restores: a few acts in a row, and no lunch. */
export const CONFIRMED_MS = 10 * MINUTE_MS;

/** An open session of a person. Its token stays in the cookie. */
export interface Session {
  id: string;
  /** Epoch milliseconds. */
  since: number;
  until: number;
  address: string | null;
  userAgent: string | null;
  /** The organisation whose issuer let the person in; the session is good for that one alone. */
  organisation: string | null;
  /** When its person last showed the strongest proof that they have, in epoch milliseconds; null for not yet. */
  confirmedAt: number | null;
}

export interface SignedIn {
  person: Person;
  session: Session;
  /** Whether signing in asks for a code of an app too. */
  hasSecondFactor: boolean;
}
