import type { KeyState } from './credential.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { KeyRecord } from './record.ts';

/** Specification: revocation is reversible for 90 days, then the hashed record is deleted. */
export const RESTORE_WINDOW_MS = 90 * DAY_MS;

/** Specification: rotation is recommended at least once a year. */
const ROTATION_INTERVAL_MS = 365 * DAY_MS;

/** Until when a key should be rotated, in epoch milliseconds; null for one that is not active. A recommendation: nothing happens to the key. */
export function rotationDueAt(
  key: Lifetime & Pick<KeyRecord, 'createdAt' | 'playgroundOf'>,
  now: number,
): number | null {
  // What has no secret has none that grows old.
  return stateAt(key, now) === 'active' && key.playgroundOf === null
    ? key.createdAt + ROTATION_INTERVAL_MS
    : null;
}

type Lifetime = Pick<KeyRecord, 'state' | 'expiresAt' | 'revokedAt'>;
type Revocable = Lifetime & Pick<KeyRecord, 'leaked'>;

/**
 * The state a key is in at `now`. An active key whose expiry has passed is expired, also before a job has
 * recorded it.
 */
export function stateAt(key: Lifetime, now: number): KeyState {
  if (key.state === 'active' && key.expiresAt !== null && key.expiresAt <= now) return 'expired';
  return key.state;
}

/**
 * active → revoked. A key that leaked is marked so in any state: where it is not active, that is all that happens to it.
 * Refused (`key_state_conflict`) where nothing would change.
 */
export function revoke<K extends Revocable>(key: K, now: number, leaked = false): K {
  if (leaked && !key.leaked && stateAt(key, now) !== 'active') return { ...key, leaked };
  requireState(key, now, 'active', 'revoked');
  return { ...key, state: 'revoked', revokedAt: now, leaked };
}

/**
 * revoked → active, within 90 days of the revocation. A key whose expiry passed meanwhile is
 * expired as soon as it is back, and is therefore not restored. One that is back did not leak, as far as is known.
 */
export function restore<K extends Revocable>(key: K, now: number): K {
  requireState(key, now, 'revoked', 'restored');
  if (key.revokedAt !== null && key.revokedAt <= purgedUntil(now)) {
    throw new Fault('key_state_conflict', {
      message: 'The 90 days in which a revocation can be undone are over.',
    });
  }
  const restored: K = { ...key, state: 'active', revokedAt: null, leaked: false };
  if (stateAt(restored, now) === 'expired') {
    throw new Fault('key_state_conflict', {
      message: 'The key has expired since it was revoked; issue a new one.',
    });
  }
  return restored;
}

/**
 * Until when a revocation can be undone, in epoch milliseconds; null where it cannot: the key is not revoked, its 90 days are
 * over, or it has expired since.
 */
export function restorableUntil({ expiresAt, revokedAt }: Lifetime, now: number): number | null {
  if (revokedAt === null) return null;
  const until = Math.min(revokedAt + RESTORE_WINDOW_MS, expiresAt ?? Infinity);
  return until > now ? until : null;
}

/** Records of keys that were revoked at this time or before are deleted (epoch milliseconds). */
export function purgedUntil(now: number): number {
  return now - RESTORE_WINDOW_MS;
}

/** When the contacts are warned of an expiry: two weeks are enough to rotate, and the last day is for keys that were forgotten. */
const WARNING_DAYS = [1, 14] as const;

/** The warnings that are due: keys that expire after `from`, until `until`, have so many days left at most. */
export function expiryWarnings(now: number): { days: number; from: number; until: number }[] {
  return WARNING_DAYS.map((days, index) => ({
    days,
    from: now + (WARNING_DAYS[index - 1] ?? 0) * DAY_MS,
    until: now + days * DAY_MS,
  }));
}

/** Only an active key can be given a successor. */
export function requireRotatable(key: Lifetime, now: number): void {
  requireState(key, now, 'active', 'rotated');
}

function requireState(key: Lifetime, now: number, wanted: KeyState, act: string): void {
  const state = stateAt(key, now);
  if (state === wanted) return;
  throw new Fault('key_state_conflict', { values: { state, wanted, act } });
}
