import { expect, it } from 'vitest';
import { createTurns } from '#shared/jobs/redis/rounds.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const redis = await startTestRedis();
const [one, other] = [createTurns(connectTo(redis.url)), createTurns(connectTo(redis.url))];

it('of processes that ask for a turn at once one gets it, and the others hear when it is free', async () => {
  const asked = Array.from({ length: 10 }, (_, i) => (i % 2 ? one : other).take('mail', 60_000));
  const answers = await Promise.all(asked);
  expect(answers.filter((answer) => answer === 'taken')).toHaveLength(1);
  for (const answer of answers.filter((each) => each !== 'taken')) {
    expect(answer).toBeGreaterThan(50_000);
    expect(answer).toBeLessThanOrEqual(60_000);
  }
});

it('a turn is kept for as long as is said, and one that is given back is free', async () => {
  expect(await one.take('key-purge', 60_000)).toBe('taken');
  await one.keep('key-purge', 3_600_000);
  expect(await other.take('key-purge', 60_000)).toBeGreaterThan(3_500_000);
  await one.keep('key-purge', 0);
  await until(async () => (await other.take('key-purge', 60_000)) === 'taken');
});
