import { once } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import type { Exchange } from '#api/inference/exchange/exchange.ts';
import { OpenExchanges } from '#api/inference/exchange/open-exchanges.ts';
import {
  CONSUMER_GROUP,
  idempotencyKey,
  inboxKey,
  inferenceLane,
  movedKey,
  receiptsLane,
  shardOfLane,
  waiterName,
  waitersKey,
} from '#shared/lanes/keys.ts';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import { type Holding, Outbox } from '#shared/lanes/redis/outbox.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { CLEAR_FIELD, decodeInferenceEntry, encodeMessage } from '#shared/lanes/wire-format.ts';
import type { Reply } from '#shared/lanes/messages.ts';
import { Inbox } from '#shared/lanes/redis/inbox.ts';
import type { Settlement, Spent } from '#workers/inference/settlement.ts';
import {
  admissionRequest,
  admissionsOn,
  deliverTo,
  takeOver as takeEntryOver,
} from '#test/support/lanes.ts';
import { startTestRedisCluster } from '#test/support/redis-cluster.ts';
import { testSeals } from '#test/support/seals.ts';
import { settlementOn } from '#test/support/settling.ts';
import { until } from '#test/support/until.ts';

/** Enough for a shard on each of the three masters, and the inbox on another one than most of them. */
const SHARDS = [0, 1, 2, 3];
const SPENT: Spent = {
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, source: 'upstream' },
  calls: 1,
};
const FAULT = { code: 'upstream_error', message: 'It failed.' } as const;
/** How often an api process looks after its requests. */
const WATCH_MS = 2_000;
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

it('on a cluster a delivery whose entry another worker has taken over writes nothing, neither where the entry is nor to an inbox [survives.stopped-worker]', async () => {
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
      takeOver({
        lane,
        group: CONSUMER_GROUP,
        from: 'stopped',
        to: 'reaper',
        moreArguments: [stopped.entryId, 1],
      });
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
});

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

it.each([
  ['an answer', (one: Settlement, text: string) => one.answered(text, true, SPENT)],
  ['the end of a stream', (one: Settlement, text: string) => one.streamed('', text, SPENT)],
])(
  'on a cluster %s is not given out whose worker died before it had written that the request ended: the client gets that of the next delivery, which the receipt is of [survives.inference-worker]',
  async (what, settle) => {
    const inbox = `api of ${what}`;
    const region = what.replaceAll(' ', '-');
    const { exchanges, replies } = await edgeOf(inbox);
    const looks = vi.spyOn(exchanges, 'isEnded');
    for (const shard of SHARDS) {
      const { entry } = admissionRequest({ shard, inbox, region });
      const lane = inferenceLane(shard, region);
      const first = await deliverTo(client as Redis, { lane, consumer: 'dying' });
      const exchange = exchanges.expect(entry);
      exchange.admitted(entry, first.entryId);
      const given = givenBy(exchange);
      void settle(settlementOn(killedBefore('EVAL', client), first, entry), 'of the dead');
      looks.mockClear();
      await until(() => looks.mock.calls.length > 2 || given.length > 0, 'its receipt is late');
      expect(given).toEqual([]);
      const second = await takeEntryOver(client as Redis, first, 'reaper');
      await settle(settlementOn(client, second, entry), 'of the reaper');
      await until(() => given.length > 0, 'something is given');
      expect(given).toEqual(['of the reaper', null]);
      expect(await client.xlen(receiptsLane(shard))).toBeGreaterThan(0);
    }
    await replies.stop();
  },
);

/** The connection of a worker that is killed when it is about to send this command, which is told. */
function killedBefore(
  command: 'EVAL' | 'XADD',
  alive: RedisClient,
  whenKilled = (): void => {},
): RedisClient {
  return new Proxy(alive, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (name !== 'call' || !String(args[0]).startsWith(command))
          return Reflect.apply(value, target, args);
        whenKilled();
        return new Promise(() => {});
      };
    },
  });
}

it('on a cluster a failure is not told whose worker died before it had written that the request ended: it runs again, and its client gets that answer alone [survives.inference-worker]', async () => {
  const { exchanges, replies } = await edgeOf('api of a failure');
  for (const shard of SHARDS) {
    const { entry } = admissionRequest({ shard, inbox: 'api of a failure', region: 'failing' });
    const lane = inferenceLane(shard, 'failing');
    const first = await deliverTo(client as Redis, { lane, consumer: 'dying' });
    const given = givenBy(exchanges.expect(entry));
    const { promise: killed, resolve: whenKilled } = Promise.withResolvers<void>();
    const dying = killedBefore('EVAL', client, whenKilled);
    void settlementOn(dying, first, entry).failed(FAULT);
    await killed;
    const second = await takeEntryOver(client as Redis, first, 'reaper');
    await settlementOn(client, second, entry).answered('of the reaper', true, SPENT);
    await until(() => given.length > 0, 'something is given');
    expect(given).toEqual(['of the reaper', null]);

    const third = await deliverTo(client as Redis, { lane, consumer: 'living' });
    const other = admissionRequest({ ...entry, id: `${entry.id.slice(0, -1)}F` }).entry;
    const told = givenBy(exchanges.expect(other));
    await settlementOn(client, third, other).failed(FAULT);
    await until(() => told.length > 0, 'the failure is told');
    expect(told).toEqual([FAULT.code]);
  }
  await replies.stop();
});

