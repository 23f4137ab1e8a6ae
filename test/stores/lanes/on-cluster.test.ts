import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  CONSUMER_GROUP,
  idempotencyKey,
  inboxKey,
  inferenceLane,
  receiptsLane,
  waiterName,
  waitersKey,
} from '#shared/lanes/keys.ts';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import { type Holding, Outbox } from '#shared/lanes/redis/outbox.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { deliverTo } from '#test/support/lanes.ts';
import { startTestRedisCluster } from '#test/support/redis-cluster.ts';
import { testSeals } from '#test/support/seals.ts';
import { until } from '#test/support/until.ts';

/** Enough for a shard on each of the three masters, and the inbox on another one than most of them. */
const SHARDS = [0, 1, 2, 3];
let url: string;
let client: RedisClient;

beforeAll(async () => {
  url = await startTestRedisCluster();
  client = connectRedis({ url, name: 'test', use: 'patient' });
});
afterAll(() => client.disconnect());

async function outcome(outbox: Outbox, delivery: Delivery, claim: string): Promise<Holding> {
  const write = outbox.asHolder(delivery);
  write.command('SET', claim, delivery.consumer);
  write.command('XADD', receiptsLane(delivery.shard), '*', 'e', delivery.consumer);
  write.send('api', { id: 'r', kind: 'settled' });
  write.done();
  return write.written;
}

it(
  'on a cluster a delivery whose entry another worker has taken over writes nothing, neither where the entry is nor to an inbox',
  { tags: ['survives.stopped-worker'] },
  async () => {
    await client.xadd(inboxKey('api'), '*', 'hello', '1');
    const told = (): Promise<number> => client.xlen(inboxKey('api'));
    const outbox = new Outbox(client, testSeals(), (error) => {
      throw error;
    });
    const { takeOver } = defineLaneScripts(client);
    for (const shard of SHARDS) {
      const lane = inferenceLane(shard, 'eu-west');
      const claim = `{s${shard}}:claim`;
      const stopped = await deliverTo(client as Redis, { lane, consumer: 'stopped' });
      const reap = (): Promise<unknown> =>
        takeOver(lane, CONSUMER_GROUP, 'stopped', 'reaper', stopped.entryId, 1);
      expect(await reap()).toHaveLength(1);
      // A race with a second reaper has one winner.
      expect(await reap()).toEqual([]);
      const before = await told();
      expect(await outcome(outbox, stopped, claim)).toBe('taken');
      expect([await client.get(claim), await client.xlen(receiptsLane(shard))]).toEqual([null, 0]);
      expect(await told()).toBe(before);

      const later = { ...stopped, consumer: 'reaper', number: 2 };
      expect(await outcome(outbox, later, claim)).toBe('held');
      expect([await client.get(claim), await client.xlen(receiptsLane(shard))]).toEqual([
        'reaper',
        1,
      ]);
      expect(await told()).toBe(before + 1);
      // It wakes once more, long after.
      expect(await outcome(outbox, stopped, claim)).toBe('gone');
      expect([await client.get(claim), await client.xlen(receiptsLane(shard))]).toEqual([
        'reaper',
        1,
      ]);
    }
  },
);

it('on a cluster a claim is freed in the write that ends its request, and who waits for it is told, wherever the inbox is', async () => {
  const inbox = inboxKey('waiting');
  await client.xadd(inbox, '*', 'hello', '1');
  const outbox = new Outbox(client, testSeals(), (error) => {
    throw error;
  });
  for (const shard of SHARDS) {
    const claim = idempotencyKey(shard, 'org_a', 'digest');
    await client.hset(claim, 'fp', 'f', 'state', 'running', 'rid', 'req_1');
    await client.rpush(waitersKey(claim), waiterName('waiting', `req_${shard}`));
    const lane = inferenceLane(shard, 'freeing');
    const write = outbox.asHolder(await deliverTo(client as Redis, { lane, consumer: 'w' }));
    write.free({ claim, requestId: 'req_1', delivery: 1 }, { code: 'worker_lost', message: '' });
    write.done();
    expect(await write.written).toBe('held');
    await outbox.flushed();
    expect(await client.exists(claim)).toBe(0);
    expect(await client.xlen(lane)).toBe(0);
    expect(await client.xlen(inbox)).toBe(shard + 2);
  }
});

it('what a caller waits for is sent once: when its connection breaks it fails, and is not sent again', async () => {
  const admitting = connectRedis({ url, name: 'admitting', use: 'admission' });
  await once(admitting, 'ready');
  const parked = admitting.blpop('{s0}:nothing', 0);
  // It fails before anybody waits for it.
  parked.catch(() => {});
  await until(async () => {
    const killed = await Promise.all(
      (client as Cluster).nodes('master').map(async (node) => {
        const lines = ((await node.client('LIST')) as string).split('\n');
        const one = lines.find((line) => /name=admitting .* cmd=blpop/.test(line));
        return one !== undefined && node.client('KILL', 'ID', /^id=(\d+)/.exec(one)![1]!);
      }),
    );
    return killed.includes(1);
  }, 'its connection is closed');
  await expect(parked).rejects.toThrow('Connection is closed');
  admitting.disconnect();
});
