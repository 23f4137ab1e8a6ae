import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  INLINE_BYTES_MAX,
  intervalUsOf,
  LEASES_MS,
  rateArguments,
} from '#shared/lanes/redis/admission.ts';
import { ANSWERED_MS, createSettleClaim } from '#shared/lanes/redis/claims.ts';
import {
  bodyKey,
  heldKey,
  idempotencyKey,
  inboxKey,
  inferenceLane,
  leasesKey,
  leftLease,
  receiptsLane,
} from '#shared/lanes/keys.ts';
import type { ReceiptEntry, Reply } from '#shared/lanes/messages.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { type Holding, Outbox } from '#shared/lanes/redis/outbox.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { decodeBatch, decodeInferenceEntry } from '#shared/lanes/wire-format.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import {
  admissionRequest,
  admissionsOn,
  connectTo,
  deliverTo,
  GENEROUS,
  takeOver,
} from '#test/support/lanes.ts';
import { decideArrival, remainingOf } from '#test/support/rate-limit.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { testSeals } from '#test/support/seals.ts';

const LANE = inferenceLane(0, 'eu-west');
const DAY_US = 86_400_000_000;
const FAULT = { code: 'upstream_error', message: 'It failed.' } as const;
const fail = (error: unknown): void => {
  throw error;
};
let client: Redis;
let nowUs = 1_800_000_000_000_000;

beforeAll(async () => {
  const server = await startTestRedis();
  client = connectTo(server.url);
});
beforeEach(async () => {
  await client.flushall();
});

const admissions = () => admissionsOn(client, () => nowUs);

/** Everything in Redis, to show that a refusal leaves no trace. */
async function snapshot(): Promise<string> {
  const keys = (await client.keys('*')).toSorted();
  const dumps = await Promise.all(keys.map((key) => client.dumpBuffer(key)));
  return keys.map((key, i) => `${key}=${dumps[i]!.toString('hex')}`).join('\n');
}

const snapshotOfLimits = () => client.hgetall('{s0}:limits:org_a');

