import type { Redis } from 'ioredis';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ReceiptEntry, Reply } from '#shared/lanes/messages.ts';
import { Inbox } from '#shared/lanes/redis/inbox.ts';
import {
  aliveKey,
  CONSUMER_GROUP,
  inboxKey,
  inferenceLane,
  receiptsLane,
} from '#shared/lanes/keys.ts';
import { type Delivery, LaneConsumer } from '#shared/lanes/redis/lane-consumer.ts';
import { Liveness } from '#shared/lanes/redis/liveness.ts';
import { type Holding, Outbox } from '#shared/lanes/redis/outbox.ts';
import { defineLaneScripts, type LaneScripts } from '#shared/lanes/redis/scripts.ts';
import { Slots } from '#shared/lanes/slots.ts';
import { decodeBatch, decodeReceiptEntry } from '#shared/lanes/wire-format.ts';
import type { RedisServer } from '#embedded/stores/redis.ts';
import { inferenceRecord } from '#test/support/issuing.ts';
import { connectTo, deliverTo, takeOver } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';
import { testSeals } from '#test/support/seals.ts';

const LANE = inferenceLane(0, 'eu-west');
let server: RedisServer;
let client: Redis;
let scripts: LaneScripts;
const open: (() => Promise<unknown> | void)[] = [];

beforeAll(async () => {
  server = await startTestRedis();
  client = connectTo(server.url);
  scripts = defineLaneScripts(client);
});
beforeEach(async () => {
  await client.flushall();
});
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

const fail = (error: unknown): void => {
  throw error;
};

function consume(
  name: string,
  slots: number,
  onDeliveries: (deliveries: Delivery[], slots: Slots) => void,
  mayJudge: () => boolean = () => true,
) {
  const held = new Slots(slots);
  const consumer = new LaneConsumer({
    lane: LANE,
    consumer: name,
    slots: held,
    batchMax: 100,
    blocking: connectTo(server.url, 'blocking'),
    client,
    scripts,
    mayJudge,
    onDeliveries: (deliveries) => onDeliveries(deliveries, held),
    onError: () => {},
  });
  open.push(() => consumer.stop());
  return { consumer, slots: held };
}

/** A reply that tells itself from others. */
const reply = (i: number): Reply => ({ id: String(i), kind: 'settled' });

const put = (text: string) => client.xadd(LANE, '*', 'e', text);