it('on a cluster a request whose worker died when it had handed it on, and had not said so, is found where it is, and answered there once [operations.region-failover, survives.inference-worker]', async () => {
  const inbox = 'api of one that moves';
  const { exchanges, replies } = await edgeOf(inbox);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  exchanges.start();
  for (const shard of SHARDS) {
    const there = { shard, inbox, region: 'failed', elsewhere: ['taking'] };
    const claim = idempotencyKey(shard, 'org_a', 'moving');
    const request = admissionRequest({ ...there, claim }, { fingerprint: 'f' });
    const { entry } = request;
    const admissions = admissionsOn(client as Redis);
    await admissions.admit(request);
    const lane = inferenceLane(shard, 'failed');
    const first = await readBy(lane, 'dying');
    const exchange = exchanges.expect(entry);
    exchange.admitted(entry, first.entryId);
    const given = givenBy(exchange);
    const dying = killedBefore('XADD', client);
    expect(await settlementOn(dying, first, entry).movedOn('{}', 2)).toBe(true);
    expect(await client.xlen(lane)).toBe(0);
    expect((await admissions.admit(request)).verdict).toBe('wait');

    await until(() => {
      vi.advanceTimersByTime(WATCH_MS);
      return exchange.place!.region === 'taking';
    }, 'it is found');
    expect(given).toEqual([]);
    const second = await readBy(inferenceLane(shard, 'taking'), 'living');
    expect(second.entryId).toBe(exchange.place!.entryId);
    const { head } = decodeInferenceEntry(second.texts[0]!);
    await settlementOn(client, second, head).answered('of the other region', true, SPENT);
    await until(() => given.length > 0, 'something is given');
    expect(given).toEqual(['of the other region', null]);
    expect(await client.xlen(receiptsLane(shard))).toBeGreaterThan(0);
    expect(await client.exists(movedKey(shard, entry.id))).toBe(0);
  }
  exchanges.stop();
  await replies.stop();
});

/** The one entry of a lane, as its first delivery. */
async function readBy(lane: string, consumer: string): Promise<Delivery> {
  await client.xgroup('CREATE', lane, CONSUMER_GROUP, '0', 'MKSTREAM').catch(() => {});
  const [[, [[entryId, fields]]]] = (await (client as Redis).xreadgroup(
    'GROUP',
    CONSUMER_GROUP,
    consumer,
    'STREAMS',
    lane,
    '>',
  )) as [[string, [[string, string[]]]]];
  return { shard: shardOfLane(lane), lane, entryId, consumer, number: 1, texts: fields.slice(1) };
}

/** An api process as replies reach it, and as it looks after its requests. */
async function edgeOf(inbox: string): Promise<{ exchanges: OpenExchanges; replies: Inbox<Reply> }> {
  await client.xadd(inboxKey(inbox), '*', CLEAR_FIELD, encodeMessage({ kind: 'hello' }));
  const fail = (error: unknown): void => {
    throw error;
  };
  const exchanges = new OpenExchanges({
    client,
    answers: client,
    scripts: defineLaneScripts(client),
    seals: testSeals(),
    readStanding: () => Promise.resolve(null),
    inboxReadAt: () => Infinity,
    receiptWaitMs: 20,
    redisNow: () => Date.now(),
    events: { clientGone: fail, requestLost: fail, storeFailed: fail },
  });
  const reader = connectRedis({ url, name: 'inbox', use: 'blocking' });
  const replies = new Inbox<Reply>(reader, inbox, testSeals(), exchanges.take, fail);
  replies.start();
  return { exchanges, replies };
}

/** What a client is given: its answer and the receipt, or why there is none. */
function givenBy(exchange: Exchange): unknown[] {
  const given: unknown[] = [];
  exchange.open({
    frames: (text) => given.push(text),
    failed: ({ code }) => given.push(code),
    settled: () => given.push('settled'),
    done: (payload, receipt) => given.push(payload, receipt),
  });
  return given;
}

it('what a caller waits for is sent once: when its connection breaks it fails, and is not sent again', async () => {
  const admitting = connectRedis({ url, name: 'admitting', use: 'admission' });
  await once(admitting, 'ready');
  const parked = admitting.blpop('{s0}:nothing', 0);
  // It fails before the test waits for it.
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