describe('admission', () => {
  it('an admitted request is on the lane of its region, whole', async () => {
    const request = admissionRequest();
    const admission = await admissions().admit(request);
    expect(admission).toMatchObject({ verdict: 'admitted' });
    const [[, [, text]]] = (await client.xrange(LANE, '-', '+')) as [[string, [string, string]]];
    const { head, sealed, place } = decodeInferenceEntry(text);
    expect(head).toEqual(request.entry);
    expect(text).not.toContain(request.body);
    expect(testSeals().open(sealed!, place)).toBe(request.body);
  });

  it('a large body travels as a claim check, so that the lane stays light', async () => {
    const body = `{"text":"${'x'.repeat(INLINE_BYTES_MAX)}"}`;
    const request = admissionRequest({}, { body });
    await admissions().admit(request);
    const [[, [, text]]] = (await client.xrange(LANE, '-', '+')) as [[string, [string, string]]];
    const { head, sealed, place } = decodeInferenceEntry(text);
    expect(sealed).toBeUndefined();
    expect(head.bodyRef).toBe(bodyKey(0, request.entry.id));
    const kept = (await client.getBuffer(head.bodyRef!))!;
    expect(kept.includes('xxxxxxxx')).toBe(false);
    expect(testSeals().openBytes(kept, place).toString()).toBe(body);
    expect(await client.ttl(head.bodyRef!)).toBeGreaterThan(0);
  });

  it('admission agrees with the rate limit as it is defined on any sequence of arrivals', async () => {
    await forAllAsync(
      [
        fc.integer({ min: 1, max: 2_000 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 60 }),
      ],
      { numRuns: runs(40, 8) },
      async (requestsPerSecond, burst, gaps) => {
        await client.flushall();
        const limits = { ...GENEROUS, requestsPerSecond, burst };
        const interval = intervalUsOf(requestsPerSecond);
        let tat = 0;
        for (const gap of gaps) {
          nowUs += gap;
          const expected = decideArrival(tat, nowUs, interval, burst);
          const admission = await admissions().admit(admissionRequest({}, { limits }));
          expect(admission.verdict).toBe(expected.allowed ? 'admitted' : 'rate');
          if (expected.allowed) tat = expected.nextTatUs;
          expect(admission.remaining).toBe(remainingOf(tat, nowUs, interval, burst));
          if (admission.verdict === 'rate') {
            expect(admission.retryMs).toBe(Math.ceil(expected.retryUs / 1_000));
          }
        }
      },
    );
  });

  it('no more than the burst is admitted when a hundred callers race', async () => {
    const limits = { ...GENEROUS, requestsPerSecond: 1, burst: 7 };
    const verdicts = await Promise.all(
      Array.from({ length: 100 }, () => admissions().admit(admissionRequest({}, { limits }))),
    );
    expect(verdicts.filter(({ verdict }) => verdict === 'admitted')).toHaveLength(7);
    expect(await client.xlen(LANE)).toBe(7);
  });

  it('no more than the daily budget is admitted when callers race, and it starts anew at midnight UTC [codes.daily_budget_exceeded, limits.midnight]', async () => {
    nowUs = Math.floor(nowUs / DAY_US) * DAY_US + DAY_US / 2;
    const limits = { ...GENEROUS, requestsPerDay: 5 };
    const race = () =>
      Promise.all(
        Array.from({ length: 40 }, () => admissions().admit(admissionRequest({}, { limits }))),
      );
    const today = await race();
    expect(today.filter(({ verdict }) => verdict === 'admitted')).toHaveLength(5);
    const refused = today.find(({ verdict }) => verdict === 'day');
    expect(refused).toMatchObject({ retryMs: DAY_US / 2_000, remainingToday: 0 });
    nowUs += DAY_US / 2;
    const tomorrow = await race();
    expect(tomorrow.filter(({ verdict }) => verdict === 'admitted')).toHaveLength(5);
  });

  it('the number of open streams is held, and a lease comes back when it ends', async () => {
    const limits = { ...GENEROUS, concurrentStreams: 3 };
    const open = () => admissions().admit(admissionRequest({ stream: true }, { limits }));
    const verdicts = await Promise.all(Array.from({ length: 20 }, open));
    expect(verdicts.filter(({ verdict }) => verdict === 'admitted')).toHaveLength(3);
    const [held] = await client.zrange(leasesKey(0, 'org_a'), '0', '0');
    await client.zrem(leasesKey(0, 'org_a'), held!);
    expect((await open()).verdict).toBe('admitted');
    expect((await open()).verdict).toBe('streams');
    // The api process that held them died and renews none of them, so they end by themselves.
    nowUs += 31_000_000;
    expect((await open()).verdict).toBe('admitted');
  });

  it('requests that are no streams do not count as streams', async () => {
    const limits = { ...GENEROUS, concurrentStreams: 1 };
    await admissions().admit(admissionRequest({ stream: true }, { limits }));
    expect((await admissions().admit(admissionRequest({}, { limits }))).verdict).toBe('admitted');
  });

  it('a key is held to its own limit below the organisation’s', async () => {
    const keyLimit = { requestsPerSecond: 1, burst: 2 };
    const send = (keyId: string) => admissions().admit(admissionRequest({ keyId }, { keyLimit }));
    const verdicts = [
      await send('key_1'),
      await send('key_1'),
      await send('key_1'),
      await send('key_2'),
    ];
    expect(verdicts.map(({ verdict }) => verdict)).toEqual([
      'admitted',
      'admitted',
      'rate',
      'admitted',
    ]);
    // The numbers are those of the limit that binds, in the key's own name as well.
    const own = { perSecond: 1, remaining: 0, resetMs: 2_000 };
    expect(verdicts[2]).toMatchObject({ ...own, retryMs: 1_000 });
    const limits = { ...GENEROUS, requestsPerSecond: 2, burst: 2 };
    const narrow = await admissions().admit(admissionRequest({ keyId: 'key_2' }, { keyLimit }));
    expect(narrow).toMatchObject({ perSecond: 1, remaining: 0 });
    const wide = { requestsPerSecond: 2, burst: 100 };
    const shared = { limits: { ...limits, burst: 1 }, keyLimit: wide };
    nowUs += 10_000_000;
    await admissions().admit(admissionRequest({ keyId: 'key_3' }, shared));
    expect(await admissions().admit(admissionRequest({ keyId: 'key_3' }, shared))).toMatchObject({
      verdict: 'rate',
      perSecond: 2,
      remaining: 0,
      retryMs: 500,
    });
  });

  it('requests are refused before the region’s lane is longer than its capacity', async () => {
    const send = () => admissions().admit(admissionRequest({}, { regionCapacity: 2 }));
    const verdicts = await Promise.all([send(), send(), send()]);
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(['admitted', 'admitted', 'saturated']);
    const elsewhere = await admissions().admit(
      admissionRequest({ region: 'eu-north' }, { regionCapacity: 2 }),
    );
    expect(elsewhere.verdict).toBe('admitted');
  });

  it('the limits of one organisation do not touch another', async () => {
    const limits = { ...GENEROUS, requestsPerSecond: 1, burst: 1 };
    const of = (orgId: string) => admissions().admit(admissionRequest({ orgId }, { limits }));
    expect((await of('org_a')).verdict).toBe('admitted');
    expect((await of('org_a')).verdict).toBe('rate');
    expect((await of('org_b')).verdict).toBe('admitted');
  });

  it.each([
    ['rate', { limits: { ...GENEROUS, requestsPerSecond: 1, burst: 1 } }],
    ['day', { limits: { ...GENEROUS, requestsPerDay: 1 } }],
    ['streams', { limits: { ...GENEROUS, concurrentStreams: 1 } }],
    ['saturated', { regionCapacity: 1 }],
  ] as const)('a refusal leaves no trace: %s [limits.refusals-are-free]', async (verdict, rest) => {
    await admissions().admit(admissionRequest({ stream: true }, rest));
    const before = await snapshot();
    const claim = idempotencyKey(0, 'org_a', 'refused');
    const refused = await admissions().admit(
      admissionRequest({ stream: true, claim }, { ...rest, fingerprint: 'f' }),
    );
    expect(refused.verdict).toBe(verdict);
    expect(await snapshot()).toBe(before);
  });
});

