import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { CONSUMER_GROUP, idempotencyKey, inferenceLane, receiptsLane } from '#shared/lanes/keys.ts';
import { Outbox } from '#shared/lanes/redis/outbox.ts';
import { Settlement, type Spent } from '#workers/inference/settlement.ts';
import { admissionRequest, admissionsOn, connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { testSeals } from '#test/support/seals.ts';

const LANE = inferenceLane(0, 'eu-west');
const CLAIM = idempotencyKey(0, 'org_a', 'digest');
const FAULT = { code: 'upstream_error', message: 'It failed.' } as const;
const SPENT: Spent = {
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, source: 'upstream' },
  calls: 1,
};
const fail = (error: unknown): void => {
  throw error;
};
let client: Redis;

beforeAll(async () => {
  client = connectTo((await startTestRedis()).url);
});
beforeEach(() => client.flushall());
afterAll(() => client.disconnect());

/** The connection of a worker that is killed when Redis has done so many of its commands. */
function killedAfter(commands: number): { worker: Redis; killed: Promise<'killed'> } {
  const { promise: killed, resolve } = Promise.withResolvers<'killed'>();
  let left = commands;
  const worker = new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        left -= 1;
        if (left >= 0) return Reflect.apply(value, target, args);
        resolve('killed');
        return new Promise(() => {});
      };
    },
  });
  return { worker, killed };
}

const send = () => admissionRequest({ claim: CLAIM, stream: true }, { fingerprint: 'f' });

/** Everything there is of a request that holds the claim. */
async function standing(): Promise<{ isClaimed: boolean; waits: number; ended: number }> {
  const [, pending] = (await client.xpending(LANE, CONSUMER_GROUP)) as [number, string | null];
  return {
    isClaimed: (await client.hget(CLAIM, 'state')) === 'running',
    waits: pending === null ? 0 : 1,
    ended: await client.xlen(receiptsLane(0)),
  };
}

/** Ends a request that holds a claim, in a worker that is killed after so many commands. */
async function settledUntil(
  commands: number,
  end: (settlement: Settlement) => Promise<void>,
): Promise<'ended' | 'killed'> {
  await client.flushdb();
  const { entry } = send();
  await admissionsOn(client).admit({ ...send(), entry });
  const [[entryId]] = (await client.xrange(LANE, '-', '+')) as [[string, string[]]];
  await client.xgroup('CREATE', LANE, CONSUMER_GROUP, '0');
  await client.xreadgroup('GROUP', CONSUMER_GROUP, 'w', 'STREAMS', LANE, '>');
  const delivery = { shard: 0, lane: LANE, entryId, consumer: 'w', number: 1, texts: [] };
  const { worker, killed } = killedAfter(commands);
  const events = {
    runFinished: () => {},
    runFailed: () => {},
    runMoved: () => {},
    outcomeStale: () => {},
  };
  const elsewhere = { take: () => Promise.resolve(null) };
  const settlement = new Settlement(
    {
      client: worker,
      outbox: new Outbox(worker, testSeals(), fail),
      seals: testSeals(),
      events,
      elsewhere,
      now: Date.now,
    },
    delivery,
    entry,
  );
  return Promise.race([end(settlement).then(() => 'ended' as const), killed]);
}

it.each([
  ['fails', (one: Settlement) => one.failed(FAULT), 0],
  ['breaks off', (one: Settlement) => one.broke(FAULT, SPENT), 1],
  ['is left by its client', (one: Settlement) => one.left(SPENT), 1],
  ['is too large to be kept', (one: Settlement) => one.streamed(null, '{}', SPENT), 1],
])(
  'wherever the worker of a request that %s is killed, a repeated request finds the claim or runs when that one never will again',
  { tags: ['idempotency.once'] },
  async (_how, end, records) => {
    // The server knows the scripts from here on.
    await settledUntil(Infinity, end);
    const seen = new Set<number>();
    for (let commands = 0; ; commands += 1) {
      const how = await settledUntil(commands, end);
      const { isClaimed, waits, ended } = await standing();
      seen.add(waits);
      expect({ isClaimed, ended }, `killed after ${commands} commands`).toEqual(
        waits === 1 ? { isClaimed: true, ended: 0 } : { isClaimed: false, ended: records },
      );
      const { verdict } = await admissionsOn(client).admit(send());
      expect(verdict).toBe(waits === 1 ? 'wait' : 'admitted');
      if (how === 'ended') break;
    }
    expect([...seen]).toEqual([1, 0]);
  },
);
