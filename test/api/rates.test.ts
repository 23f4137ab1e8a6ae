import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { fastify, type FastifyInstance } from 'fastify';
import type { AppOptions } from '#api/app.ts';
import { READ_HERE } from '#api/inference/enter-reader.ts';
import { HeldRefusals } from '#api/plugins/held-refusals.ts';
import { MemoryRates } from '#api/plugins/memory-rates.ts';
import { BYTES_OF_ANSWER, limitAddresses, rateClassOf } from '#api/plugins/rates.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { generateKey } from '#shared/keys/format.ts';
import { buildTestApp, NO_DATABASE, type TestAppParts } from '#test/support/app.ts';
import { TestCredentials } from '#test/support/credentials.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import { ask as askOnWire, expectRefusal } from '#test/support/envelope.ts';
import { ApiDescription, type Listed } from '#test/support/api-description.ts';

let database: TestDatabase;
const credentials = new TestCredentials();
const keyId = 'key_rates';
/** What was negotiated, which is not what the plan begins with. */
const NEGOTIATED = {
  requestsPerSecond: 70,
  burst: 220,
  requestsPerDay: 5_000,
  concurrentStreams: 2,
};
const key = credentials.issue('org_rates', SCOPES, { limits: NEGOTIATED, keyId });
/** What was asked of the buckets of organisations. */
let taken: [orgId: string, name: string, perSecond: number, burst: number][] = [];

const build = (parts: TestAppParts): Promise<FastifyInstance> =>
  buildTestApp(database.pool, {
    authenticate: { credentials, keyUse: { used() {} } },
    ...parts,
  });
const buckets = (waitMs: number): AppOptions['buckets'] => ({
  async take({ orgId }, name, { requestsPerSecond, burst }) {
    taken.push([orgId, name, requestsPerSecond, burst]);
    return {
      waitMs,
      perSecond: requestsPerSecond,
      remaining: waitMs === 0 ? 9 : 0,
      resetMs: 2_000,
    };
  },
  look: async ({ limits, keyLimit }) => ({
    perSecond: (keyLimit ?? limits).requestsPerSecond,
    remaining: 8,
    resetMs: 1_000,
    remainingToday: 7,
  }),
});

let full: FastifyInstance;
beforeAll(async () => {
  database = await createTestDatabase();
  full = await build({
    buckets: buckets(1_500),
    perAddress: { requestsPerSecond: 0.001, burst: 1 },
  });
});

/** A request as `inject` gives it back, for the checks of error answers. */
async function ask(app: FastifyInstance, method: string, url: string, token: string | null = key) {
  const answer = await app.inject({
    method: method as 'GET',
    url,
    ...(token === null ? {} : { headers: { authorization: `Bearer ${token}` } }),
  });
  const headers = new Headers(
    Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return { status: answer.statusCode, headers, text: answer.payload };
}

const send = (app: FastifyInstance, body: string, token = key) =>
  app.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
  });

/** Counting tokens runs nothing and changes nothing, though it is asked like what reaches a model. */
function kindOf(scope: string, method: string, { operationId, tags }: Listed['operation']) {
  if (operationId === 'countMessageTokens') return 'reads';
  const isInference = tags.includes('Inference') && method === 'post';
  return rateClassOf(scope, method.toUpperCase(), isInference);
}

