import { HOUR_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import type { Membership, Person } from './roles.ts';

/** Half a day: a working day with its evening, and no person is still signed in the next morning. */
export const SESSION_MS = 12 * HOUR_MS;

/** For so long after its person has shown that it is they, a session creates, grants and restores: a few acts in a row, and no lunch. */
export const CONFIRMED_MS = 10 * MINUTE_MS;

/** How exactly it is known when a session was last used: a page notes it no more often than this, so that few write. */
export const USE_NOTED_MS = 5 * MINUTE_MS;

/** Sessions that a page lists: of a large team on a working day. */
export const SESSIONS_MAX = 500;

/** An open session of a person. Its token stays in the cookie. */
export interface Session {
  id: string;
  /** Epoch milliseconds. */
  since: number;
  until: number;
  /** When it last opened a page, to `USE_NOTED_MS`. */
  usedAt: number;
  address: string | null;
  userAgent: string | null;
  /** The organisation whose issuer let the person in; the session is good for that one alone. */
  organisation: string | null;
  /** When its person last showed the strongest proof that they have, in epoch milliseconds; null for not yet. */
  confirmedAt: number | null;
}

/** Thrown in the place of an act whose session has ended meanwhile; nothing of it is done. */
export class SessionEnded extends Error {
  override readonly name = 'SessionEnded';
}

export interface SignedIn {
  person: Person;
  session: Session;
  /** Whether signing in asks for a code of an app too. */
  hasSecondFactor: boolean;
  /** Whether a passkey opens the dashboard too. */
  hasPasskey: boolean;
}

/**
 * What a session lacks for the pages of an organisation that requires a second factor: its person has none to show, or has
 * not shown it in this session; undefined where it lacks nothing. A password alone opens sessions of those who have a passkey
 * and no app. What the organisation's own issuer has let in is the issuer's to ask.
 */
export function lackOf(
  { orgId, asksSecondFactor }: Pick<Membership, 'orgId' | 'asksSecondFactor'>,
  { session, hasSecondFactor, hasPasskey }: Omit<SignedIn, 'person'>,
): 'a second factor' | 'proof' | undefined {
  if (!asksSecondFactor || session.organisation === orgId) return undefined;
  if (!hasSecondFactor && !hasPasskey) return 'a second factor';
  // Of those who have more than a password, nothing but that is noted here.
  return session.confirmedAt === null ? 'proof' : undefined;
}
