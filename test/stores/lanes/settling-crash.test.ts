import type { Redis } from 'ioredis';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import {
  CONSUMER_GROUP,
  heldKey,
  idempotencyKey,
  inboxKey,
  inferenceLane,
  receiptsLane,
} from '#shared/lanes/keys.ts';
import { placeOfMoved } from '#shared/lanes/redis/hand-on.ts';
import {
  CLEAR_FIELD,
  decodeBatch,
  decodeInferenceEntry,
  encodeMessage,
} from '#shared/lanes/wire-format.ts';
import type { Settlement, Spent } from '#workers/inference/settlement.ts';
import { admissionRequest, admissionsOn, connectTo, deliverTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { testSeals } from '#test/support/seals.ts';
import { killedAfter, settlementOn } from '#test/support/settling.ts';
import { until } from '#test/support/until.ts';

const LANE = inferenceLane(0, 'eu-west');
const CLAIM = idempotencyKey(0, 'org_a', 'digest');
const FAULT = { code: 'upstream_error', message: 'It failed.' } as const;
const SPENT: Spent = {
  usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, source: 'upstream' },
  calls: 1,
};
let client: Redis;

beforeAll(async () => {
  client = connectTo((await startTestRedis()).url);
});
beforeEach(() => client.flushall());

const send = () =>
  admissionRequest({ claim: CLAIM, stream: true, elsewhere: ['north'] }, { fingerprint: 'f' });

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
  const { worker, killed } = killedAfter(commands, client);
  const settlement = settlementOn(worker, delivery, entry);
  return Promise.race([end(settlement).then(() => 'ended' as const), killed]);
}

it.each([
  ['fails', (one: Settlement) => one.failed(FAULT), 0],
  ['breaks off', (one: Settlement) => one.broke(FAULT, SPENT), 1],
  ['is left by its client', (one: Settlement) => one.left(SPENT), 1],
  ['is too large to be kept', (one: Settlement) => one.streamed(null, '{}', SPENT), 1],
])(
  'wherever the worker of a request that %s is killed, a repeated request finds the claim or runs when that one never will again [idempotency.once]',
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

it('wherever a worker is killed that hands a request on to another region, the request is in one of the two, holds its claim, and can be found there [operations.region-failover, idempotency.once, survives.inference-worker]', async () => {
  const moveOn = async (one: Settlement): Promise<void> => {
    expect(await one.movedOn('{}', 2)).toBe(true);
  };
  await settledUntil(Infinity, moveOn);
  const north = inferenceLane(0, 'north');
  const seen: number[] = [];
  for (let commands = 0; ; commands += 1) {
    const how = await settledUntil(commands, moveOn);
    const there = await client.xrange(north, '-', '+');
    const moved = there.length;
    seen.push(moved);
    const held = [heldKey(0, 'eu-west', 'org_a'), heldKey(0, 'north', 'org_a')];
    expect(
      [await client.xlen(LANE), ...(await Promise.all(held.map((key) => client.zcard(key))))],
      `killed after ${commands} commands`,
    ).toEqual([1 - moved, 1 - moved, moved]);
    expect((await admissionsOn(client).admit(send())).verdict).toBe('wait');
    if (moved === 1) {
      const [entryId, [, text]] = there[0] as [string, [string, string]];
      const { head } = decodeInferenceEntry(text);
      expect(head.before).toEqual({ deliveries: 1, calls: 2 });
      expect(await placeOfMoved(client, head)).toEqual({ region: 'north', entryId });
    }
    if (how === 'ended') break;
  }
  expect(new Set(seen)).toEqual(new Set([0, 1]));
});

it('a worker that does not hear that it handed a request on, because the connection broke and the command came twice, fails nothing: it says where the request is [operations.region-failover]', async () => {
  const inbox = inboxKey('api-test');
  const hello = await client.xadd(inbox, '*', CLEAR_FIELD, encodeMessage({ kind: 'hello' }));
  const repeating = new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'evalsha') return typeof value === 'function' ? value.bind(target) : value;
      return async (...args: unknown[]): Promise<unknown> => {
        await Reflect.apply(value as () => unknown, target, args);
        return Reflect.apply(value as () => unknown, target, args);
      };
    },
  });
  const { entry } = send();
  // The server knows the scripts.
  const delivery = await deliverTo(client, { lane: LANE, consumer: 'w' });
  const settlement = settlementOn(repeating, delivery, entry);
  expect(await settlement.movedOn('{}', 2)).toBe(false);
  await settlement.failed(FAULT);
  const told = (): Promise<[string, string[]][]> => client.xrange(inbox, `(${hello}`, '+');
  await until(async () => (await told()).length > 0, 'the api is told');
  const replies = (await told()).flatMap(([, [, text]]) =>
    decodeBatch(testSeals(), inbox, text!, (error) => expect.fail(String(error))),
  );
  const [there] = await client.xrange(inferenceLane(0, 'north'), '-', '+');
  expect(replies.map(({ reply }) => reply)).toEqual([
    { id: entry.id, attempt: 1, kind: 'moved', region: 'north', entryId: there![0] },
  ]);
});