describe('every route', () => {
  it('every route of the description but the look at health is under a limit: inference at admission, reads and changes of an organisation and revocations of a key at what is negotiated, the rest by address [limits.every-route, limits.headers]', async () => {
    const { payload } = await full.inject({ method: 'GET', url: '/openapi.json' });
    const { operations } = new ApiDescription(JSON.parse(payload) as never);
    const table: Record<string, string[]> = {};
    for (const { method, path, operation } of operations) {
      const scope = operation.security.length === 0 ? 'public' : 'key';
      const kind = kindOf(scope, method, operation);
      (table[kind] ??= []).push(operation.operationId);
      if (kind === 'inference' || operation.operationId.startsWith('retrieveHealth')) continue;
      const bucket =
        operation.operationId === 'revokeKey' ? expect.stringMatching(/^revocations:.+/) : kind;
      taken = [];
      const url = path.replaceAll(/\{[^}]+\}/g, 'x');
      const answer = await ask(full, method.toUpperCase(), url, kind === 'address' ? null : key);
      expectRefusal(answer, 'requests_per_second_exceeded');
      if (kind === 'address') expect(taken).toEqual([]);
      else {
        // Some of so many refusals of one caller have waited for their turn.
        const afterMs = Number(answer.headers.get('retry-after-ms'));
        expect(afterMs > 0 && afterMs <= 1_500).toBe(true);
        const rate = kind === 'reads' ? [70, 220] : [1, 100];
        expect(taken, `${method} ${path}`).toEqual([['org_rates', bucket, ...rate]]);
        expect(answer.headers.get('x-ratelimit-limit-requests')).toBe(String(rate[0]));
        expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('0');
        expect(answer.headers.get('x-ratelimit-reset-requests')).toMatch(/^(2|1\.\d+)s$/);
      }
    }
    // A key that is stolen holds up no revocation by another of its organisation.
    taken = [];
    for (const each of [key, credentials.issue('org_rates', SCOPES, { limits: NEGOTIATED })])
      await ask(full, 'POST', '/v1/keys/x/revoke', each);
    expect(new Set(taken.map(([, bucket]) => bucket)).size).toBe(2);
    expect(table['inference']?.toSorted()).toEqual([
      'createChatCompletion',
      'createCompletion',
      'createEmbedding',
      'createMessage',
      'createResponse',
    ]);
    expect(Object.keys(table).toSorted()).toEqual(['address', 'changes', 'inference', 'reads']);
  });
});

it('refused revocations by a key wait for each other alone: one by another key of its organisation is told at once [limits.every-route]', async () => {
  const revoke = (by: string) => ask(full, 'POST', '/v1/keys/x/revoke', by);
  const [stolen, other] = ['key_stolen', 'key_other'].map((id) =>
    credentials.issue('org_rates', SCOPES, { limits: NEGOTIATED, keyId: id }),
  );
  let told = 0;
  const flood = Array.from({ length: 64 }, () => revoke(stolen!).then(() => (told += 1)));
  expectRefusal(await revoke(other!), 'requests_per_second_exceeded');
  expect(told).toBeLessThan(64);
  await Promise.all(flood);
});

describe('a key that may not do what it asks', () => {
  it('is under a limit on every route: what is refused to it counts as read by its organisation, and takes nothing from changes and revocations [limits.every-route, limits.headers]', async () => {
    const app = await build({ buckets: buckets(1_500) });
    const { payload } = await app.inject({ method: 'GET', url: '/openapi.json' });
    const { operations } = new ApiDescription(JSON.parse(payload) as never);
    const bare = credentials.issue('org_rates', [], { limits: NEGOTIATED });
    const asked = new Set<string>();
    for (const { method, path, operation } of operations) {
      if (operation.security.length === 0) continue;
      const verb = method.toUpperCase();
      asked.add(kindOf('key', method, operation));
      taken = [];
      const answer = await ask(app, verb, path.replaceAll(/\{[^}]+\}/g, 'x'), bare);
      expectRefusal(answer, 'requests_per_second_exceeded');
      expect(taken, `${method} ${path}`).toEqual([['org_rates', 'reads', 70, 220]]);
    }
    expect([...asked].toSorted()).toEqual(['changes', 'inference', 'reads']);
  });

  it('may try inference as often, and takes nothing from the requests of others of its organisation [limits.refusals]', async () => {
    const limits = { ...NEGOTIATED, requestsPerSecond: 0.001, burst: 1 };
    const [bare, good] = [[], SCOPES].map((scopes) =>
      credentials.issue('org_bare', scopes, { limits }),
    );
    const app = await build({ buckets: buckets(0) });
    for (let i = 0; i < 3; i += 1)
      expectRefusal(await ask(app, 'POST', '/v1/chat/completions', bare), 'insufficient_scope');
    const own = await ask(app, 'POST', '/v1/chat/completions', good);
    expectRefusal(own, 'invalid_content_type');
  });
});

