import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Admissions } from '#shared/lanes/redis/admission.ts';
import { BudgetCounters, type BudgetPart } from '#shared/lanes/redis/budget-counters.ts';
import {
  budgetKey,
  CONSUMER_GROUP,
  holderName,
  holdersKey,
  idempotencyKey,
  inferenceLane,
  receiptsLane,
} from '#shared/lanes/keys.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { Outbox } from '#shared/lanes/redis/outbox.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { type BudgetMeasure, fromSteps } from '#shared/kernel/budget-measures.ts';
import { inferenceRecord } from '#test/support/issuing.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { admissionRequest, connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { testSeals } from '#test/support/seals.ts';

const LANE = inferenceLane(0, 'eu-west');
const CLAIM = idempotencyKey(0, 'org_a', 'digest');
const DELIVERY = { shard: 0, lane: LANE, consumer: 'w', number: 1, texts: [] };
const fail = (error: unknown): void => {
  throw error;
};
let client: Redis;
let nowUs = 1_800_000_000_000_000;
/** What PostgreSQL has, and how often it was read. */
let [stored, readings] = [0, 0];
let monotonicMs = 0;
let admissions: Admissions;
let outbox: Outbox;

beforeAll(async () => {
  const server = await startTestRedis();
  client = connectTo(server.url);
  outbox = new Outbox(client, testSeals(), fail);
});
beforeEach(async () => {
  await client.flushall();
  await client.xgroup('CREATE', LANE, CONSUMER_GROUP, '0', 'MKSTREAM');
  [stored, readings, monotonicMs] = [0, 0, 0];
  const scripts = defineLaneScripts(client);
  const used = () => {
    readings += 1;
    return Promise.resolve(stored);
  };
  const budgets = new BudgetCounters(scripts, used, {
    onError: fail,
    monotonicNow: () => monotonicMs,
  });
  admissions = new Admissions(scripts, 1, testSeals(), { clockUs: () => String(nowUs), budgets });
});

const part = (more: Partial<BudgetPart> = {}): BudgetPart => ({
  budget: 'bgt_a',
  name: 'research',
  unit: 'tokens',
  since: 0,
  until: 4e12,
  measure: 'tokens',
  limit: 100,
  amount: 10,
  ...more,
});
const counter = budgetKey(0, 'org_a', part());
const ask = (parts: BudgetPart[], entry = {}, rest = {}) => {
  const request = admissionRequest(entry, { budgets: parts, ...rest });
  return { id: request.entry.id, answer: admissions.admit(request) };
};
const counted = async (of = counter): Promise<[settled: number, reserved: number]> => {
  const found = await client.hmget(of, 'settled', 'reserved');
  return [Number(found[0]), Number(found[1])];
};

/** Ends a request as its worker does; `used` null for one that failed. */
async function end(entryId: string, settled: { counter: string; holder: string; used: number }[]) {
  await client.xreadgroup('GROUP', CONSUMER_GROUP, 'w', 'STREAMS', LANE, '>');
  const write = outbox.asHolder({ ...DELIVERY, entryId });
  for (const each of settled) write.settleBudget(each);
  write.done();
  return write.written;
}

