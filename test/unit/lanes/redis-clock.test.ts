import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { RedisClock } from '#shared/lanes/redis/redis-clock.ts';

afterEach(() => void vi.restoreAllMocks());

it('the time told is never later than Redis’s own, and as close as the quickest of the last answers', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2_000_000_000_000 }),
      fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 40 }),
      (leadMs, delaysMs) => {
        let now = 1_000;
        const steady = vi.spyOn(performance, 'now').mockImplementation(() => now);
        const clock = new RedisClock();
        expect(clock.timeUs(0)).toBeNull();
        for (const delayMs of delaysMs) {
          const redisUs = (now + leadMs) * 1_000;
          now += delayMs;
          clock.observe(redisUs);
          now += 1_000;
        }
        const told = clock.timeUs(0)! / 1_000;
        expect(told).toBeLessThanOrEqual(now + leadMs);
        expect(told).toBe(now + leadMs - Math.min(...delaysMs.slice(-16)));
        steady.mockRestore();
      },
    ),
  );
});