it('what a key is refused for its rate waits for its turn among the refusals of its organisation, on every route [limits.reads, limits.refusals, limits.addresses]', async () => {
  const app = await build({
    buckets: buckets(1_500),
    perAddress: { requestsPerSecond: 0.001, burst: 2 },
  });
  const orgId = 'org_waits';
  const limits = { ...NEGOTIATED, requestsPerSecond: 0.001, burst: 1 };
  const [good, bare] = [SCOPES, []].map((scopes) => credentials.issue(orgId, scopes, { limits }));
  const give = vi.spyOn(HeldRefusals.prototype, 'give');
  onTestFinished(() => give.mockRestore());
  const callersOf = async (method: string, url: string, token: string | undefined) => {
    give.mockClear();
    const { status } = await ask(app, method, url, token);
    return [status, ...give.mock.calls.map(([caller]) => caller)];
  };
  expect(await callersOf('GET', '/v1/receipts/x', good)).toEqual([429, orgId]);
  expect(await callersOf('POST', '/v1/chat/completions', good)).toEqual([415]);
  expect(await callersOf('POST', '/v1/chat/completions', good)).toEqual([429, orgId]);
  expect(await callersOf('GET', '/v1/receipts', bare)).toEqual([429, orgId]);
  expect(await callersOf('GET', '/v1/nothing', good)).toEqual([404]);
  expect(await callersOf('GET', '/v1/nothing', good)).toEqual([429, '127.0.0.1 with a key']);
  expect(await callersOf('GET', '/v1/keys', bare)).toEqual([429, orgId]);
});

it('what has waited for its refusal is told the time that is left then, on every route [limits.headers, limits.refusals, limits.addresses]', async () => {
  const app = await build({
    buckets: buckets(1_500),
    perAddress: { requestsPerSecond: 0.001, burst: 1 },
  });
  const limits = { ...NEGOTIATED, requestsPerSecond: 0.001, burst: 1 };
  const [good, bare] = [SCOPES, []].map((scopes) =>
    credentials.issue('org_held', scopes, { limits }),
  );
  const asks = [
    ['GET', '/v1/receipts/x', good],
    ['GET', '/v1/receipts', bare],
    ['GET', '/v1/nothing', null],
    ['GET', '/v1/receipts', 'dkt_nokeyatall'],
    ['POST', '/v1/chat/completions', good],
  ] as const;
  for (const [method, url, token] of asks) await ask(app, method, url, token);
  const give = vi.spyOn(HeldRefusals.prototype, 'give');
  onTestFinished(() => give.mockRestore());
  for (const [method, url, token] of asks) {
    const [soon, late] = [0, 700];
    const waits: number[] = [];
    for (const heldMs of [soon, late]) {
      give.mockImplementation((_caller, _exchange, answer) => answer(heldMs));
      const { headers } = await ask(app, method, url, token);
      waits.push(Number(headers.get('retry-after-ms')));
      if (url !== '/v1/receipts/x') continue;
      expect(headers.get('x-ratelimit-reset-requests')).toBe(heldMs === soon ? '2s' : '1.3s');
    }
    // What the test itself takes between the two is no more than a wait.
    expect(waits[0]! - waits[1]!, url).toBeGreaterThanOrEqual(late);
  }
});

describe('requests for inference that are refused before admission', () => {
  it('are counted by organisation, over all its keys, a large body as many, and who is over the rate waits before the next body is read [limits.refusals]', async () => {
    let read = 0;
    const inference = {
      now: Date.now,
      readHere: new MemoryRates(READ_HERE),
      largeBodies: {
        warmSoon() {},
        enter: async () => ({
          read: () => {
            read += 1;
            throw new Fault('invalid_messages', { message: 'no' });
          },
          leave() {},
        }),
      },
    } as unknown as AppOptions['inference'];
    const app = await build({ inference });
    // 220 at once, of which this is sixteen; and 70 a second are earned meanwhile.
    const large = `[${' '.repeat(1_023 * 1024)}]`;
    let code = 'invalid_messages';
    for (let count = 0; count < 300 && code === 'invalid_messages'; count += 1)
      code = (await send(app, large)).json().error.code as string;
    expect(code).toBe('requests_per_second_exceeded');
    expect(read).toBeGreaterThanOrEqual(13);
    const codeOf = async (orgId: string): Promise<string> => {
      const other = credentials.issue(orgId, SCOPES, { limits: NEGOTIATED, keyId: `${orgId}_2` });
      return (await send(app, '{', other)).json<{ error: { code: string } }>().error.code;
    };
    // A body may leave it over its rate by as little as is earned until the next: another leaves it over by more.
    code = await codeOf('org_rates');
    for (let count = 0; count < 20 && code === 'invalid_json'; count += 1) {
      await send(app, large);
      code = await codeOf('org_rates');
    }
    expect(code).toBe('requests_per_second_exceeded');
    expect(await codeOf('org_others')).toBe('invalid_json');
  });
});

