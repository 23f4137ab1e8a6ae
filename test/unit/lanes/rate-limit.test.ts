import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intervalUsOf } from '#shared/lanes/redis/admission.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { decideArrival, remainingOf } from '#test/support/rate-limit.ts';

const rate = fc.integer({ min: 1, max: 1_000_000 });
const burst = fc.integer({ min: 1, max: 1_000 });
const gaps = fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 300 });

describe('the per-second limit', () => {
  it('the rate limit admits exactly the burst at one moment [limits.audit]', () => {
    forAll([rate, burst], (perSecond, size) => {
      const interval = intervalUsOf(perSecond);
      let tat = 0;
      let admitted = 0;
      for (let i = 0; i < size + 5; i += 1) {
        const decision = decideArrival(tat, 1e15, interval, size);
        if (!decision.allowed) continue;
        admitted += 1;
        tat = decision.nextTatUs;
      }
      expect(admitted).toBe(size);
    });
  });

  it('the rate limit never admits more than burst plus rate times any window [limits.audit]', () => {
    forAll([rate, burst, gaps], (perSecond, size, between) => {
      const interval = intervalUsOf(perSecond);
      const times: number[] = [];
      let now = 1e15;
      let tat = 0;
      for (const gap of between) {
        now += gap;
        const decision = decideArrival(tat, now, interval, size);
        if (!decision.allowed) continue;
        tat = decision.nextTatUs;
        times.push(now);
      }
      for (let from = 0; from < times.length; from += 1) {
        const span = times.at(-1)! - times[from]!;
        expect(times.length - from).toBeLessThanOrEqual(size + Math.floor(span / interval));
      }
    });
  });

  it('the rate limit names the exact wait after which the same request is admitted', () => {
    forAll([rate, burst, fc.integer({ min: 0, max: 10_000_000 })], (perSecond, size, ahead) => {
      const interval = intervalUsOf(perSecond);
      const now = 1e15;
      const refused = decideArrival(now + ahead, now, interval, size);
      if (refused.allowed) return;
      const later = now + refused.retryUs;
      expect(decideArrival(now + ahead, later, interval, size).allowed).toBe(true);
      expect(decideArrival(now + ahead, later - 1, interval, size).allowed).toBe(false);
    });
  });

  it('the rate limit admits exactly as many more at once as it says', () => {
    forAll(
      [rate, burst, fc.integer({ min: 0, max: 1_000_000 })],
      { numRuns: runs(50) },
      (perSecond, size, ahead) => {
        const interval = intervalUsOf(perSecond);
        const now = 1e15;
        let tat = now + ahead;
        const remaining = remainingOf(tat, now, interval, size);
        for (let i = 0; i < remaining; i += 1) {
          const decision = decideArrival(tat, now, interval, size);
          expect(decision.allowed).toBe(true);
          tat = decision.nextTatUs;
        }
        expect(decideArrival(tat, now, interval, size).allowed).toBe(false);
      },
    );
  });
});
