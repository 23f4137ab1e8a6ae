import { expect, it } from 'vitest';
import { createOwedNotices, listenForOwed } from '#shared/ledger/redis/owed-notices.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const redis = await startTestRedis();
const unexpected = (error: unknown): never => {
  throw error;
};

it('every ledger worker hears that receipts wait, once a second at most of each who says so, and again after its connection broke', async () => {
  const heard = [0, 0];
  const listeners = heard.map((_, i) => {
    const client = connectTo(redis.url);
    listenForOwed(client, () => (heard[i]! += 1), unexpected);
    return client;
  });
  const writer = connectTo(redis.url);
  const listening = async (): Promise<boolean> => {
    const [, count] = (await writer.pubsub('NUMSUB', 'ledger:owed')) as [string, number];
    return count === listeners.length;
  };
  await until(listening);
  let now = 0;
  const notices = createOwedNotices(writer, () => now, unexpected);
  for (; now < 3_000; now += 100) notices.give();
  await until(() => heard.every((count) => count >= 3));
  await writer.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await until(listening);
  notices.give();
  await until(() => heard.every((count) => count >= 4));
  expect(heard).toEqual([4, 4]);
});
