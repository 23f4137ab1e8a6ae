import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inboxKey, inferenceLane } from '#shared/lanes/keys.ts';
import type { Reply } from '#shared/lanes/messages.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { type HolderWrite, Outbox } from '#shared/lanes/redis/outbox.ts';
import type { ReplyChannel } from '#shared/lanes/sockets/reply-channels.ts';
import { BATCH_FIELD, decodeBatch, type Outgoing } from '#shared/lanes/wire-format.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { testSeals } from '#test/support/seals.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How long a frame may wait for others. */
const GATHER_MS = 4;
const INBOX = inboxKey('p');

const fail = (error: unknown): void => {
  throw error;
};

const frame = (seq: number): Reply => ({ id: 'req', attempt: 1, seq, kind: 'frames' });
const answer = (seq: number): Reply => ({ id: 'req', attempt: 1, seq, kind: 'answer' });

const DELIVERY: Delivery = {
  shard: 0,
  lane: inferenceLane(0, 'eu-west'),
  entryId: '1-0',
  consumer: 'w',
  number: 1,
  texts: [],
};

/** An outbox in front of a Redis that takes everything at once, and what it writes: when, and which messages by number. */
function recorded() {
  const seals = testSeals();
  const writes: { at: number; seqs: number[] }[] = [];
  const take = async (_name: string, ...args: unknown[]): Promise<unknown> => {
    const seqs: number[] = [];
    for (const [i, arg] of args.entries()) {
      if (arg !== BATCH_FIELD) continue;
      for (const { reply } of decodeBatch(seals, INBOX, String(args[i + 1]), fail))
        if ('seq' in reply) seqs.push(reply.seq);
    }
    writes.push({ at: performance.now(), seqs });
    return ['written'];
  };
  const client = { isCluster: false, call: take, evalsha: take, eval: take };
  return { outbox: new Outbox(client as unknown as RedisClient, seals, fail), writes };
}

/** What has been queued is written as soon as timers allow that are due now. */
const turn = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

it('what a channel is told at once holds up neither side for longer than what an inbox is', async () => {
  const told: number[] = [];
  const channel = {
    isOpen: true,
    tell: (batches: readonly (readonly Outgoing[])[]) =>
      told.push(...batches.map((batch) => batch.length)),
  } as unknown as ReplyChannel;
  const { outbox } = recorded();
  for (const seq of [1, 2, 3, 4, 5]) outbox.send('p', frame(seq), 'a'.repeat(2 ** 21), channel);
  await turn();
  expect(told).toEqual([2, 2, 1]);
});

describe('an outbox that relays streams', () => {
  it('a frame that comes after a pause is written in its turn, and those that follow soon share a write', async () => {
    const { outbox, writes } = recorded();
    const began = performance.now();
    outbox.send('p', frame(1));
    await turn();
    expect(writes).toEqual([{ at: began, seqs: [1] }]);
    for (let seq = 2; seq <= 4; seq += 1) {
      outbox.send('p', frame(seq));
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(writes.length).toBe(1);
    await vi.advanceTimersByTimeAsync(GATHER_MS);
    expect(writes.slice(1)).toEqual([{ at: began + GATHER_MS, seqs: [2, 3, 4] }]);
  });

  it('a quarter of a mebibyte of frames is written at once, and those with more to add hear when it is on its way [limits.slow-readers]', async () => {
    const { outbox, writes } = recorded();
    outbox.send('p', frame(1));
    await turn();
    const heard: number[] = [];
    const ask = (): void => void outbox.whenRoom().then(() => heard.push(writes.length));
    ask();
    for (let seq = 2; seq <= 5; seq += 1) outbox.send('p', frame(seq), 'x'.repeat(65_536));
    ask();
    expect(heard).toEqual([]);
    await turn();
    expect(writes[1]?.seqs.length).toBe(4);
    expect(writes[1]?.at).toBe(writes[0]?.at);
    // The first had room at once; the second heard with the write that takes what it waited for.
    expect(heard).toEqual([1, 2]);
  });

  it('an answer waits for nothing, and takes the frames before it along', async () => {
    const { outbox, writes } = recorded();
    outbox.send('p', frame(1));
    await turn();
    outbox.send('p', frame(2));
    outbox.asHolder(DELIVERY, { mayWait: true }).send('p', frame(3));
    await turn();
    expect(writes.length).toBe(1);
    const write = outbox.asHolder(DELIVERY);
    write.send('p', answer(4));
    await turn();
    expect(await write.written).toBe('held');
    expect(writes.map(({ seqs }) => seqs)).toEqual([[1], [2, 3, 4]]);
  });

  it('a caller who waits until all is written does not wait for frames to gather', async () => {
    const { outbox, writes } = recorded();
    outbox.send('p', frame(1));
    await turn();
    outbox.send('p', frame(2));
    const flushed = outbox.flushed();
    await turn();
    await flushed;
    expect(writes.map(({ seqs }) => seqs)).toEqual([[1], [2]]);
  });

  it('frames that come at any times are written once, in order and in time', async () => {
    const act = fc.record({
      pauseMs: fc.integer({ min: 0, max: 9 }),
      what: fc.constantFrom('frame', 'note', 'answer'),
    });
    await forAllAsync([fc.array(act, { minLength: 1, maxLength: 30 })], async (acts) => {
      const { outbox, writes } = recorded();
      let last: HolderWrite | undefined;
      const queuedAt = new Map<number, { at: number; mayWaitMs: number }>();
      for (const [seq, { pauseMs, what }] of acts.entries()) {
        await vi.advanceTimersByTimeAsync(pauseMs);
        queuedAt.set(seq, {
          at: performance.now(),
          mayWaitMs: what === 'answer' ? 0 : GATHER_MS,
        });
        // As the replies of a delivery do it: beside a write that is still open nothing goes before it.
        if (what !== 'frame') last = outbox.asHolder(DELIVERY, { mayWait: what === 'note' });
        (last?.isOpen === true ? last : outbox).send('p', frame(seq));
        await turn();
      }
      await vi.advanceTimersByTimeAsync(GATHER_MS);
      expect(writes.flatMap(({ seqs }) => seqs)).toEqual(acts.map((_, seq) => seq));
      for (const write of writes) {
        for (const seq of write.seqs) {
          const { at, mayWaitMs } = queuedAt.get(seq)!;
          expect(write.at - at).toBeLessThanOrEqual(mayWaitMs);
        }
      }
    });
  });
});
