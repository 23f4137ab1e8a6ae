import { expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';
import { ATTEMPTS_MAX, pauseAfter, waitAfterFailure } from '#shared/webhooks/retries.ts';

it('a message is tried again at growing waits that are not the same for all, for about a day, and then given up [webhooks.delivered]', () => {
  const waits = (random: number) =>
    Array.from({ length: ATTEMPTS_MAX - 1 }, (_, i) => waitAfterFailure(i + 1, random)!);
  const sum = (each: readonly number[]) => each.reduce((all, wait) => all + wait, 0);
  const middle = waits(0.5);
  expect(middle).toEqual(middle.toSorted((a, b) => a - b));
  expect(sum(middle)).toBeGreaterThan(16 * HOUR_MS);
  expect(sum(waits(0.999))).toBeLessThan(32 * HOUR_MS);
  expect(waits(0)[0]).toBeLessThan(waits(0.999)[0]!);
  expect(waitAfterFailure(ATTEMPTS_MAX, 0)).toBeNull();
});

it('one that is gone is paused at once, another when a message is given up after three days of failures [webhooks.paused]', () => {
  const failure = { status: 500, isLast: true, failingForMs: 3 * DAY_MS };
  expect(pauseAfter({ ...failure, status: 410, isLast: false, failingForMs: 0 })).toBe('gone');
  expect(pauseAfter(failure)).toBe('failing');
  expect(pauseAfter({ ...failure, isLast: false })).toBeNull();
  expect(pauseAfter({ ...failure, failingForMs: 3 * DAY_MS - 1 })).toBeNull();
});