describe('what an organisation has in a region', () => {
  it('an organisation at its share of a region is refused there, another is not; what has left or is given up makes room [limits.regions]', async () => {
    const share = { orgCapacity: 2 };
    const deadlineAt = nowUs / 1_000 + 60_000;
    const request = (entry = {}) => admissionRequest({ deadlineAt, ...entry }, share);
    const first = request();
    expect((await admissions().admit(first)).verdict).toBe('admitted');
    expect((await admissions().admit(request())).verdict).toBe('admitted');
    expect((await admissions().admit(request())).verdict).toBe('saturated');
    expect((await admissions().admit(request({ orgId: 'org_b' }))).verdict).toBe('admitted');
    expect((await admissions().admit(request({ region: 'us-east' }))).verdict).toBe('admitted');
    const held = heldKey(0, 'eu-west', 'org_a');
    await client.zrem(held, first.entry.id);
    expect((await admissions().admit(request())).verdict).toBe('admitted');
    expect((await admissions().admit(request())).verdict).toBe('saturated');
    for (const id of (await client.call('ZRANGE', held, '0', '-1')) as string[])
      await client.zadd(held, '1', id);
    expect((await admissions().admit(request())).verdict).toBe('admitted');
  });

  it('a region without room takes nothing [limits.regions]', async () => {
    const request = admissionRequest({}, { regionCapacity: 0, orgCapacity: 0 });
    expect((await admissions().admit(request)).verdict).toBe('saturated');
  });
});

