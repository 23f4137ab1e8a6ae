import { beforeAll, expect, it } from 'vitest';
import type { Redis } from 'ioredis';
import { PATIENCE } from '#patience';
import { createServingBoard, watchServing } from '#shared/catalogue/redis/serving.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';

/** Ten seconds, where the product waits no longer than it is shipped to. */
const BELIEVED_MS = 10_000 * PATIENCE;

let client: Redis;
beforeAll(async () => {
  const { url } = await startTestRedis();
  client = connectTo(url);
});

it('the workers of a region are counted together, and one that stops no longer [limits.regions]', async () => {
  const watch = watchServing(client, () => {});
  const [one, two] = [createServingBoard(client, 'w-1'), createServingBoard(client, 'w-2')];
  await one.publish(new Map([['eu', { slots: 10, perSecond: 2.5 }]]));
  await two.publish(
    new Map([
      ['eu', { slots: 5, perSecond: 0 }],
      ['us', { slots: 5, perSecond: 1 }],
    ]),
  );
  // What a worker says replaces what it said before.
  await one.publish(new Map([['eu', { slots: 10, perSecond: 7.5 }]]));
  expect(Object.fromEntries(await watch.refresh())).toEqual({
    eu: { slots: 15, perSecond: 7.5 },
    us: { slots: 5, perSecond: 1 },
  });
  await two.publish(new Map());
  expect([...(await watch.refresh()).keys()]).toEqual(['eu']);
});

it('a worker that says nothing for long is not counted [limits.regions]', async () => {
  await client.flushall();
  const watch = watchServing(client, () => {});
  await createServingBoard(client, 'w-1').publish(new Map([['eu', { slots: 1, perSecond: 0 }]]));
  expect((await watch.refresh()).size).toBe(1);
  const [[member, until]] = (await client
    .call('ZRANGE', 'serving', 0, -1, 'WITHSCORES')
    .then((flat) => [flat])) as [[string, string]];
  expect(Number(until) - Date.now()).toBeLessThanOrEqual(BELIEVED_MS);
  await client.zadd('serving', Number(until) - BELIEVED_MS - 1, member);
  expect((await watch.refresh()).size).toBe(0);
});