describe('a lane', () => {
  it('a lane delivers what was there before its first worker ever started', async () => {
    await put('early');
    const seen: string[] = [];
    const { consumer } = consume('w1', 10, (entries) =>
      seen.push(...entries.flatMap(({ texts }) => texts)),
    );
    await consumer.start();
    await until(() => seen.length === 1);
    expect(seen).toEqual(['early']);
  });

  it('a lane hands a worker no more than it has slots, and the rest when they are free', async () => {
    for (let i = 0; i < 10; i += 1) await put(String(i));
    const seen: string[] = [];
    const { consumer, slots } = consume('w1', 3, (entries) =>
      seen.push(...entries.flatMap(({ texts }) => texts)),
    );
    await consumer.start();
    await until(() => seen.length === 3);
    const pending = (await client.xpending(LANE, CONSUMER_GROUP)) as [number];
    expect(pending[0]).toBe(3);
    slots.release(2);
    await until(() => seen.length === 5);
    expect(seen).toEqual(['0', '1', '2', '3', '4']);
  });

  it('a dead worker’s entries go to a living one, with the number of the delivery [survives.inference-worker]', async () => {
    await client.set(aliveKey('dead'), '1', 'PX', 60_000);
    const first: Delivery[] = [];
    const dying = consume('dead', 10, (entries) => first.push(...entries));
    await dying.consumer.start();
    await put('one');
    await put('two');
    await until(() => first.length === 2);
    await dying.consumer.stop();

    const second: Delivery[] = [];
    const living = consume('living', 10, (entries) => second.push(...entries));
    await living.consumer.start();
    await client.del(aliveKey('dead'));
    await until(() => second.length === 2);
    expect(second.map(({ texts, number }) => [texts[0], number])).toEqual([
      ['one', 2],
      ['two', 2],
    ]);
    expect(first.every(({ number }) => number === 1)).toBe(true);
    await until(async () => !(await names()).includes('dead'));
  });

  it('a worker of batches takes fewer entries where each holds several texts', async () => {
    for (let i = 0; i < 30; i += 1) await client.xadd(LANE, '*', 'e', 'a', 'e', 'b', 'e', 'c');
    const taken: number[] = [];
    const held = new Slots(1);
    const consumer = new LaneConsumer({
      lane: LANE,
      consumer: 'w1',
      slots: held,
      batchMax: 6,
      batched: true,
      blocking: connectTo(server.url, 'blocking'),
      client,
      scripts,
      mayJudge: () => true,
      onDeliveries: (deliveries) => {
        taken.push(deliveries.flatMap(({ texts }) => texts).length);
        setImmediate(() => held.release());
      },
      onError: () => {},
    });
    open.push(() => consumer.stop());
    await consumer.start();
    await until(() => taken.reduce((sum, count) => sum + count, 0) === 90);
    expect(taken.slice(0, 4)).toEqual([18, 6, 6, 6]);
  });

  it('a worker is given the entries that the server counts as held by it and that it has never seen', async () => {
    const seen: Delivery[] = [];
    await client.xgroup('CREATE', LANE, CONSUMER_GROUP, '0', 'MKSTREAM');
    await put('lost');
    // As if the connection had broken under the reply.
    await client.xreadgroup('GROUP', CONSUMER_GROUP, 'a', 'STREAMS', LANE, '>');
    const { consumer } = consume('a', 10, (entries) => seen.push(...entries));
    await consumer.start();
    await until(() => seen.length === 1);
    expect(seen[0]).toMatchObject({ texts: ['lost'], number: 2 });
    // In hand now: however long it takes, it does not come again.
    const idleMs = async (): Promise<number> =>
      (
        (await client.xpending(LANE, CONSUMER_GROUP, '-', '+', 1)) as [[string, string, number]]
      )[0][2];
    await until(async () => (await idleMs()) > 2_200);
    expect(seen).toHaveLength(1);
  });

  it('the entries of a living worker are left alone, however long they take', async () => {
    await client.set(aliveKey('slow'), '1', 'PX', 60_000);
    const slow = consume('slow', 10, () => {});
    await slow.consumer.start();
    await put('long');
    await until(async () => ((await client.xpending(LANE, CONSUMER_GROUP)) as [number])[0] === 1);
    const stolen: Delivery[] = [];
    const other = consume('other', 10, (entries) => stolen.push(...entries));
    await other.consumer.start();
    // Two rounds of the reaper are over when a later dead worker's consumer has been forgotten.
    await client.xgroup('CREATECONSUMER', LANE, CONSUMER_GROUP, 'ghost');
    await until(async () => !(await names()).includes('ghost'));
    expect(stolen).toEqual([]);
  });

  it('a worker that was silent itself leaves the entries of a silent one alone until it may judge [survives.stalled-together]', async () => {
    await deliverTo(client, { lane: LANE, consumer: 'silent' });
    await client.set(aliveKey('w2'), '1', 'PX', 60_000);
    let asked = 0;
    let mayJudge = false;
    const taken: Delivery[] = [];
    const { consumer } = consume(
      'w2',
      10,
      (entries) => taken.push(...entries),
      () => {
        asked += 1;
        return mayJudge;
      },
    );
    await consumer.start();
    await until(() => asked >= 2);
    expect(taken).toEqual([]);
    mayJudge = true;
    await until(() => taken.length === 1);
    expect(taken[0]).toMatchObject({ number: 2, consumer: 'w2' });
  });

  it('a lane works again after the server has forgotten everything [survives.empty-redis]', async () => {
    const seen: string[] = [];
    const { consumer } = consume('w1', 10, (entries) =>
      seen.push(...entries.flatMap(({ texts }) => texts)),
    );
    await consumer.start();
    await client.flushall();
    await put('after');
    await until(() => seen.length > 0);
    expect(seen).toEqual(['after']);
  });
});

async function names(): Promise<string[]> {
  const consumers = (await client.xinfo('CONSUMERS', LANE, CONSUMER_GROUP)) as unknown[][];
  return consumers.map((fields) => String(fields[fields.indexOf('name') + 1]));
}

describe('an inbox', () => {
  const received = (id: string) => {
    const messages: [id: string, payload: string][] = [];
    const inbox = new Inbox<Reply>(
      connectTo(server.url, 'blocking'),
      id,
      testSeals(),
      ({ id: request }, payload) => messages.push([request, payload]),
      () => {},
    );
    open.push(() => inbox.stop());
    return { inbox, messages };
  };

  it('an inbox brings every message in order, many in one entry', async () => {
    const { inbox, messages } = received('p1');
    const liveness = new Liveness(client, 'p1', { lastRead: () => inbox.lastRead });
    await liveness.start();
    open.push(() => liveness.stop());
    inbox.start();
    const outbox = new Outbox(client, testSeals(), fail);
    for (let i = 0; i < 500; i += 1) outbox.send('p1', reply(i), `payload ${i}\nline`);
    await outbox.flushed();
    await until(() => messages.length === 500);
    expect(messages.map(([id]) => id)).toEqual(Array.from({ length: 500 }, (_, i) => String(i)));
    expect(messages[0]![1]).toBe('payload 0\nline');
    // All of one turn travelled in one entry, behind the greeting.
    expect(await client.xlen(inboxKey('p1'))).toBeLessThanOrEqual(2);
  });

  it('an inbox survives a lost connection without losing or repeating a message [survives.redis-connection]', async () => {
    const { inbox, messages } = received('p2');
    const liveness = new Liveness(client, 'p2', { lastRead: () => '0-0' });
    await liveness.start();
    open.push(() => liveness.stop());
    inbox.start();
    const outbox = new Outbox(client, testSeals(), fail);
    for (let i = 0; i < 50; i += 1) {
      outbox.send('p2', reply(i));
      await outbox.flushed();
      if (i % 10 === 5) await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    }
    await until(() => messages.length >= 50);
    expect(messages.map(([id]) => id)).toEqual(Array.from({ length: 50 }, (_, i) => String(i)));
  });

  it('the inbox of a process that is gone is not made again by a reply', async () => {
    const outbox = new Outbox(client, testSeals(), fail);
    outbox.send('nobody', reply(0));
    await outbox.flushed();
    expect(await client.exists(inboxKey('nobody'))).toBe(0);
  });
});

