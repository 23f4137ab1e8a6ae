import { DAY_MS } from '#shared/kernel/time.ts';
import { describe, expect, it } from 'vitest';
import { createAccountCalls } from '#test/support/account-calls.ts';
import { buildTestApp } from '#test/support/app.ts';
import { createAccountEdge } from '#test/support/account-edge.ts';
import { activeAccount, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const { call, edge, organisation, registries } = await createAccountCalls(database);

describe('GET /account', () => {
  it('GET /account tells any key what its account may do', async () => {
    const { key, id, keyId } = await organisation('audit', ['service:read']);
    const { body } = await call(key, 'GET', '/account');
    expect(body).toMatchObject({
      object: 'account',
      id,
      state: 'active',
      plan: 'audit',
      limits: {
        requests_per_second: 50,
        burst: 200,
        requests_per_day: 100_000,
        concurrent_streams: 20,
      },
      key: { id: keyId, scopes: ['service:read'] },
    });
  });
});

describe('authentication', () => {
  it.each([
    ['nothing', undefined],
    ['another scheme', 'Basic abc'],
    ['no token', 'Bearer '],
    ['two spaces', `Bearer  dkt_${'a'.repeat(38)}`],
    ['a wrong checksum', `Bearer dkt_${'a'.repeat(38)}`],
    ['too short', 'Bearer dkt_abc'],
    ['another prefix', `Bearer sk-${'a'.repeat(39)}`],
    ['SQL', `Bearer ' or 1=1 --`],
    ['a very long token', `Bearer ${'a'.repeat(8_000)}`],
  ])('authentication is 401 for %s', async (_case, authorization) => {
    const reply = await edge.app.inject({
      url: '/v1/account',
      headers: authorization === undefined ? {} : { authorization },
    });
    expect([reply.statusCode, reply.json().error.code]).toEqual([401, 'invalid_api_key']);
    expect(reply.headers['www-authenticate']).toBe('Bearer realm="docket"');
  });

  it('the scheme Bearer is taken in any case [accounts.bearer]', async () => {
    const { key } = await organisation();
    const reply = await edge.app.inject({
      url: '/v1/account',
      headers: { authorization: `bearer ${key}` },
    });
    expect(reply.statusCode).toBe(200);
  });

  it('the last use of a key is noted, in a batch [accounts.rotation]', async () => {
    const { key, keyId, id } = await organisation();
    await call(key, 'GET', '/account');
    expect((await registries.keys.get(id, keyId)).lastUsedAt).toBeNull();
    await edge.keyUse.flush();
    expect((await registries.keys.get(id, keyId)).lastUsedAt).toBeGreaterThan(Date.now() - 60_000);
  });

  it('a key expires by the clock, before the job has run', async () => {
    const own = await createAccountEdge(database);
    const account = await activeAccount(registries);
    const { plaintext } = await registries.keys.issue(
      account.id,
      { name: 'short', expiresAt: Date.now() + DAY_MS },
      OPERATOR,
    );
    const ask = async () => {
      const reply = await own.app.inject({
        url: '/v1/account',
        headers: { authorization: `Bearer ${plaintext}` },
      });
      return [reply.statusCode, reply.json().error?.code];
    };
    expect(await ask()).toEqual([200, undefined]);
    own.clock.advance(DAY_MS);
    expect(await ask()).toEqual([401, 'expired_api_key']);
  });

  it('a route that declares no scope stops the start [scopes.required]', async () => {
    const app = await buildTestApp(database.pool);
    const route = { method: 'GET', url: '/open', handler: () => 'oops', schema: { hide: true } };
    expect(() => app.route(route)).toThrow('does not declare its scope');
  });

  it('a route that does not say what it is stops the start, unless it is hidden', async () => {
    const app = await buildTestApp(database.pool);
    const config = { scope: 'public' } as const;
    const schema = {
      operationId: 'open',
      tag: 'Public',
      summary: 'Open',
      description: 'Open.',
      response: { 200: { description: 'Opened.' } },
    } as const;
    const add = (url: string, said: object) =>
      app.route({ method: 'GET', url, config, schema: said, handler: () => 'x' });
    for (const name of Object.keys(schema)) {
      expect(() => add(`/without-${name}`, { ...schema, [name]: undefined })).toThrow(name);
    }
    add('/described', schema);
    add('/hidden', { hide: true });
  });
});