describe('bodies that are read on the event loop', () => {
  it('an organisation has a quarter of a mebibyte of them read there at once; what is beyond is read on a thread, small ones and those of others are not [limits.reading]', async () => {
    const onThread = () => {
      throw new Fault('invalid_temperature', { message: 'on a thread' });
    };
    const inference = {
      now: Date.now,
      readHere: new MemoryRates(READ_HERE, () => 0),
      largeBodies: { warmSoon() {}, enter: async () => ({ read: onThread, leave() {} }) },
    } as unknown as AppOptions['inference'];
    const app = await build({ inference });
    const read = async (bytes: number, token: string): Promise<string> => {
      const answer = await send(app, `{"messages":[],"user":"${'x'.repeat(bytes)}"}`, token);
      return answer.json<{ error: { code: string } }>().error.code;
    };
    const codes: string[] = [];
    for (let i = 0; i < 7; i += 1) codes.push(await read(60_000, key));
    const here = codes[0]!;
    expect(here).not.toBe('invalid_temperature');
    expect(codes).toEqual([
      ...Array<string>(5).fill(here),
      'invalid_temperature',
      'invalid_temperature',
    ]);
    expect(await read(1_000, key)).toBe(here);
    expect(await read(60_000, credentials.issue('org_other', SCOPES, {}))).toBe(here);
  });
});

it('a refused request for a model says how long it took', async () => {
  const app = await build({ buckets: buckets(0) });
  let at = 1_000_000;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (at += 1));
  onTestFinished(() => clock.mockRestore());
  const { status, headers } = await ask(app, 'POST', '/v1/chat/completions');
  expect(status).toBe(415);
  const ms = Number(headers.get('openai-processing-ms'));
  expect(ms).toBeGreaterThan(0);
  expect(ms).toBeLessThan(1_000);
});

describe('refused requests of a key with a limit of its own', () => {
  it('what is refused before admission is held to the limit of the key, and the 429 names that limit [limits.refusals, limits.per-key, limits.headers]', async () => {
    const keyLimit = { requestsPerSecond: 0.001, burst: 3 };
    const slow = credentials.issue('org_rates', SCOPES, { keyLimit, keyId: 'key_slow' });
    const app = await build({ buckets: buckets(0) });
    const sendSlow = () => ask(app, 'POST', '/v1/chat/completions', slow);
    for (let i = 0; i < 3; i += 1) {
      const { status, headers } = await sendSlow();
      expect(status).toBe(415);
      expect(headers.get('x-ratelimit-limit-requests')).toBe('0.001');
    }
    const refused = await sendSlow();
    expectRefusal(refused, 'requests_per_second_exceeded');
    expect(refused.headers.get('x-ratelimit-limit-requests')).toBe('0.001');
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(refused.headers.get('x-ratelimit-reset-requests')).toMatch(/^\d+m\d+s$/);
    expect(refused.headers.get('x-ratelimit-remaining-requests-day')).toBe('7');
  });
});