describe('an outbox', () => {
  const held = () => deliverTo(client, { lane: LANE, consumer: 'w' });
  /** The replies in entries of the inbox `p`. */
  const toldIn = (entries: [string, string[]][]): Reply[] =>
    entries
      .flatMap(([, fields]) => fields.filter((_, i) => i % 2 === 1))
      .flatMap((text) => decodeBatch(testSeals(), inboxKey('p'), text, fail))
      .map((told) => told.reply);

  it('an outbox writes reply, hand-over and acknowledgement as one transaction', async () => {
    const monitor = await connectTo(server.url).monitor();
    open.push(() => monitor.disconnect());
    const commands: string[] = [];
    const sources = new Set<string>();
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (args[0] === 'script' || args[0] === 'eval' || args[0] === 'evalsha') return;
      commands.push(args[0]!.toLowerCase());
      sources.add(source);
    });
    const delivery = await deliverTo(client, { lane: LANE, consumer: 'w' });
    await until(() => commands.includes('xreadgroup'));
    commands.splice(0);
    sources.clear();
    const outbox = new Outbox(client, testSeals(), fail);
    const write = outbox.asHolder(delivery);
    write.send('p', reply(0));
    write.command('XADD', '{s0}:lane:receipts', '*', 'e', 'outcome');
    write.done();
    await outbox.flushed();
    await until(() => commands.length === 5);
    expect(commands).toEqual(['xpending', 'xadd', 'xadd', 'xack', 'xdel']);
    expect([...sources]).toEqual(['lua']);
  });

  it('an outbox of which one write fails does the others, keeps the entry of that one, says so, and tries again', async () => {
    await client.set('{s0}:text', 'no stream');
    const [bad, good] = await Promise.all([held(), held()]);
    const errors: unknown[] = [];
    const outbox = new Outbox(client, testSeals(), (error) => {
      errors.push(error);
      void client.del('{s0}:text');
    });
    const failing = outbox.asHolder(bad);
    failing.command('XADD', '{s0}:text', '*', 'e', 'refused');
    failing.send('p', reply(0));
    failing.done();
    const other = outbox.asHolder(good);
    other.command('SET', '{s0}:other', 'done');
    other.done();
    expect(await other.written).toBe('held');
    expect(await client.get('{s0}:other')).toBe('done');
    expect(await failing.written).toBe('held');
    expect(String(errors[0])).toContain('WRONGTYPE');
    expect(errors).toHaveLength(1);
    expect(await client.xlen('{s0}:text')).toBe(1);
    expect(await client.xlen(LANE)).toBe(0);
  });

  it('an outbox writes nothing for a delivery whose entry another worker has taken over, also when it wakes much later [survives.stopped-worker]', async () => {
    await client.xadd(inboxKey('p'), '*', 'm', 'greeting');
    const asleep = await held();
    const awake = await takeOver(client, asleep, 'other');
    const outbox = new Outbox(client, testSeals(), fail);
    const end = (delivery: Delivery, text: string): Promise<Holding> => {
      const write = outbox.asHolder(delivery);
      write.send('p', reply(delivery.number));
      write.command('XADD', '{s0}:lane:receipts', '*', 'e', text);
      write.command('SET', '{s0}:answer', text);
      write.done();
      return write.written;
    };
    const inboxOf = async () => (await client.xrange(inboxKey('p'), '-', '+')).slice(1);
    const before = await client.xpending(LANE, CONSUMER_GROUP);
    expect(await end(asleep, 'first')).toBe('taken');
    expect(await client.exists('{s0}:lane:receipts', '{s0}:answer')).toBe(0);
    expect(await inboxOf()).toEqual([]);
    expect(await client.xpending(LANE, CONSUMER_GROUP)).toEqual(before);
    // Both in one write of the outbox: each for itself.
    expect(await Promise.all([end(asleep, 'first'), end(awake, 'second')])).toEqual([
      'taken',
      'held',
    ]);
    expect(await client.get('{s0}:answer')).toBe('second');
    expect(await client.xlen('{s0}:lane:receipts')).toBe(1);
    expect(toldIn(await inboxOf())).toEqual([reply(2)]);
    expect(await end(asleep, 'first')).toBe('gone');
    // The same worker, delivered the same entry again because it had lost the first delivery.
    const lost = await held();
    await takeOver(client, lost, lost.consumer);
    expect(await end(lost, 'third')).toBe('taken');
    expect(await client.xlen('{s0}:lane:receipts')).toBe(1);
  });

  it('what a turn hands over travels in one entry, and where many wait, each record has its own', async () => {
    const lane = receiptsLane(0);
    const owed = (inbox: string): ReceiptEntry => ({
      record: inferenceRecord(),
      inbox,
      attempt: 1,
      receipt: 'best_effort',
    });
    const outbox = new Outbox(client, testSeals(), fail);
    const handOver = async (count: number): Promise<ReceiptEntry[]> => {
      const entries = Array.from({ length: count }, (_, i) => owed(`api-${i}`));
      const deliveries = await Promise.all(entries.map(held));
      const writes = deliveries.map((delivery, i) => {
        const write = outbox.asHolder(delivery);
        write.record(entries[i]!);
        write.done();
        return write.written;
      });
      expect(new Set(await Promise.all(writes))).toEqual(new Set(['held']));
      return entries;
    };
    const read = async (): Promise<ReceiptEntry[][]> =>
      (await client.xrange(lane, '-', '+')).map(([, fields]) =>
        fields.filter((_, i) => i % 2 === 1).map(decodeReceiptEntry),
      );
    const entries = await handOver(40);
    const together = await read();
    expect(together.map((records) => records.length)).toEqual([16, 16, 8]);
    expect(together.flat()).toEqual(entries);
    await client.del(lane);
    for (let i = 0; i < 1_000; i += 1) void client.xadd(lane, '*', 'e', JSON.stringify(entries[0]));
    await handOver(3);
    expect((await read()).slice(1_000).map((records) => records.length)).toEqual([1, 1, 1]);
  });

  it('an outbox keeps the order of what one delivery says, in writes of its own and beside them', async () => {
    await client.xadd(inboxKey('p'), '*', 'm', 'greeting');
    const delivery = await held();
    const outbox = new Outbox(client, testSeals(), fail);
    outbox.send('p', reply(1));
    const note = outbox.asHolder(delivery);
    note.send('p', reply(2));
    expect(note.isOpen).toBe(true);
    note.send('p', reply(3));
    const last = outbox.asHolder(delivery);
    last.send('p', reply(4));
    last.done();
    await last.written;
    expect(note.isOpen).toBe(false);
    const entries = (await client.xrange(inboxKey('p'), '-', '+')).slice(1);
    expect(toldIn(entries)).toEqual([1, 2, 3, 4].map(reply));
  });

  it('an outbox writes more messages in one turn than one command can carry', async () => {
    await client.xadd(inboxKey('p'), '*', 'm', 'greeting');
    const outbox = new Outbox(client, testSeals(), fail);
    for (let i = 0; i < 10_000; i += 1) outbox.send('p', reply(i));
    await outbox.flushed();
    const entries = await client.xrange(inboxKey('p'), '-', '+');
    const key = inboxKey('p');
    const messages = entries
      .slice(1)
      .flatMap(([, fields]) => decodeBatch(testSeals(), key, fields[1]!, fail));
    expect(messages.map(({ reply: one }) => one)).toEqual(
      Array.from({ length: 10_000 }, (_, i) => reply(i)),
    );
  });

  it('an outbox writes what it holds once Redis is back [survives.redis-connection]', async () => {
    const other = await startTestRedis();
    const patient = connectTo(other.url);
    open.push(() => patient.disconnect());
    await patient.ping();
    const port = Number(new URL(other.url).port);
    await other.stop();
    const errors: unknown[] = [];
    const outbox = new Outbox(patient, testSeals(), (error) => errors.push(error));
    outbox.send('p', reply(0));
    await startTestRedis({ port });
    await patient.xadd(inboxKey('p'), '*', 'm', 'greeting');
    await outbox.flushed();
    expect(await patient.xlen(inboxKey('p'))).toBeGreaterThan(0);
  });
});

describe('slots', () => {
  it('slots let a drain wait for the last one', async () => {
    const slots = new Slots(2);
    slots.take(2);
    let idle = false;
    const drained = slots.whenIdle().then(() => (idle = true));
    slots.release();
    await Promise.resolve();
    expect(idle).toBe(false);
    slots.release();
    await drained;
    expect(slots.free).toBe(2);
  });
});
