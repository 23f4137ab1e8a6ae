import { beforeAll, describe, expect, it } from 'vitest';
import { chatBody, codeOf, post, upstreamCalls } from '#test/support/calls.ts';
import { connectTo } from '#test/support/lanes.ts';
import { newOrganisation, type TestOrganisation } from '#test/support/organisations.ts';
import { joinProduct } from '#test/support/product.ts';
import type { Product } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

let system: Product;
let redis: ReturnType<typeof connectTo>;

beforeAll(async () => {
  system = await joinProduct();
  redis = connectTo(system.redis.url);
});

const BODIES = {
  '/chat/completions': chatBody({ max_tokens: 1 }),
  '/completions': { model: 'llama-3.1-8b', prompt: 'The sea', max_tokens: 1 },
  '/embeddings': { model: 'qwen3-embedding-8b', input: 'The sea' },
} as const;
type Path = keyof typeof BODIES;
const PATHS = Object.keys(BODIES) as Path[];

/** Sends requests at once, in turn over the keys, the api processes and the routes; returns the answers. */
async function race(
  count: number,
  keys: readonly string[],
  rest: object = {},
): Promise<Response[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const path = PATHS[i % PATHS.length]!;
      const response = await post(
        system,
        path,
        { ...BODIES[path], ...rest },
        { key: keys[i % keys.length]!, baseUrl: system.baseUrls[i % system.baseUrls.length]! },
      );
      const text = await response.text();
      return new Response(text, response);
    }),
  );
}

const admittedOf = (responses: readonly Response[]) =>
  responses.filter(({ status }) => status === 200);
const refusedOf = (responses: readonly Response[]) =>
  responses.filter(({ status }) => status !== 200);