describe('an address', () => {
  const perAddress = { requestsPerSecond: 0.001, burst: 3 };
  const refused = {
    revoked: credentials.issue('org_rates', SCOPES, { keyState: 'revoked' }),
    expired: credentials.issue('org_rates', SCOPES, { expiresAt: 1 }),
    closed: credentials.issue('org_closed', SCOPES, { accountState: 'closed' }),
    suspended: credentials.issue('org_suspended', SCOPES, { accountState: 'suspended' }),
    bare: credentials.issue('org_rates', []),
  };

  it.each([
    ['that tries keys', 'GET', '/v1/models', 'dkt_nokeyatall', 'invalid_api_key'],
    ['that looks for addresses', 'GET', '/v1/nothing', null, 'route_not_found'],
    ['that shows no key', 'POST', '/v1/chat/completions', null, 'invalid_api_key'],
    ['that shows a revoked key', 'GET', '/v1/models', refused.revoked, 'revoked_api_key'],
    ['that shows an expired key', 'GET', '/v1/models', refused.expired, 'expired_api_key'],
    ['of a closed account', 'GET', '/v1/models', refused.closed, 'revoked_api_key'],
    ['of a suspended account', 'GET', '/v1/models', refused.suspended, 'customer_suspended'],
    ['that asks with a NUL', 'GET', '/v1/receipts?after=%00', null, 'invalid_url'],
    ['that asks what is no address', 'GET', '/v1/%zz', null, 'invalid_url'],
    ['of a key without the scope', 'GET', '/v1/keys', refused.bare, 'insufficient_scope'],
  ] as const)(
    'an address %s may do so at its rate, and a good key from it is still served [limits.addresses]',
    async (_what, method, url, token, code) => {
      const app = await build({ perAddress });
      for (let i = 0; i < 3; i += 1) expectRefusal(await ask(app, method, url, token), code);
      expectRefusal(await ask(app, method, url, token), 'requests_per_second_exceeded');
      expect((await ask(app, 'GET', '/v1/models')).status).toBe(200);
    },
  );
});

it('an address behind a trusted proxy that asks what is no address is counted itself, and the others behind it are not [limits.addresses]', async () => {
  const app = await build({
    perAddress: { requestsPerSecond: 0.001, burst: 1 },
    trustedProxies: ['127.0.0.1'],
  });
  const from = async (address: string, url: string): Promise<number> => {
    const headers = { 'x-forwarded-for': address };
    return (await app.inject({ url, headers })).statusCode;
  };
  expect([await from('192.0.2.1', '/%zz'), await from('192.0.2.1', '/%zz')]).toEqual([400, 429]);
  expect(await from('192.0.2.1', '/v1/nothing')).toBe(429);
  expect(await from('192.0.2.2', '/%zz')).toBe(400);
});

it('an address that is over its rate is refused before anything is made of its request, in the words and with the headers of every refusal, and its good key is served [limits.addresses, errors.envelope]', async () => {
  const app = await build({ perAddress: { requestsPerSecond: 0.001, burst: 1 } });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const wire = (path: string, init?: RequestInit) => askOnWire(origin + path, init);
  expectRefusal(await wire('/v1/nothing'), 'route_not_found');
  const late = await ask(app, 'GET', '/v1/nothing', null);
  expectRefusal(late, 'requests_per_second_exceeded');
  const body = 'x'.repeat(300_000);
  for (const early of [
    await wire('/v1/nothing'),
    await wire('/docs?a=1'),
    await wire('/v1/models', { headers: { authorization: 'Bearer none' } }),
    await wire('/v1/chat/completions', { method: 'POST', body }),
  ]) {
    expectRefusal(early, 'requests_per_second_exceeded');
    expect(early.text).toBe(late.text);
    const names = [...early.headers.keys()].filter((name) => name !== 'keep-alive');
    expect(names.toSorted()).toEqual([...late.headers.keys()].toSorted());
  }
  const headers = { authorization: `Bearer ${key}` };
  expect((await wire('/v1/models', { headers })).status).toBe(200);
});

