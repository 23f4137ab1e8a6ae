import { get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { AppOptions } from '#api/app.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { TestCredentials } from '#test/support/credentials.ts';

/** The edge, over stores that answer when they are told to. Says whose accounts they are asked for. */
async function openEdge({ from = 'memory' }: { from?: 'memory' | 'store' } = {}) {
  const credentials = new TestCredentials();
  const lookup = (token: string) => credentials.lookup(token);
  const asked: string[] = [];
  const answering: (() => void)[] = [];
  const wait = async (what: string): Promise<never> => {
    asked.push(what);
    await new Promise<void>((answer) => answering.push(answer));
    throw new Fault('receipt_not_found');
  };
  const app = await buildTestApp(NO_DATABASE, {
    authenticate: {
      credentials: {
        lookup: from === 'memory' ? lookup : async (token) => lookup(token),
        ownerOf: (token) => credentials.ownerOf(token),
      },
      keyUse: { used() {} },
    },
    account: { accounts: { get: wait } },
    keys: {
      now: () => 0,
      keys: { revoke: (orgId: string) => wait(`revoke ${orgId}`) },
    } as unknown as AppOptions['keys'],
  });
  const keyOf = (orgId: string): string => credentials.issue(orgId, SCOPES);
  /** By organisation; a2 is another key of a. */
  const keys: Record<string, string> = { a: keyOf('a'), a2: keyOf('a'), b: keyOf('b') };
  const headersOf = (key: string) => ({ authorization: `Bearer ${keys[key]}` });
  const loseKey = (key: string): void => credentials.revoke(keys[key]!);
  const read = async (key: string, path = '/v1/account') =>
    app.inject({ url: path, headers: headersOf(key) });
  const revoke = async (orgId: string) =>
    app.inject({
      method: 'POST',
      url: '/v1/keys/key_01JD0A9F6R4N8P1S5VZC7B2DEG/revoke',
      headers: headersOf(orgId),
      payload: { reason: 'leaked' },
    });
  const untilAsked = async (count: number): Promise<void> => {
    while (asked.length < count) await turn();
    // What else was let in would have asked by now.
    for (let i = 0; i < 10; i += 1) await turn();
    expect(asked).toHaveLength(count);
  };
  return { app, asked, answering, headersOf, read, revoke, loseKey, untilAsked };
}

const times = (count: number, status: number): number[] => Array<number>(count).fill(status);

it('two requests of an organisation ask stores at once, the next wait in order, and those of another organisation do not [limits.reads-at-once]', async () => {
  const { asked, answering, read, untilAsked } = await openEdge();
  const ours = Array.from({ length: 200 }, () => read('a'));
  await untilAsked(2);
  const theirs = read('b');
  await untilAsked(3);
  expect(asked).toEqual(['a', 'a', 'b']);
  for (let answered = 0; answered < 201; answered += 1) {
    while (answering.length === 0) await turn();
    expect(answering.length).toBeLessThanOrEqual(3);
    answering.shift()!();
  }
  const answers = await Promise.all([...ours, theirs]);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(times(201, 404));
});

it('an organisation whose places are taken reads what is in memory, and revokes keys, without waiting [limits.reads-at-once]', async () => {
  const { asked, answering, read, revoke, untilAsked } = await openEdge();
  const reads = Array.from({ length: 3 }, () => read('a'));
  await untilAsked(2);
  expect((await read('a', '/v1/models')).statusCode).toBe(200);
  const revoked = revoke('a');
  await untilAsked(3);
  expect(asked[2]).toBe('revoke a');
  while (answering.length > 0 || asked.length < 4) {
    answering.shift()?.();
    await turn();
  }
  const answers = await Promise.all([...reads, revoked]);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(times(4, 404));
});

it('beyond the 1,024 that wait a request is refused at once, and told when to come again [limits.reads-at-once]', async () => {
  const { answering, asked, read } = await openEdge();
  const ours = Array.from({ length: 1_026 }, () => read('a'));
  const refused = await read('a');
  expect(refused.statusCode).toBe(429);
  expect(refused.headers['retry-after']).toBe('1');
  expect(refused.json()).toMatchObject({ error: { code: 'requests_per_second_exceeded' } });
  while (answering.length > 0 || asked.length < 1_026) {
    answering.shift()?.();
    await turn();
  }
  const answers = await Promise.all(ours);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(times(1_026, 404));
});

it('a client that leaves while it waits asks no store, and one that leaves its place keeps it until the stores have answered [limits.reads-at-once]', async () => {
  const { app, answering, headersOf, read, untilAsked } = await openEdge();
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const happened: string[] = [];
  app.server.on('request', (_request, response) => {
    happened.push('arrived');
    response.once('close', () => happened.push('left'));
  });
  const begin = () => {
    const request = get({ port, path: '/v1/account', headers: headersOf('a') });
    return request.on('error', () => {});
  };
  const first = begin();
  await untilAsked(1);
  const before = [read('a')];
  await untilAsked(2);
  const second = begin();
  while (happened.length < 2) await turn();
  const behind = read('a');
  second.destroy();
  first.destroy();
  while (happened.length < 4) await turn();
  await untilAsked(2);
  answering.shift()!();
  await untilAsked(3);
  for (const answer of answering) answer();
  const answers = await Promise.all([...before, behind]);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(times(2, 404));
});

it.each(['memory', 'store'] as const)(
  'a key that is revoked while its read waits reads nothing, and the place goes to the next (looked up in %s) [limits.reads-at-once]',
  async (from) => {
    const { answering, read, loseKey, untilAsked } = await openEdge({ from });
    const inside = Array.from({ length: 2 }, () => read('a'));
    await untilAsked(2);
    const waiting = Array.from({ length: 2 }, () => read('a'));
    for (let i = 0; i < 10; i += 1) await turn();
    const behind = read('a2');
    loseKey('a');
    answering.shift()!();
    await untilAsked(3);
    const refused = await Promise.all(waiting);
    expect(refused.map(({ statusCode }) => statusCode)).toEqual(times(2, 401));
    for (const answer of answering) answer();
    const answers = await Promise.all([...inside, behind]);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(times(3, 404));
  },
);
