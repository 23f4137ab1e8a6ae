import { expect, it } from 'vitest';
import { createOwedNotices, listenForOwed } from '#shared/ledger/redis/owed-notices.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const redis = await startTestRedis();
const unexpected = (error: unknown): never => {
  throw error;
};

it('without the right to the channel nothing fails: who would say or hear it reports that, once', async () => {
  const admin = connectTo(redis.url);
  await admin.call('ACL', 'SETUSER', 'docket', 'on', '>secret', '~*', 'resetchannels', '+@all');
  const client = connectTo(redis.url.replace('redis://', 'redis://docket:secret@'));
  const unheard: unknown[] = [];
  const unsaid: unknown[] = [];
  listenForOwed(
    client,
    () => expect.fail('nothing is heard'),
    (error) => unheard.push(error),
  );
  const notices = createOwedNotices(
    client,
    () => 0,
    (error) => unsaid.push(error),
  );
  for (let i = 0; i < 10; i += 1) notices.give();
  await until(() => unheard.length > 0 && unsaid.length > 0);
  expect([unheard, unsaid].map((errors) => errors.map(String))).toEqual([
    [expect.stringContaining('NOPERM')],
    [expect.stringContaining('NOPERM')],
  ]);
});

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