it('a look at health is answered without a key and a store, also where its address is over its rate, and counts for nothing [limits.health]', async () => {
  const app = await buildTestApp(NO_DATABASE, {
    perAddress: { requestsPerSecond: 0.001, burst: 1 },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const looks = async (): Promise<void> => {
    for (const path of ['/health', '/v1/health']) {
      for (const init of [{}, { headers: { authorization: 'Bearer none' } }]) {
        const { status, text } = await askOnWire(origin + path, init);
        expect([status, text]).toEqual([200, '{"status":"ok"}']);
      }
      const head = await askOnWire(origin + path, { method: 'HEAD' });
      expect([head.status, head.text]).toEqual([200, '']);
    }
  };
  await looks();
  expectRefusal(await askOnWire(`${origin}/nothing`), 'route_not_found');
  expectRefusal(await askOnWire(`${origin}/nothing`), 'requests_per_second_exceeded');
  await looks();
  const posted = await askOnWire(`${origin}/health`, { method: 'POST' });
  expectRefusal(posted, 'requests_per_second_exceeded');
});

it('a key that was revoked counts for its address like one that never was [limits.addresses]', async () => {
  const app = await build({ perAddress: { requestsPerSecond: 0.001, burst: 2 } });
  const revoked = credentials.issue('org_revoked', SCOPES);
  credentials.revoke(revoked);
  const read = () => ask(app, 'GET', '/v1/models', revoked);
  for (let i = 0; i < 2; i += 1) expectRefusal(await read(), 'revoked_api_key');
  expectRefusal(await read(), 'requests_per_second_exceeded');
});

it('a large public answer counts for its address as many requests, one that is compressed or known already as few [limits.addresses]', async () => {
  const app = await build({ perAddress: { requestsPerSecond: 0.001, burst: 40 } });
  const known: Record<string, string> = {};
  const take = async (count: number, headers: Record<string, string>) => {
    const statuses: number[] = [];
    for (let i = 0; i < count; i += 1) {
      const answer = await app.inject({ url: '/docs', headers });
      if (answer.statusCode === 200) known['if-none-match'] = String(answer.headers.etag);
      statuses.push(answer.statusCode);
    }
    return statuses;
  };
  expect(await take(5, { 'accept-encoding': 'gzip' })).toEqual([200, 200, 200, 200, 200]);
  expect(await take(3, known)).toEqual([304, 304, 304]);
  // Each is as thirty-eight.
  expect((await take(5, {})).slice(-2)).toEqual([429, 429]);
});

it('a page counts for its address by its size as a public answer does, and a file that is sent in pieces does not [limits.addresses]', async () => {
  const spent: number[] = [];
  const app = fastify();
  const addresses = { take: () => 0, spend: (_ip: string, weight: number) => spent.push(weight) };
  limitAddresses(app, { addresses, held: { give() {} } });
  const config = { scope: 'session' } as const;
  app.get('/page', { config }, () => 'x'.repeat(3 * BYTES_OF_ANSWER));
  app.get('/pack', { config }, (_request, reply) =>
    reply.header('content-length', 100_000).send(Readable.from([Buffer.alloc(100_000)])),
  );
  for (const url of ['/page', '/pack']) expect((await app.inject(url)).statusCode).toBe(200);
  expect(spent).toEqual([3]);
});

it('an address that is over its rate has no further key looked up in the database [limits.addresses]', async () => {
  const read: string[] = [];
  const lookup: AppOptions['authenticate']['credentials']['lookup'] = (token, mayRead) => {
    if (token === key) return credentials.lookup(token);
    mayRead!();
    read.push(token);
    return Promise.resolve(null);
  };
  const app = await build({
    perAddress: { requestsPerSecond: 0.001, burst: 3 },
    authenticate: {
      credentials: { lookup, ownerOf: (token) => credentials.ownerOf(token) },
      keyUse: { used() {} },
    },
  });
  const codes: string[] = [];
  for (let i = 0; i < 5; i += 1) {
    const invented = generateKey(randomBytes);
    const { text } = await ask(app, 'GET', '/v1/models', invented);
    codes.push((JSON.parse(text) as { error: { code: string } }).error.code);
  }
  const over = 'requests_per_second_exceeded';
  expect(codes).toEqual([...Array<string>(3).fill('invalid_api_key'), over, over]);
  expect(read).toHaveLength(3);
  expect((await ask(app, 'GET', '/v1/models')).status).toBe(200);
});

describe('a Redis that cannot be asked', () => {
  it('what stands in PostgreSQL is read while Redis is away, and refusals say nothing of limits that are not known [limits.reads]', async () => {
    const fail = () => Promise.reject(new Error('away'));
    const app = await build({ buckets: { take: fail, look: fail } });
    expect((await ask(app, 'GET', '/v1/receipts')).status).toBe(200);
    const refused = await ask(app, 'POST', '/v1/chat/completions');
    expectRefusal(refused, 'invalid_content_type');
    expect(refused.headers.get('x-ratelimit-limit-requests')).toBeNull();
  });
});