describe('a request that screening has refused', () => {
  const record = {
    inbox: 'api-test',
    attempt: 1,
    receipt: 'best_effort',
    record: {},
  } as ReceiptEntry;
  const slow = { ...GENEROUS, requestsPerSecond: 1, burst: 3 };

  it('a request that screening has refused takes an arrival like any other, and no daily budget; beyond the rate nothing is recorded [limits.screening-refusals]', async () => {
    const request = () => admissionRequest({}, { limits: slow });
    expect((await admissions().admit(request())).verdict).toBe('admitted');
    const verdicts: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      verdicts.push((await admissions().record(request(), record)).verdict);
    }
    expect(verdicts).toEqual(['recorded', 'recorded', 'rate', 'rate']);
    expect(await client.xlen(receiptsLane(0))).toBe(2);
    expect((await admissions().admit(request())).verdict).toBe('rate');
    expect(await client.hget('{s0}:limits:org_a', 'count')).toBe('1');
  });

  it('a request that screening has refused is held to the limit of its key, and obeys the bound of the receipts lane [limits.screening-refusals]', async () => {
    const keyLimit = { requestsPerSecond: 1, burst: 1 };
    const request = () => admissionRequest({}, { keyLimit });
    expect((await admissions().record(request(), record)).verdict).toBe('recorded');
    expect((await admissions().record(request(), record)).verdict).toBe('rate');
    const full = admissionsOn(client, () => nowUs, 1);
    expect((await full.record(admissionRequest(), record)).verdict).toBe('backlog');
    expect(await client.xlen(receiptsLane(0))).toBe(1);
  });
});

describe('an arrival that is taken before a request is judged', () => {
  const slow = { ...GENEROUS, requestsPerSecond: 1, burst: 2, requestsPerDay: 2 };
  const request = (rest = {}) => admissionRequest({}, { limits: slow, ...rest });

  it('an arrival that is taken before is not taken again at admission, and no daily budget with it', async () => {
    const together = await admissions().admit(request());
    const alone = await snapshotOfLimits();
    await client.flushall();
    expect(await admissions().takeArrival(request())).toMatchObject({ verdict: 'arrived' });
    expect(await client.hget('{s0}:limits:org_a', 'count')).toBeNull();
    expect(await client.keys('*')).toEqual(['{s0}:limits:org_a']);
    const admission = await admissions().admit(request({ isPaid: true }));
    expect(admission).toEqual({ ...together, laneEntryId: expect.any(String) as string });
    expect(await snapshotOfLimits()).toEqual(alone);
  });

  it('an arrival that is taken before is not taken again when the refusal is recorded, within the rate or at its end', async () => {
    const record = { record: {}, inbox: 'api-test', attempt: 1, receipt: 'best_effort' };
    const one = () => request({ keyLimit: { requestsPerSecond: 1, burst: 1 } });
    await admissions().takeArrival(one());
    expect((await admissions().takeArrival(one())).verdict).toBe('rate');
    const paid = { ...one(), isPaid: true };
    const { verdict } = await admissions().record(paid, record as unknown as ReceiptEntry);
    expect(verdict).toBe('recorded');
    expect((await admissions().takeArrival(request())).verdict).toBe('arrived');
    expect((await admissions().takeArrival(request())).verdict).toBe('rate');
  });

  it('a request that would be refused has no arrival taken, by whichever limit, and costs nothing [limits.before-moderation]', async () => {
    const stream = (concurrentStreams: number) =>
      admissionRequest(
        { stream: true, deadlineAt: nowUs / 1_000 + 60_000 },
        { limits: { ...slow, concurrentStreams } },
      );
    await admissions().admit(stream(1));
    for (const [refusing, verdict] of [
      [stream(1), 'streams'],
      [request({ limits: { ...slow, burst: 1 } }), 'rate'],
      [request({ limits: { ...slow, requestsPerDay: 1 } }), 'day'],
      [request({ regionCapacity: 0 }), 'saturated'],
      [request({ orgCapacity: 0 }), 'saturated'],
    ] as const) {
      const before = await snapshot();
      expect((await admissions().takeArrival(refusing)).verdict).toBe(verdict);
      expect(await snapshot()).toBe(before);
    }
  });
});

