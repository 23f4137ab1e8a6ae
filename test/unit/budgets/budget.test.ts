import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkBudget,
  type NewBudget,
  reachedAt,
  SHARES_MAX,
  sharesReached,
  spanOf,
} from '#shared/budgets/budget.ts';
import { forAll } from '#test/support/for-all.ts';

const BUDGET: NewBudget = {
  name: ' Research ',
  scope: 'organisation',
  target: null,
  measure: 'tokens',
  period: 'month',
  mode: 'soft',
  limit: 1_000,
  shares: [100, 50, 50],
};
const MIDDLE = Date.UTC(2026, 1, 15);

describe('a budget [budgets.objects]', () => {
  it('every moment lies in its day and its month, which begin where the one before ends', () => {
    forAll(
      [fc.integer({ min: 0, max: 4e12 }), fc.constantFrom('day' as const, 'month' as const)],
      (at, period) => {
        const { start, end } = spanOf(period, at);
        expect(start <= at && at < end).toBe(true);
        expect(spanOf(period, end - 1)).toEqual({ start, end });
        expect(spanOf(period, end).start).toBe(end);
        expect(new Date(start).toISOString()).toMatch(
          period === 'day' ? /T00:00:00.000Z/ : /-01T00:00:00.000Z/,
        );
      },
    );
  });

  it('the pace says when a limit is reached within the period, and nothing when it is not or was reached', () => {
    const span = spanOf('month', MIDDLE);
    const half = { used: 600, limit: 1_000 };
    // Fourteen days have used six tenths.
    expect(reachedAt(half, span, MIDDLE)).toBeCloseTo(span.start + (14 * 86_400_000) / 0.6, -1);
    expect(reachedAt({ used: 400, limit: 1_000 }, span, MIDDLE)).toBeNull();
    expect(reachedAt({ used: 0, limit: 1_000 }, span, MIDDLE)).toBeNull();
    expect(reachedAt({ used: 1_000, limit: 1_000 }, span, MIDDLE)).toBeNull();
  });

  it('a share is reached at exactly its part of the limit, also of decimals', () => {
    const shares = [10, 50, 100];
    expect(sharesReached({ limit: 0.3, shares }, 0.03)).toEqual([10]);
    expect(sharesReached({ limit: 7, shares }, 3.4999)).toEqual([10]);
    expect(sharesReached({ limit: 7, shares }, 3.5)).toEqual([10, 50]);
    expect(sharesReached({ limit: 7, shares }, 8)).toEqual(shares);
  });

  it('what is asked for is put in order, or refused by the name of its field', () => {
    expect(checkBudget(BUDGET)).toMatchObject({ name: 'Research', shares: [50, 100] });
    const refused: [Partial<NewBudget>, string][] = [
      [{ name: '  ' }, 'invalid_name'],
      [{ limit: Number.NaN }, 'invalid_amount'],
      [{ limit: 0 }, 'invalid_amount'],
      [{ limit: 1.5 }, 'invalid_amount'],
      [{ limit: 1e16 }, 'invalid_amount'],
      [{ shares: [0] }, 'invalid_shares'],
      [{ shares: [101] }, 'invalid_shares'],
      [{ shares: Array.from({ length: SHARES_MAX + 1 }, (_, i) => i + 1) }, 'invalid_shares'],
      // Counters count ten thousand millionths of a kWh, and are exact below 2^53.
      [{ mode: 'hard', measure: 'energy', limit: 1e6 }, 'invalid_amount'],
      [{ scope: 'key', target: 'key_nothing' }, 'invalid_target'],
      [{ scope: 'model', target: '' }, 'invalid_target'],
    ];
    for (const [change, code] of refused) {
      expect(() => checkBudget({ ...BUDGET, ...change })).toThrow(
        expect.objectContaining({ code }),
      );
    }
    expect(checkBudget({ ...BUDGET, measure: 'energy', limit: 0.5 }).limit).toBe(0.5);
  });
});
