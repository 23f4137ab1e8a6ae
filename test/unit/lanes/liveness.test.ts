import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { Liveness } from '#shared/lanes/redis/liveness.ts';

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] }),
);
const started: Liveness[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((liveness) => liveness.stop()));
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A Redis that can be frozen: then its answers wait until it is thawed. */
function redisDouble() {
  let thawed = Promise.withResolvers<void>();
  thawed.resolve();
  const answer = <T>(value: T): Promise<T> => thawed.promise.then(() => value);
  const client = {
    set: () => answer('OK'),
    pexpire: () => answer(1),
    xtrim: () => answer(0),
    time: () => answer([1_800_000_000, 0]),
    del: () => answer(1),
  } as unknown as RedisClient;
  return {
    client,
    freeze: () => void (thawed = Promise.withResolvers()),
    thaw: () => thawed.resolve(),
  };
}

/** The microtasks of one beat. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

async function beating() {
  const redis = redisDouble();
  const liveness = new Liveness(redis.client, 'p', { lastRead: () => '0-0' });
  started.push(liveness);
  await liveness.start();
  /** Time passes while the process runs. */
  const pass = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 500) {
      vi.advanceTimersByTime(500);
      await settled();
    }
  };
  return { redis, liveness, pass };
}

describe('a process that may take others for dead', () => {
  it('a process whose heartbeats are heard may judge others', async () => {
    const { liveness, pass } = await beating();
    for (let i = 0; i < 20; i += 1) {
      expect(liveness.mayJudge()).toBe(true);
      await pass(1_000);
    }
  });

  it('a process that was stopped for seven seconds judges no other until it is heard again and others have had as long as makes one dead [survives.stalled-together]', async () => {
    const { liveness, pass } = await beating();
    await pass(3_000);
    // Stopped: the clock goes on, and no timer of its own has run yet when it wakes.
    const steady = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => steady() + 7_000);
    expect(liveness.mayJudge()).toBe(false);
    await pass(1_000);
    expect(liveness.mayJudge()).toBe(false);
    await pass(4_500);
    expect(liveness.mayJudge()).toBe(false);
    await pass(1_000);
    expect(liveness.mayJudge()).toBe(true);
  });

  it('a process whose Redis was frozen judges no other until others have had the time to be heard again [survives.stalled-together]', async () => {
    const { redis, liveness, pass } = await beating();
    redis.freeze();
    await pass(3_500);
    expect(liveness.mayJudge()).toBe(false);
    await pass(4_000);
    redis.thaw();
    await settled();
    expect(liveness.mayJudge()).toBe(false);
    await pass(4_500);
    expect(liveness.mayJudge()).toBe(false);
    await pass(1_000);
    expect(liveness.mayJudge()).toBe(true);
  });
});