describe('races over several processes and keys', () => {
  it('racing requests never get more than the burst and the refill since [codes.requests_per_second_exceeded, limits.races]', async () => {
    const org = await newOrganisation(system, { requestsPerSecond: 1, burst: 20 });
    const keys = [await org.newKey(), await org.newKey()];
    const begun = performance.now();
    const responses = await race(90, keys);
    const refilled = Math.ceil((performance.now() - begun) / 1_000);
    const admitted = admittedOf(responses).length;
    expect(admitted).toBeGreaterThanOrEqual(20);
    expect(admitted).toBeLessThanOrEqual(20 + refilled);
    for (const refused of refusedOf(responses)) {
      expect(refused.status).toBe(429);
      expect(await codeOf(refused)).toBe('requests_per_second_exceeded');
      expect(refused.headers.get('x-should-retry')).toBe('true');
    }
  });

  it('racing requests never get more than the daily budget, which all keys and processes share [codes.daily_budget_exceeded]', async () => {
    const org = await newOrganisation(system, { requestsPerDay: 12 });
    const keys = [await org.newKey(), await org.newKey(), await org.newKey()];
    const responses = await race(60, keys);
    expect(admittedOf(responses)).toHaveLength(12);
    for (const refused of refusedOf(responses)) {
      expect(await codeOf(refused)).toBe('daily_budget_exceeded');
      expect(refused.headers.get('x-should-retry')).toBe('false');
      expect(refused.headers.get('x-ratelimit-remaining-requests-day')).toBe('0');
      const wait = Number(refused.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(86_400);
    }
  });

  it('racing streams never get past their limit, and a stream that ends makes room [codes.concurrent_streams_exceeded, limits.streams]', async () => {
    const org = await newOrganisation(system, { concurrentStreams: 3 });
    const keys = [await org.newKey(), await org.newKey()];
    const streams = holdStreams(org, keys, 8);
    await until(() => streams.answers.length === 5, 'five are refused');
    for (const response of streams.answers) {
      expect(response.status).toBe(429);
      expect(await codeOf(response)).toBe('concurrent_streams_exceeded');
      expect(response.headers.get('retry-after')).not.toBeNull();
    }
    expect(await redis.zcard(`{s0}:leases:${org.id}`)).toBe(3);
    const whole = await post(system, '/chat/completions', chatBody(), { key: keys[0]! });
    expect(whole.status).toBe(200);
    await whole.arrayBuffer();
    streams.close();
    await until(async () => (await redis.zcard(`{s0}:leases:${org.id}`)) === 0);
    const next = await post(system, '/chat/completions', chatBody({ stream: true }), {
      key: keys[1]!,
    });
    expect(next.status).toBe(200);
    await next.arrayBuffer();
  });
});

it('streams whose clients leave them to an Idempotency-Key count while they run, and their retries are not refused for them [limits.streams]', async () => {
  const org = await newOrganisation(system, { concurrentStreams: 2 });
  const key = await org.newKey();
  const leases = `{s0}:leases:${org.id}`;
  const body = chatBody({ stream: true, sandbox_fault: `id=${org.id}; stall=8000` });
  const ask = (idempotencyKey: string, signal?: AbortSignal) =>
    post(system, '/chat/completions', body, {
      key,
      headers: { 'idempotency-key': idempotencyKey },
      ...(signal === undefined ? {} : { signal }),
    });
  const abort = new AbortController();
  for (const name of ['one', 'two']) ask(name, abort.signal).catch(() => {});
  await until(async () => (await redis.zcard(leases)) === 2);
  abort.abort();
  const areLeft = async (): Promise<boolean> =>
    (await redis.zrange(leases, '0', '-1')).every((lease) => lease.startsWith('left '));
  await until(areLeft, 'both are left');
  expect(await redis.zcard(leases)).toBe(2);
  expect(await codeOf(await ask('three'))).toBe('concurrent_streams_exceeded');
  const answers = await Promise.all([ask('one'), ask('two')]);
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  for (const text of texts) expect(text).toContain('[DONE]');
  await until(async () => (await redis.zcard(leases)) === 0, 'all have ended');
});

interface HeldStreams {
  /** Answers to those that are not held open. */
  answers: Response[];
  close(): void;
}

/** Opens streams that say nothing, over all api processes. */
function holdStreams(
  org: TestOrganisation,
  keys: readonly string[],
  count: number,
  baseUrls: readonly string[] = system.baseUrls,
): HeldStreams {
  const abort = new AbortController();
  const answers: Response[] = [];
  for (let i = 0; i < count; i += 1) {
    const body = chatBody({ stream: true, sandbox_fault: `id=${org.id}; stall=60000` });
    const options = {
      key: keys[i % keys.length]!,
      baseUrl: baseUrls[i % baseUrls.length]!,
      signal: abort.signal,
    };
    post(system, '/chat/completions', body, options).then(
      (response) => answers.push(response),
      () => {},
    );
  }
  return { answers, close: () => abort.abort() };
}

describe('streams of an api process that is killed', () => {
  it('streams of a killed api process count until their leases end, and no longer [limits.streams]', async () => {
    const doomed = await system.start('api');
    const org = await newOrganisation(system, { concurrentStreams: 2 });
    const key = await org.newKey();
    holdStreams(org, [key], 2, [`http://127.0.0.1:${doomed.port}/v1`]);
    await until(async () => (await upstreamCalls(system, org.id)).length === 2);
    doomed.kill('SIGKILL');
    await doomed.exited;
    const open = () => post(system, '/chat/completions', chatBody({ stream: true }), { key });
    expect(await codeOf(await open())).toBe('concurrent_streams_exceeded');
    const leases = `{s0}:leases:${org.id}`;
    for (const member of (await redis.call('ZRANGE', leases, 0, -1)) as string[]) {
      const end = Number(await redis.zscore(leases, member));
      expect(end - Date.now()).toBeLessThanOrEqual(30_000);
      // The process that renewed them is dead; the clock is moved on by the time they have left.
      await redis.call('ZADD', leases, 'XX', end - 30_000, member);
    }
    const next = await open();
    expect(next.status).toBe(200);
    await next.arrayBuffer();
  });
});

describe('a key with a limit of its own', () => {
  it('a key is held to its own limit without taking from the others of its organisation [limits.per-key]', async () => {
    const org = await newOrganisation(system, { requestsPerSecond: 1_000, burst: 1_000 });
    const [limited, free] = [
      await org.newKey({ limit: { requestsPerSecond: 1, burst: 4 } }),
      await org.newKey(),
    ];
    const responses = await race(24, [limited]);
    const admitted = admittedOf(responses).length;
    expect(admitted).toBeGreaterThanOrEqual(4);
    expect(admitted).toBeLessThan(10);
    for (const refused of refusedOf(responses)) {
      expect(await codeOf(refused)).toBe('requests_per_second_exceeded');
    }
    expect(admittedOf(await race(24, [free]))).toHaveLength(24);
    const left = await redis.hget(`{s0}:limits:${org.id}`, 'count');
    expect(Number(left)).toBe(admitted + 24);
  });
});

describe('the headers of an inference answer', () => {
  const DURATION = /^(\d+ms|\d+(\.\d+)?s|\d+m\d+s|\d+h\d+m\d+s)$/;

  it('the headers of an answer say what is left, in the numbers of the plan [limits.audit, limits.headers]', async () => {
    const org = await newOrganisation(system, undefined, 'audit');
    const key = await org.newKey();
    for (const [i, path] of PATHS.entries()) {
      const { status, headers } = await post(system, path, BODIES[path], { key });
      expect(status).toBe(200);
      expect(headers.get('x-request-id')).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(headers.get('x-receipt-id')).toBe(
        headers.get('x-request-id')!.replace('req_', 'rcpt_'),
      );
      expect(headers.get('x-region')).toBe('eu-west');
      expect(headers.get('openai-processing-ms')).toMatch(/^\d+$/);
      expect(headers.get('x-ratelimit-limit-requests')).toBe('50');
      expect(headers.get('x-ratelimit-remaining-requests')).toMatch(/^19\d$/);
      expect(headers.get('x-ratelimit-reset-requests')).toMatch(DURATION);
      expect(headers.get('x-ratelimit-limit-requests-day')).toBe('100000');
      expect(headers.get('x-ratelimit-remaining-requests-day')).toBe(String(99_999 - i));
      expect(headers.get('x-ratelimit-reset-requests-day')).toMatch(DURATION);
    }
  });

  it('a stream and a refusal have the limit headers too [limits.headers]', async () => {
    const org = await newOrganisation(system, { requestsPerSecond: 1, burst: 1 });
    const key = await org.newKey();
    const names = ['requests', 'requests-day'].flatMap((what) =>
      ['limit', 'remaining', 'reset'].map((which) => `x-ratelimit-${which}-${what}`),
    );
    const ask = () => post(system, '/chat/completions', chatBody({ stream: true }), { key });
    const stream = await ask();
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const refused = await ask();
    expect(refused.status).toBe(429);
    for (const { headers } of [stream, refused]) {
      for (const name of names) expect(headers.get(name), name).not.toBeNull();
      expect(headers.get('x-request-id')).toMatch(/^req_/);
    }
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(Number(refused.headers.get('retry-after-ms'))).toBeLessThanOrEqual(1_000);
    expect(refused.headers.get('content-type')).toMatch(/^application\/json/);
    await stream.arrayBuffer();
  });

  it('the answer to a refused or failed request says what is left, and names no receipt that will not be [limits.headers, limits.per-key]', async () => {
    const org = await newOrganisation(system, { requestsPerSecond: 900, burst: 900 });
    const key = await org.newKey();
    const ask = async (body: object | string, given = key) => {
      const response = await post(system, '/chat/completions', body, { key: given });
      await response.arrayBuffer();
      return response;
    };
    const fails = chatBody({ sandbox_fault: `id=${org.id}; status=400` });
    const reads = await org.newKey({ scopes: ['service:read'] });
    for (const [body, status, isAdmitted, given] of [
      [chatBody(), 403, false, reads],
      ['{', 400, false],
      [chatBody({ temperature: 3 }), 400, false],
      [chatBody({ model: 'nope' }), 400, false],
      [chatBody({ region: 'ap-south' }), 503, false],
      [fails, 400, true],
      [{ ...fails, stream: true }, 400, true],
    ] as const) {
      const { status: found, headers } = await ask(body, given);
      expect(found, JSON.stringify(body)).toBe(status);
      expect(headers.get('x-request-id')).toMatch(/^req_/);
      expect(headers.get('x-receipt-id')).toBeNull();
      expect(headers.get('x-region')).toBe(isAdmitted ? 'eu-west' : null);
      expect(headers.get('openai-processing-ms')).toMatch(/^\d+$/);
      expect(headers.get('x-ratelimit-limit-requests')).toBe('900');
      expect(headers.get('x-ratelimit-remaining-requests')).toMatch(/^(900|89\d)$/);
      expect(headers.get('x-ratelimit-reset-requests')).toMatch(DURATION);
      expect(headers.get('x-ratelimit-remaining-requests-day')).toMatch(/^\d+$/);
      expect(headers.get('x-ratelimit-reset-requests-day')).toMatch(DURATION);
    }
    const required = { model: 'sandbox-unsized', receipt: 'required' };
    const unestimated = await ask(chatBody(required));
    expect(unestimated.status).toBe(500);
    const id = unestimated.headers.get('x-receipt-id')!;
    const read = { headers: { authorization: `Bearer ${key}` } };
    expect((await fetch(`${system.baseUrl}/receipts/${id}`, read)).status).toBe(200);
  });

  it('a refusal by the limit of a key names that limit, and how long it takes to come back [limits.headers, limits.per-key]', async () => {
    const org = await newOrganisation(system, { requestsPerSecond: 1_000, burst: 1_000 });
    const key = await org.newKey({ limit: { requestsPerSecond: 1, burst: 2 } });
    const [first, , ...rest] = await race(6, [key]);
    expect(first!.headers.get('x-ratelimit-limit-requests')).toBe('1');
    const refused = rest.find(({ status }) => status === 429)!;
    expect(refused.headers.get('x-ratelimit-limit-requests')).toBe('1');
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(refused.headers.get('x-ratelimit-reset-requests')).toMatch(/^[12](\.\d+)?s$/);
  });
});

describe('the limits of an organisation, over the three inference routes', () => {
  const LIMITS = [
    ['the rate', { requestsPerSecond: 1, burst: 1 }, {}, 'requests_per_second_exceeded'],
    ['the day', { requestsPerDay: 1 }, {}, 'daily_budget_exceeded'],
    ['the key', {}, { limit: { requestsPerSecond: 1, burst: 1 } }, 'requests_per_second_exceeded'],
  ] as const;

  it.each(LIMITS)(
    '%s used up on one inference route is used up on all three [limits.shared-by-routes]',
    async (_name, limits, own, code) => {
      for (const first of PATHS) {
        const key = await (await newOrganisation(system, limits)).newKey(own);
        expect((await post(system, first, BODIES[first], { key })).status).toBe(200);
        const answers = await Promise.all(
          system.baseUrls.flatMap((baseUrl) =>
            PATHS.map((path) => post(system, path, BODIES[path], { key, baseUrl })),
          ),
        );
        for (const answer of answers) expect(await codeOf(answer)).toBe(code);
      }
    },
  );

  it('streams of one route count against those of the other [limits.shared-by-routes]', async () => {
    const org = await newOrganisation(system, { concurrentStreams: 1 });
    const key = await org.newKey();
    const held = holdStreams(org, [key], 1);
    await until(async () => (await redis.zcard(`{s0}:leases:${org.id}`)) === 1);
    for (const path of ['/chat/completions', '/completions'] as const) {
      const refused = await post(system, path, { ...BODIES[path], stream: true }, { key });
      expect(await codeOf(refused)).toBe('concurrent_streams_exceeded');
    }
    held.close();
  });
});

it('the texts of all prompts of a request are bounded together, and an array of token ids is one prompt [requests.n]', async () => {
  const org = await newOrganisation(system, {});
  const key = await org.newKey();
  const ask = (path: '/completions' | '/chat/completions', rest: object) =>
    post(system, path, { ...BODIES[path], max_tokens: 1, ...rest }, { key });
  const prompts = Array.from({ length: 65 }, (_, at) => `Harbour ${at}`);
  const refused = await ask('/completions', { prompt: prompts, n: 2 });
  const { error } = (await refused.json()) as { error: object };
  expect([refused.status, error]).toMatchObject([400, { code: 'invalid_n', param: 'n' }]);
  const taken = await ask('/completions', { prompt: prompts.slice(1), n: 2 });
  const { choices } = (await taken.json()) as { choices: unknown[] };
  expect([taken.status, choices.length]).toEqual([200, 128]);
  const ids = prompts.map((_, at) => at + 1_000);
  expect((await ask('/completions', { prompt: ids, n: 2 })).status).toBe(200);
  // Of a chat it is a member like any other that passes through.
  expect((await ask('/chat/completions', { prompt: prompts, n: 2 })).status).toBe(200);
});

describe('a refusal', () => {
  it('a refusal leaves no count, lease or key in Redis [limits.refusals-are-free]', async () => {
    const org = await newOrganisation(system, { concurrentStreams: 1, requestsPerDay: 100 });
    const key = await org.newKey();
    const reader = await org.newKey({ scopes: ['service:read'] });
    const held = holdStreams(org, [key], 1);
    await until(async () => (await upstreamCalls(system, org.id)).length === 1);
    const state = async () => [
      await redis.hgetall(`{s0}:limits:${org.id}`),
      await redis.zcard(`{s0}:leases:${org.id}`),
      (await redis.keys('*')).filter((name) => name.includes(org.id)).toSorted(),
    ];
    const before = await state();
    const refusals: [object, { key?: string; headers?: Record<string, string> }][] = [
      [chatBody({ temperature: 3 }), {}],
      [chatBody({ model: 'nope' }), {}],
      [chatBody({ region: 'atlantis' }), {}],
      [chatBody({ region: 'ap-south' }), {}],
      [chatBody({ tier: 'gold' }), {}],
      [chatBody({ stream: true }), {}],
      [chatBody({ stream: true }), { headers: { 'idempotency-key': 'refused' } }],
      [chatBody(), { key: reader }],
      [chatBody(), { headers: { 'idempotency-key': 'x'.repeat(256) } }],
    ];
    for (const [body, options] of refusals) {
      const { status } = await post(system, '/chat/completions', body, { key, ...options });
      expect(status).toBeGreaterThanOrEqual(400);
    }
    // What its key may not do counts for moments as something that is read.
    await until(async () => !JSON.stringify(await state()).includes(':bucket:'));
    expect(await state()).toEqual(before);
    held.close();
  });
});