describe('hard budgets in admission [budgets.hard]', () => {
  it(
    'any order of admissions, ends and failures admits no more than the limit but for what running requests exceed their part',
    { timeout: 60_000 },
    async () => {
      const step = fc.oneof(
        {
          weight: 4,
          arbitrary: fc.record({
            do: fc.constant('admit' as const),
            amount: fc.integer({ min: 1, max: 6 }),
          }),
        },
        {
          weight: 3,
          arbitrary: fc.record({
            do: fc.constant('end' as const),
            which: fc.nat(),
            used: fc.integer({ min: 0, max: 9 }),
          }),
        },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), which: fc.nat() }) },
        {
          weight: 1,
          arbitrary: fc.record({
            do: fc.constant('repeat' as const),
            amount: fc.integer({ min: 1, max: 6 }),
          }),
        },
      );
      await forAllAsync(
        [
          fc.constantFrom<BudgetMeasure>('tokens', 'money', 'energy'),
          fc.integer({ min: 1, max: 20 }),
          fc.integer({ min: 0, max: 8 }),
          fc.array(step, { minLength: 1, maxLength: 40 }),
        ],
        { numRuns: runs(150, 15) },
        async (measure, limit, before, steps) => {
          await client.flushall();
          await client.xgroup('CREATE', LANE, CONSUMER_GROUP, '0', 'MKSTREAM');
          stored = fromSteps(measure, before);
          let [settled, reserved, exceeded] = [before, 0, 0];
          let known = false;
          const running: { id: string; entryId: string; amount: number }[] = [];
          // One request with an Idempotency-Key runs all the time; its repetitions wait for it.
          await client.hset(CLAIM, { fp: 'f', state: 'running', rid: 'req_first' });
          for (const each of steps) {
            if (each.do === 'repeat') {
              const keyed = { claim: CLAIM };
              const repeat = ask([part({ measure, limit, amount: each.amount })], keyed, {
                fingerprint: 'f',
              });
              expect((await repeat.answer).verdict).toBe('wait');
            } else if (each.do === 'admit') {
              const { id, answer } = ask([part({ measure, limit, amount: each.amount })]);
              const admission = await answer;
              known = true;
              const fits = settled + reserved + each.amount <= limit;
              expect(admission.verdict).toBe(fits ? 'admitted' : 'budget');
              if (admission.verdict === 'budget') {
                expect(admission.left).toBe(Math.max(0, limit - settled - reserved));
              }
              if (admission.verdict === 'admitted') {
                running.push({ id, entryId: admission.laneEntryId, amount: each.amount });
                reserved += each.amount;
              }
            } else if (running.length > 0) {
              const [one] = running.splice(each.which % running.length, 1);
              const { id, entryId, amount } = one!;
              const used = each.do === 'end' ? each.used : 0;
              const budget = { counter, holder: holderName(id, { amount }), used };
              expect(await end(entryId, [budget])).toBe('held');
              // Said again by a worker that does not know that it was heard.
              expect(await end(entryId, [budget])).toBe('gone');
              settled += used;
              reserved -= amount;
              exceeded += Math.max(0, used - amount);
            }
            if (known) expect(await counted()).toEqual([settled, reserved]);
            expect(settled + reserved).toBeLessThanOrEqual(Math.max(limit, before) + exceeded);
          }
        },
      );
    },
  );

  it('of requests that race no more are admitted than the limit has room for, by every budget that they fall under', async () => {
    const both = [
      part({ limit: 1_000 }),
      part({ budget: 'bgt_b', measure: 'requests', limit: 7, amount: 1 }),
    ];
    const verdicts = await Promise.all(Array.from({ length: 60 }, () => ask(both).answer));
    expect(verdicts.filter(({ verdict }) => verdict === 'admitted')).toHaveLength(7);
    const refused = verdicts.find(({ verdict }) => verdict === 'budget');
    expect(refused).toMatchObject({ budget: { budget: 'bgt_b' }, left: 0 });
    expect(await counted()).toEqual([0, 70]);
    // Those that came at once waited for one reading of each: of sixty requests there would be 120.
    expect(readings).toBeLessThan(30);
  });

  it('a refusal reserves nothing, and takes no part of a budget that would have had room', async () => {
    const roomy = part({ limit: 1_000 });
    await ask([roomy]).answer;
    const full = part({ budget: 'bgt_b', limit: 5 });
    await ask([full]).answer;
    const dump = async () => {
      const keys = (await client.keys('*')).toSorted();
      return Promise.all(
        keys.map(async (key) => `${key} ${(await client.dumpBuffer(key)).toString('hex')}`),
      );
    };
    const before = await dump();
    expect((await ask([roomy, full]).answer).verdict).toBe('budget');
    expect(await dump()).toEqual(before);
  });

  it('what a request holds that is never settled comes back after its deadline', async () => {
    const { answer } = ask([part({ limit: 10 })]);
    await answer;
    expect((await ask([part({ limit: 10 })]).answer).verdict).toBe('budget');
    nowUs += 121_000_000;
    expect((await ask([part({ limit: 10 })]).answer).verdict).toBe('admitted');
    expect(await counted()).toEqual([0, 10]);
    expect(await client.zcard(holdersKey(counter))).toBe(1);
  });

  it('what a receipt is to settle is held while stores are away, and a request’s end does not give it back', async () => {
    const energy = part({ measure: 'energy', limit: 10 });
    await ask([energy]).answer;
    nowUs += 3_600_000_000;
    expect((await ask([energy]).answer).verdict).toBe('budget');
    nowUs += 24 * 3_600_000_000;
    expect((await ask([energy]).answer).verdict).toBe('admitted');
  });

  it('a request of a model without a price or a size holds nothing of a budget, and ends, expires and is withdrawn as others', async () => {
    const free = part({ measure: 'money', amount: 0 });
    const holder = (id: string) => ({ counter, holder: holderName(id, free), used: 0 });
    const first = ask([free]);
    const { laneEntryId } = (await first.answer) as { laneEntryId: string };
    const entry: Delivery = { ...DELIVERY, entryId: laneEntryId };
    await client.xreadgroup('GROUP', CONSUMER_GROUP, 'w', 'STREAMS', LANE, '>');
    const errors: unknown[] = [];
    const own = new Outbox(client, testSeals(), (error) => errors.push(error));
    const write = own.asHolder(entry);
    write.settleBudget(holder(first.id));
    write.record({
      record: inferenceRecord(),
      inbox: 'api-test',
      attempt: 1,
      receipt: 'best_effort',
    });
    write.done();
    expect(await write.written).toBe('held');
    expect(errors).toEqual([]);
    expect(await client.xlen(receiptsLane(0))).toBe(1);
    await ask([free]).answer;
    nowUs += 121_000_000;
    const last = ask([free]);
    const { laneEntryId: entryId } = (await last.answer) as { laneEntryId: string };
    const withdrawn = await defineLaneScripts(client).withdraw({
      lane: LANE,
      group: CONSUMER_GROUP,
      entryId,
      moreKeys: [counter, holdersKey(counter)],
      moreArguments: [holderName(last.id, free)],
    });
    expect(withdrawn).toBe('');
    expect(await client.zcard(holdersKey(counter))).toBe(0);
    expect(await counted()).toEqual([0, 0]);
  });

  it('a request that is withdrawn before a worker has it gives its parts back, and one that a worker has does not', async () => {
    const parts = [part(), part({ budget: 'bgt_b' })];
    const withdraw = async (id: string, entryId: string) =>
      defineLaneScripts(client).withdraw({
        lane: LANE,
        group: CONSUMER_GROUP,
        entryId,
        moreKeys: parts.flatMap((each) => {
          const key = budgetKey(0, 'org_a', each);
          return [key, holdersKey(key)];
        }),
        moreArguments: parts.map((each) => holderName(id, each)),
      });
    const admit = async () => {
      const { id, answer } = ask(parts);
      const { laneEntryId } = (await answer) as { laneEntryId: string };
      return [id, laneEntryId] as const;
    };
    const waits = await admit();
    expect(await withdraw(...waits)).toBe('');
    expect(await withdraw(...waits)).toBe('');
    for (const each of parts) expect(await counted(budgetKey(0, 'org_a', each))).toEqual([0, 0]);
    const isRun = await admit();
    await client.xreadgroup('GROUP', CONSUMER_GROUP, 'w', 'STREAMS', LANE, '>');
    expect(await withdraw(...isRun)).toBe('w');
    expect(await counted()).toEqual([0, 10]);
  });

  it('when Redis comes back empty, counters are made again from what PostgreSQL has; while that is away nothing is admitted', async () => {
    await ask([part()]).answer;
    await client.flushall();
    stored = 95;
    expect(await ask([part()]).answer).toMatchObject({ verdict: 'budget', left: 5 });
    await client.flushall();
    const scripts = defineLaneScripts(client);
    const away = new BudgetCounters(scripts, () => Promise.reject(new Error('away')));
    const alone = new Admissions(scripts, 1, testSeals(), { budgets: away });
    await expect(alone.admit(admissionRequest({}, { budgets: [part()] }))).rejects.toThrow('away');
    expect(await client.xlen(LANE)).toBe(0);
  });

  it('once a minute a counter is brought up to what PostgreSQL has, and never down', async () => {
    await ask([part()]).answer;
    stored = 80;
    await ask([part()]).answer;
    expect(readings).toBe(1);
    monotonicMs += 60_000;
    await ask([part({ amount: 1 })]).answer;
    await expect.poll(() => counted()).toEqual([80, 21]);
    stored = 10;
    monotonicMs += 60_000;
    await ask([part({ amount: 1 })]).answer;
    await expect.poll(() => readings).toBe(3);
    expect((await counted())[0]).toBe(80);
  });
});