describe('an idempotency claim', () => {
  const claim = idempotencyKey(0, 'org_a', 'digest');
  /** Settles claims, and what those who wait for one are told. */
  const settling = () => {
    const told: [inbox: string, reply: Reply][] = [];
    const outbox = { send: (inbox: string, reply: Reply) => void told.push([inbox, reply]) };
    return { settle: createSettleClaim(defineLaneScripts(client), outbox), told };
  };
  /** Frees a claim in the write that ends its request. */
  const free = async (delivery: Delivery, requestId: string): Promise<Holding> => {
    const outbox = new Outbox(client, testSeals(), fail);
    const write = outbox.asHolder(delivery);
    write.free(nameOf(requestId), FAULT);
    write.done();
    const holding = await write.written;
    await outbox.flushed();
    return holding;
  };
  /** What is in the inbox of those who wait. */
  const inbox = async (): Promise<Reply[]> => {
    const key = inboxKey('api-test');
    const entries = await client.xrange(key, '-', '+');
    return entries
      .flatMap(([, [field, text]]) => (field === 'b' ? text! : []))
      .flatMap((text) => decodeBatch(testSeals(), key, text, fail))
      .map(({ reply }) => reply);
  };
  const held = () => deliverTo(client, { lane: receiptsLane(0), consumer: 'w' });
  const nameOf = (requestId: string) => ({ claim, requestId, delivery: 1 });
  const send = (fingerprint = 'f', rest = {}) =>
    admissionRequest({ claim, ...rest }, { fingerprint });

  it('one of a hundred equal requests with one key runs; the others wait for it', async () => {
    const verdicts = await Promise.all(
      Array.from({ length: 100 }, () => admissions().admit(send())),
    );
    expect(verdicts.filter(({ verdict }) => verdict === 'admitted')).toHaveLength(1);
    expect(verdicts.filter(({ verdict }) => verdict === 'wait')).toHaveLength(99);
    expect(await client.xlen(LANE)).toBe(1);
  });

  it('an idempotency key with another body is refused, and nothing is charged for it', async () => {
    await admissions().admit(send());
    const before = await snapshot();
    expect((await admissions().admit(send('other'))).verdict).toBe('reused');
    expect(await snapshot()).toBe(before);
  });

  it('a settled claim is replayed without daily budget, and everyone who waited is told [idempotency.free]', async () => {
    const { settle, told } = settling();
    const first = send();
    const { remainingToday } = await admissions().admit(first);
    const second = send();
    await admissions().admit(second);
    const delivery = await held();
    const settled = ['api-test', { id: second.entry.id, kind: 'settled' }];
    await settle(delivery, nameOf(first.entry.id), '{"receipt":1}', 'redis');
    expect(told).toEqual([settled]);
    // The worker that settled it may die before it tells them; the next one settles it again.
    // By then it would put the answer elsewhere, which it has not found.
    await settle(delivery, nameOf(first.entry.id), '{"receipt":1}', 'postgres');
    expect(told).toEqual([settled, settled]);
    expect(await client.hget(claim, 'kept')).toBe('redis');
    const replay = await admissions().admit(send());
    expect(replay).toMatchObject({
      verdict: 'replay',
      requestId: first.entry.id,
      remainingToday,
    });
    expect(await client.hget(claim, 'receipt')).toBe('{"receipt":1}');
    expect(await client.ttl(claim)).toBeGreaterThan(86_000);
  });

  it('an idempotency key is free again after a failure', async () => {
    await client.xadd(inboxKey('api-test'), '*', 'm', 'greeting');
    const first = send();
    const second = send();
    await admissions().admit(first);
    await admissions().admit(second);
    expect(await free(await held(), first.entry.id)).toBe('held');
    expect(await inbox()).toEqual([
      { id: second.entry.id, attempt: 1, seq: 1, kind: 'error', error: FAULT },
    ]);
    expect((await admissions().admit(send('another body'))).verdict).toBe('admitted');
  });

  it('looking a claim up admits nothing: it says that there is none, or what became of it', async () => {
    const { settle } = settling();
    const first = send();
    const look = (fingerprint = 'f') => {
      const { entry, limits, keyLimit } = send(fingerprint);
      return admissions().recall({ entry: { ...entry, claim }, limits, keyLimit, fingerprint });
    };
    expect(await look()).toBeNull();
    expect(await snapshot()).toBe('');
    await admissions().admit(first);
    expect(await look()).toMatchObject({ verdict: 'wait', requestId: first.entry.id });
    expect(await look('other')).toMatchObject({ verdict: 'reused' });
    await settle(await held(), nameOf(first.entry.id), '{}', 'redis');
    expect(await look()).toMatchObject({ verdict: 'replay', requestId: first.entry.id });
    expect(await client.xlen(LANE)).toBe(1);
  });

  it('an identical stream that waits or is replayed takes a lease, and is refused where there is none', async () => {
    const limits = { ...GENEROUS, concurrentStreams: 2 };
    const stream = () => {
      const request = send('f', { stream: true });
      return admissions().recall({
        ...request,
        entry: { ...request.entry, claim },
        limits,
        fingerprint: 'f',
      });
    };
    await admissions().admit({ ...send('f', { stream: true }), limits });
    expect((await stream())!.verdict).toBe('wait');
    expect((await stream())!.verdict).toBe('streams');
    expect(await client.zcard(leasesKey(0, 'org_a'))).toBe(2);
  });

  it('a stream that runs on for a retry since its client has left keeps a lease until it ends, and an identical request takes that over [limits.streams]', async () => {
    const { settle } = settling();
    const scripts = defineLaneScripts(client);
    // Who has left is counted by the time of Redis.
    const byRedis = admissionsOn(client);
    const limits = { ...GENEROUS, concurrentStreams: 1 };
    const first = { ...send('f', { stream: true }), limits };
    const retry = () => {
      const request = send('f', { stream: true });
      const entry = { ...request.entry, claim };
      return { entry, limits, keyLimit: null, fingerprint: 'f' };
    };
    const leave = (requestId: string, run = first.entry.id) =>
      scripts.leave({
        leases: leasesKey(0, 'org_a'),
        claim,
        requestId,
        runs: run,
        answeredMs: ANSWERED_MS,
        leasesMs: LEASES_MS,
      });
    const isFree = async (): Promise<boolean> => (await client.zcard(leasesKey(0, 'org_a'))) === 0;
    await byRedis.admit(first);
    await leave(first.entry.id);
    const other = admissionRequest({ stream: true }, { limits });
    expect((await byRedis.admit(other)).verdict).toBe('streams');
    // Its retry is not refused for the stream that it continues, and no second one has room beside it.
    const second = retry();
    expect((await byRedis.recall(second))!.verdict).toBe('wait');
    expect((await byRedis.recall(retry()))!.verdict).toBe('streams');
    expect(await client.zrange(leasesKey(0, 'org_a'), '0', '-1')).toEqual([second.entry.id]);
    await leave(second.entry.id);
    expect((await byRedis.admit(other)).verdict).toBe('streams');
    // A lease of its own that has ended, since its api process died, counts for nothing.
    await client.zrem(leasesKey(0, 'org_a'), leftLease(first.entry.id));
    await client.zadd(leasesKey(0, 'org_a'), 1, first.entry.id);
    await leave('req_x');
    expect(await client.zscore(leasesKey(0, 'org_a'), leftLease(first.entry.id))).not.toBeNull();
    await client.del(leasesKey(0, 'org_a'));
    // Another request, which need not be a stream, may hold the claim by now.
    await leave('req_x', 'req_y');
    expect(await isFree()).toBe(true);
    // Once its answer is kept, and once that is settled, it has ended, and so it has where its claim is free.
    await client.pexpire(claim, ANSWERED_MS + 60_000);
    await leave('req_x');
    expect(await isFree()).toBe(true);
    await settle(await held(), nameOf(first.entry.id), '{}', 'redis');
    await leave('req_x');
    expect(await isFree()).toBe(true);
    await client.del(claim);
    await leave('req_x');
    expect(await isFree()).toBe(true);
  });

  it('no more than 256 requests wait for one claim', async () => {
    await admissions().admit(send());
    const verdicts = await Promise.all(
      Array.from({ length: 260 }, () => admissions().admit(send())),
    );
    expect(verdicts.filter(({ verdict }) => verdict === 'wait')).toHaveLength(256);
    expect(verdicts.filter(({ verdict }) => verdict === 'waiters')).toHaveLength(4);
  });

  it('a claim cannot be ended by a request that does not hold it', async () => {
    await client.xadd(inboxKey('api-test'), '*', 'm', 'greeting');
    await admissions().admit(send());
    await admissions().admit(send());
    await free(await held(), 'req_other');
    expect(await inbox()).toEqual([]);
    expect((await admissions().admit(send())).verdict).toBe('wait');
  });

  it('a claim cannot be ended by a delivery whose entry another worker has taken over [survives.stopped-worker]', async () => {
    const { settle, told } = settling();
    const first = send();
    await admissions().admit(first);
    await admissions().admit(send());
    const asleep = await held();
    const awake = await takeOver(client, asleep, 'other');
    const before = await snapshot();
    const name = nameOf(first.entry.id);
    expect(await settle(asleep, name, '{"receipt":1}', 'redis')).toBe('taken');
    expect(await free(asleep, first.entry.id)).toBe('taken');
    expect(told).toEqual([]);
    expect(await snapshot()).toBe(before);
    expect(await settle(awake, name, '{"receipt":2}', 'redis')).toBe('held');
    expect(await client.hget(claim, 'receipt')).toBe('{"receipt":2}');
  });

  it('a claim does not outlive its request by much when the pipeline loses it', async () => {
    await admissions().admit(send());
    expect(await client.ttl(claim)).toBeLessThanOrEqual(60 + 60);
  });
});

