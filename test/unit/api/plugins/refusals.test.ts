import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { type Refused, refusalOf } from '#api/inference/admit/refusals.ts';
import { Organisations, Refusals } from '#api/plugins/rates.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';

const requestOf = (keyId: string, method = 'POST'): FastifyRequest =>
  ({
    method,
    is404: false,
    body: {},
    routeOptions: {
      config: { scope: method === 'POST' ? 'inference:write' : 'service:read' },
      schema: method === 'POST' ? { rawBody: {} } : {},
    },
    credential: { keyId, orgId: 'org_1', limits: PLAN_LIMITS.audit, keyLimit: null },
  }) as unknown as FastifyRequest;

const REFUSED = new Fault('requests_per_second_exceeded', {
  retryAfterMs: 800,
  headers: { 'x-ratelimit-limit-requests-day': '5000' },
  holdsUntilThen: true,
});

it('a key that admission has refused for its rate is refused from memory until that would let it pass, and no other key is', () => {
  let now = 1_000;
  const refusals = new Refusals(() => now);
  refusals.count(REFUSED, requestOf('key_1'));
  now += 300;
  const refused = refusals.refusalOf(requestOf('key_1'))!(200);
  expect(refused).toMatchObject({
    code: 'requests_per_second_exceeded',
    retryAfterMs: 300,
    headers: REFUSED.headers,
    holdsUntilThen: false,
  });
  // What is said of memory says nothing new.
  refusals.count(refused, requestOf('key_1'));
  expect(refusals.refusalOf(requestOf('key_2'))).toBeUndefined();
  now += 500;
  expect(refusals.refusalOf(requestOf('key_1'))).toBeUndefined();
});

it('a refusal that waits for another request holds up nothing else of its key', () => {
  const refusals = new Refusals(() => 0);
  const waiting = new Fault('requests_per_second_exceeded', { retryAfterMs: 1_000 });
  refusals.count(waiting, requestOf('key_1'));
  expect(refusals.refusalOf(requestOf('key_1'))).toBeUndefined();
});

it.each(['saturated', 'streams', 'day', 'waiters', 'backlog'] as const)(
  'requests for which admission has no room are told so at the rate of their organisation, however large they are, and are over it beyond: %s [limits.refusals]',
  (verdict) => {
    let now = 0;
    const refusals = new Refusals(() => now);
    const request = { ...requestOf('key_1'), body: { bytes: 10_000_000 } } as FastifyRequest;
    const { burst, requestsPerSecond } = PLAN_LIMITS.audit;
    for (let i = 0; i < burst; i += 1) {
      expect(refusals.refusalOf(request)).toBeUndefined();
      refusals.count(refusalOf({ verdict, retryMs: 1_000 } as Refused, null, {}), request);
    }
    expect(refusals.refusalOf(request)!(0).code).toBe('requests_per_second_exceeded');
    // What is refused from memory counts no more.
    refusals.count(refusals.refusalOf(request)!(0), request);
    now += 1_000 / requestsPerSecond;
    expect(refusals.refusalOf(request)).toBeUndefined();
  },
);

it('requests that were admitted and are lost, however many at once, count for nothing', () => {
  const refusals = new Refusals(() => 0);
  for (let i = 0; i < 1_000; i += 1)
    refusals.count(new Fault('dispatch_unavailable'), requestOf('key_1'));
  expect(refusals.refusalOf(requestOf('key_1'))).toBeUndefined();
});

it('while Redis does not answer, a process counts what an organisation reads at its rate by itself', async () => {
  const buckets = {
    take: () => Promise.reject(new Error('Command timed out')),
    look: () => Promise.reject(new Error('Command timed out')),
  };
  const organisations = new Organisations({ buckets, onError: () => {} }, new Refusals());
  const { burst } = PLAN_LIMITS.audit;
  const reply = { headers() {} } as never;
  const taken: unknown[] = [];
  for (let i = 0; i < burst + 20; i += 1) {
    taken.push(await organisations.take(requestOf('key_1', 'GET'), reply));
  }
  expect(taken.slice(0, burst).every((refusal) => refusal === undefined)).toBe(true);
  expect(taken.slice(burst).some((refusal) => refusal !== undefined)).toBe(true);
});
