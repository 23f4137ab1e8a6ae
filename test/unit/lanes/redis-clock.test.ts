import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { RedisClock, RedisClocks } from '#shared/lanes/redis/redis-clock.ts';
import { forAll } from '#test/support/for-all.ts';

afterEach(() => void vi.restoreAllMocks());

it('the time told is never later than Redis’s own, and as close as the quickest of the last answers', () => {
  forAll(
    [
      fc.integer({ min: 0, max: 2_000_000_000_000 }),
      fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 40 }),
    ],
    (leadMs, delaysMs) => {
      let now = 1_000;
      const steady = vi.spyOn(performance, 'now').mockImplementation(() => now);
      const clock = new RedisClock();
      expect(clock.timeUs(0)).toBeNull();
      for (const delayMs of delaysMs) {
        const redisUs = (now + leadMs) * 1_000;
        const askedAt = now;
        now += delayMs;
        clock.observe(redisUs, askedAt);
        now += 1_000;
      }
      const told = clock.timeUs(0)! / 1_000;
      expect(told).toBeLessThanOrEqual(now + leadMs);
      expect(told).toBe(now + leadMs - Math.min(...delaysMs.slice(-16)));
      steady.mockRestore();
    },
  );
});

it('the clock of a node that has taken over is believed at once, whether ahead or behind', () => {
  let now = 1_000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  for (const behindMs of [-5_000, 5_000]) {
    const clock = new RedisClock();
    for (let i = 0; i < 20; i += 1) {
      clock.observe((now + 10_000) * 1_000, now);
      now += 1_000;
    }
    clock.observe((now + 10_000 - behindMs) * 1_000, now);
    expect(clock.timeUs(0)).toBe((now + 10_000 - behindMs) * 1_000);
  }
});

it('on a cluster each shard goes by the clock of its own master', async () => {
  const aheadMs = (key: string): number => (key.startsWith('{s1}') ? 60_000 : 0);
  vi.spyOn(performance, 'now').mockReturnValue(1_000);
  const told = (ms: number): string[] => [
    String(Math.floor(ms / 1_000)),
    String((ms % 1_000) * 1_000),
  ];
  const client = {
    isCluster: true,
    eval: (_text: string, _count: number, key: string) => {
      if (key.startsWith('{s2}')) return Promise.reject(new Error('away'));
      return Promise.resolve(told(1_000_000 + aheadMs(key)));
    },
  };
  const clocks = new RedisClocks(client as unknown as RedisClient, 3);
  await clocks.sample();
  expect([0, 1, 2].map((shard) => clocks.of(shard).timeUs(0))).toEqual([
    1_000_000_000,
    1_060_000_000,
    null,
  ]);
});