describe('backpressure', () => {
  it('nothing more is admitted when too many receipts are owed', async () => {
    // The bound itself is half a million entries: the script is asked with a small one.
    const scripts = defineLaneScripts(client);
    await client.xadd(receiptsLane(0), '*', 'e', 'owed');
    const verdict = (await scripts.admit({
      orgLimits: '{s0}:l',
      keyLimits: '{s0}:k',
      leases: '{s0}:s',
      lane: LANE,
      receiptsLane: receiptsLane(0),
      body: '{s0}:b',
      claim: '{s0}:c',
      waiters: '{s0}:w',
      held: '{s0}:h',
      ...rateArguments({ requestsPerSecond: 1_000_000, burst: 10 }, null),
      what: 'admit',
      requestId: 'req',
      entry: 'entry',
      perDay: 10,
      streams: 0,
      leaseMs: 30_000,
      leasesMs: LEASES_MS,
      laneMax: 10,
      heldMax: 10,
      receiptsMax: 1,
      waitersMax: 0,
      fingerprint: '',
      waiter: 'x y',
      largeBody: '',
      lifeS: 60,
      deadlineMs: 0,
      refusedRecord: '',
      clockUs: String(nowUs),
      untilUs: '',
      moreKeys: [],
      moreArguments: [],
    })) as [string];
    expect(verdict[0]).toBe('backlog');
  });
});
