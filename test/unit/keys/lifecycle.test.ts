import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '#shared/kernel/errors.ts';
import {
  expiryWarnings,
  purgedUntil,
  restorableUntil,
  restore,
  RESTORE_WINDOW_MS,
  revoke,
  stateAt,
} from '#shared/keys/lifecycle.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const ACTIVE = { state: 'active', expiresAt: null, revokedAt: null, leaked: false } as const;
type Key = Parameters<typeof restore>[0];

const codeOf = (act: () => unknown): string | null => thrownBy(Fault, act)?.code ?? null;

describe('the life of a key', () => {
  it('revocation is reversible for 90 days to the millisecond, and purged from then on [keys.ninety-days]', () => {
    const revoked = revoke<Key>(ACTIVE, 1_000);
    const end = 1_000 + RESTORE_WINDOW_MS;
    expect(restore(revoked, end - 1)).toEqual(ACTIVE);
    expect(purgedUntil(end - 1)).toBe(999);
    expect(codeOf(() => restore(revoked, end))).toBe('key_state_conflict');
    expect(purgedUntil(end)).toBe(1_000);
  });

  it('expires by the clock, before any job has written it down', () => {
    const key: Key = { ...ACTIVE, expiresAt: 5_000 };
    expect(stateAt(key, 4_999)).toBe('active');
    expect(stateAt(key, 5_000)).toBe('expired');
    expect(codeOf(() => revoke(key, 5_000))).toBe('key_state_conflict');
  });

  it('is marked as leaked in any state, and that alone changes where it is refused already', () => {
    const expired: Key = { ...ACTIVE, expiresAt: 5_000 };
    expect(revoke(expired, 5_000, true)).toEqual({ ...expired, leaked: true });
    const revoked = revoke<Key>(ACTIVE, 1_000);
    expect(revoke(revoked, 2_000, true)).toEqual({ ...revoked, leaked: true });
    const leaked = revoke<Key>(ACTIVE, 1_000, true);
    expect(leaked).toMatchObject({ state: 'revoked', leaked: true });
    expect(codeOf(() => revoke(leaked, 2_000, true))).toBe('key_state_conflict');
    expect(restore(leaked, 2_000)).toEqual(ACTIVE);
  });

  it('does not come back from a revocation into expiry', () => {
    const revoked = revoke<Key>({ ...ACTIVE, expiresAt: 5_000 }, 1_000);
    expect(codeOf(() => restore(revoked, 6_000))).toBe('key_state_conflict');
  });

  it('says until when a revocation can be undone, and nothing once it cannot [keys.ninety-days]', () => {
    const revoked = revoke<Key>(ACTIVE, 1_000);
    const end = 1_000 + RESTORE_WINDOW_MS;
    const expiring = { ...revoked, expiresAt: 5_000 };
    expect(restorableUntil(ACTIVE, 1_000)).toBe(null);
    for (const [key, until] of [
      [revoked, end],
      [expiring, 5_000],
    ] as const) {
      expect(restorableUntil(key, until - 1)).toBe(until);
      expect(codeOf(() => restore(key, until - 1))).toBe(null);
      expect(restorableUntil(key, until)).toBe(null);
      expect(codeOf(() => restore(key, until))).toBe('key_state_conflict');
    }
  });

  it('is warned of once in its last day and once in the two weeks before', () => {
    const day = 86_400_000;
    const daysOf = (expiresAt: number): number[] =>
      expiryWarnings(0).flatMap(({ days, from, until }) =>
        expiresAt > from && expiresAt <= until ? [days] : [],
      );
    expect([0, 1, day, day + 1, 14 * day, 14 * day + 1].map(daysOf)).toEqual([
      [],
      [1],
      [1],
      [14],
      [14],
      [],
    ]);
  });

  it('takes only the arrows of the specification, under any sequence of acts [keys.no-other-arrows]', () => {
    const act = fc.record({
      name: fc.constantFrom('revoke', 'leak', 'restore', 'expire', 'wait'),
      days: fc.nat(60),
    });
    const allowed = new Set(['active>revoked', 'active>expired', 'revoked>active']);
    forAll([fc.option(fc.nat(200)), fc.array(act)], (expiryDay, acts) => {
      const day = 86_400_000;
      let now = 0;
      let key: Key = { ...ACTIVE, expiresAt: expiryDay === null ? null : expiryDay * day };
      for (const { name, days } of acts) {
        now += days * day;
        const before = stateAt(key, now);
        try {
          if (name === 'revoke') key = revoke(key, now);
          if (name === 'leak') key = revoke(key, now, true);
          if (name === 'restore') key = restore(key, now);
          // What the job writes down.
          if (name === 'expire') key = { ...key, state: stateAt(key, now) };
        } catch (error) {
          expect(error).toMatchObject({ code: 'key_state_conflict' });
        }
        const after = stateAt(key, now);
        if (before !== after) expect(allowed).toContain(`${before}>${after}`);
        expect(key.revokedAt !== null).toBe(key.state === 'revoked');
      }
    });
  });
});
