import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import { callReplicated } from '#shared/lanes/redis/replicated.ts';
import { startTestRedisClusterWithReplica } from '#test/support/redis-cluster.ts';
import { until } from '#test/support/until.ts';

/** Many more than could stand in line for a tenth of a second each, within the time that a caller is given. */
const CALLS = 64;
let master: Redis;
let replica: Redis;
let replicaPid: number;
let client: RedisClient;

beforeAll(async () => {
  const cluster = await startTestRedisClusterWithReplica();
  master = new Redis(cluster.master.url);
  replica = new Redis(cluster.replica.url);
  replicaPid = cluster.replica.pid;
  await replica.readonly();
  const url = `${cluster.master.url},${cluster.replica.url}`;
  client = connectRedis({ url, name: 'replicated', use: 'patient' });
});
afterAll(() => {
  for (const one of [master, replica, client]) one?.disconnect();
});

const set = (key: string, value: string): Promise<unknown> =>
  callReplicated(client, key, 'SET', key, value);
const setMany = (value: string): Promise<unknown[]> =>
  Promise.all(Array.from({ length: CALLS }, (_, i) => set(`{s0}:${i}`, value)));

async function waits(): Promise<number> {
  return Number(/cmdstat_wait:calls=(\d+)/.exec(await master.info('commandstats'))?.[1] ?? 0);
}

async function isInStep(): Promise<boolean> {
  const before = await waits();
  await set('{s0}:again', 'now');
  await set('{s0}:again', 'now');
  return (await waits()) === before + 2;
}

it('resolves what was called once a replica has it, and calls that come together wait for it together', async () => {
  await until(isInStep, 'it has found the replica');
  const before = await waits();
  process.kill(replicaPid, 'SIGSTOP');
  let isSettled = false;
  const calls = setMany('replicated').finally(() => (isSettled = true));
  await until(async () => /blocked_clients:1/.test(await master.info('clients')), 'one waits');
  const wasSettled = isSettled;
  process.kill(replicaPid, 'SIGCONT');
  expect(wasSettled).toBe(false);
  await calls;
  expect(await replica.get(`{s0}:${CALLS - 1}`)).toBe('replicated');
  // That of the first call, and that of those which came meanwhile.
  expect((await waits()) - before).toBe(2);
});

it('a replica that does not answer holds calls up once, not each of them, and is waited for again once it answers', async () => {
  await until(isInStep, 'its replica is in step');
  process.kill(replicaPid, 'SIGSTOP');
  try {
    const before = await waits();
    await setMany('behind');
    expect((await waits()) - before).toBe(1);
    // A look at it a second at the most, however many calls there are.
    const startedAt = performance.now();
    const laterBefore = await waits();
    for (let i = 0; i < 4; i += 1) await setMany('later');
    const seconds = (performance.now() - startedAt) / 1_000;
    expect((await waits()) - laterBefore).toBeLessThanOrEqual(1 + Math.ceil(seconds));
  } finally {
    process.kill(replicaPid, 'SIGCONT');
  }
  await until(isInStep, 'it is waited for again');
  await set('{s0}:last', 'replicated');
  expect(await replica.get('{s0}:last')).toBe('replicated');
});
