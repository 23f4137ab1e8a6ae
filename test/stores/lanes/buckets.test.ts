import { expect, it } from 'vitest';
import { Buckets, type Caller } from '#shared/lanes/redis/buckets.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { admissionRequest, admissionsOn, connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';

const RATE = { requestsPerSecond: 1, burst: 20 };
/** Requests a second, so few that nothing is refilled while a test runs. */
const SLOWLY = 0.001;
const callerOf = (orgId: string, keyId = 'key_1', keyLimit: Caller['keyLimit'] = null): Caller => ({
  orgId,
  keyId,
  keyLimit,
});

it('reads of an organisation share one rate over all api processes, and take nothing from its changes or from others [limits.reads]', async () => {
  const { url } = await startTestRedis();
  const clients = [connectTo(url), connectTo(url)];
  const processes = clients.map((client) => new Buckets(defineLaneScripts(client), 1));
  const begun = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) => processes[i % 2]!.take(callerOf('org_a'), 'reads', RATE)),
  );
  const waits = answers.map(({ waitMs }) => waitMs);
  const refilled = Math.ceil((performance.now() - begun) / 1_000);
  const taken = waits.filter((wait) => wait === 0).length;
  expect(taken).toBeGreaterThanOrEqual(20);
  expect(taken).toBeLessThanOrEqual(20 + refilled);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
  for (const [caller, name] of [
    [callerOf('org_a'), 'changes'],
    [callerOf('org_b'), 'reads'],
  ] as const) {
    const state = await processes[0]!.take(caller, name, RATE);
    expect(state).toEqual({ waitMs: 0, perSecond: 1, remaining: 19, resetMs: 1_000 });
  }
  expect(await clients[0]!.pttl('{s0}:bucket:reads:org_a')).toBeGreaterThan(0);
  for (const client of clients) client.disconnect();
});

it('a key with a limit of its own is held to it among reads, and what is said names that limit [limits.per-key, limits.reads]', async () => {
  const { url } = await startTestRedis();
  const client = connectTo(url);
  const buckets = new Buckets(defineLaneScripts(client), 1);
  const limited = callerOf('org_a', 'key_slow', { requestsPerSecond: SLOWLY, burst: 2 });
  const rate = { requestsPerSecond: 1_000_000, burst: 1_000_000 };
  const answers = [1, 2, 3].map(() => buckets.take(limited, 'reads', rate));
  expect(await Promise.all(answers)).toMatchObject([
    { waitMs: 0, perSecond: SLOWLY, remaining: 1 },
    { waitMs: 0, perSecond: SLOWLY, remaining: 0 },
    { waitMs: expect.toSatisfy((wait: number) => wait > 0), perSecond: SLOWLY, remaining: 0 },
  ]);
  const free = await buckets.take(callerOf('org_a', 'key_free'), 'reads', rate);
  expect(free).toMatchObject({ waitMs: 0, perSecond: 1_000_000 });
  client.disconnect();
});

it('a caller is told where it stands with the limits of inference, and nothing is taken for it [limits.headers, limits.refusals-are-free]', async () => {
  const { url } = await startTestRedis();
  const client = connectTo(url);
  const buckets = new Buckets(defineLaneScripts(client), 1);
  const limits = {
    requestsPerSecond: SLOWLY,
    burst: 20,
    requestsPerDay: 5,
    concurrentStreams: 1,
  };
  const keyLimit = { requestsPerSecond: SLOWLY, burst: 2 };
  const [free, slow] = [callerOf('org_a'), callerOf('org_a', 'key_slow', keyLimit)];
  const admit = () =>
    admissionsOn(client).admit(admissionRequest({ keyId: 'key_slow' }, { limits, keyLimit }));
  expect(await buckets.look({ ...free, limits })).toEqual({
    perSecond: SLOWLY,
    remaining: 20,
    resetMs: 0,
    remainingToday: 5,
  });
  await admit();
  for (let i = 0; i < 3; i += 1) {
    expect(await buckets.look({ ...slow, limits })).toMatchObject({ remaining: 1 });
    expect(await buckets.look({ ...free, limits })).toMatchObject({
      remaining: 19,
      remainingToday: 4,
    });
  }
  client.disconnect();
});

it('revoking has a bucket that nothing else empties, of an organisation and of a key with a limit of its own [limits.reads, limits.per-key]', async () => {
  const { url } = await startTestRedis();
  const client = connectTo(url);
  const buckets = new Buckets(defineLaneScripts(client), 1);
  const rate = { requestsPerSecond: SLOWLY, burst: 2 };
  const keyLimit = { requestsPerSecond: SLOWLY, burst: 1 };
  const [free, slow] = [callerOf('org_a'), callerOf('org_a', 'key_slow', keyLimit)];
  for (const name of ['reads', 'changes']) {
    for (const caller of [slow, free]) await buckets.take(caller, name, rate);
    for (const caller of [slow, free])
      expect((await buckets.take(caller, name, rate)).waitMs).toBeGreaterThan(0);
  }
  const limits = { ...rate, requestsPerDay: 1, concurrentStreams: 1 };
  for (let i = 0; i < 2; i += 1)
    await admissionsOn(client).admit(admissionRequest({ keyId: 'key_slow' }, { limits, keyLimit }));
  expect(await buckets.look({ ...slow, limits })).toMatchObject({
    remaining: 0,
    remainingToday: 0,
  });
  expect(await buckets.take(slow, 'revocations', rate)).toMatchObject({ waitMs: 0 });
  expect(await buckets.take(free, 'revocations', rate)).toMatchObject({ waitMs: 0 });
  client.disconnect();
});
