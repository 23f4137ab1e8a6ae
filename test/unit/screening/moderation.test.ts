import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MockAgent } from 'undici';
import { type ModerationOptions, Moderator } from '#shared/screening/http/moderation.ts';

const ORIGIN = 'http://moderation.test';
let network: MockAgent;
let now: number;

beforeEach(() => {
  network = new MockAgent();
  network.disableNetConnect();
  now = 1_000;
});

afterEach(async () => {
  network.assertNoPendingInterceptors();
  await network.close();
});

function moderator(options: Partial<ModerationOptions> = {}): Moderator {
  return new Moderator({
    baseUrl: `${ORIGIN}/v1/`,
    model: 'mod-1',
    atOnce: 256,
    apiKey: 'secret',
    timeoutMs: 1_000,
    failMode: 'closed',
    now: () => now,
    dispatcher: network,
    ...options,
  });
}

function answer(
  status: number,
  body: unknown,
): { requests: { headers: unknown; body: unknown }[] } {
  const requests: { headers: unknown; body: unknown }[] = [];
  network
    .get(ORIGIN)
    .intercept({ path: '/v1/moderations', method: 'POST' })
    .reply(status, (call) => {
      requests.push({ headers: call.headers, body: JSON.parse(call.body as string) });
      return typeof body === 'string' ? body : JSON.stringify(body);
    });
  return { requests };
}

describe('the moderation endpoint', () => {
  it('gets all texts at once, with the credential', async () => {
    const { requests } = answer(200, { results: [{ flagged: false }, { flagged: false }] });
    expect(await moderator().judge(['one', ' ', 'two'])).toEqual({ outcome: 'passed' });
    expect(requests).toEqual([
      {
        headers: expect.objectContaining({ authorization: 'Bearer secret' }) as unknown,
        body: { model: 'mod-1', input: ['one', 'two'] },
      },
    ]);
  });

  it('is not asked when there is no text', async () => {
    expect(await moderator().judge(['', '  '])).toEqual({ outcome: 'passed' });
  });

  it('flags a text under the first category, by name', async () => {
    const categories = { violence: true, harassment: true, self_harm: false };
    answer(200, { results: [{ flagged: true, categories }] });
    expect(await moderator().judge(['one'])).toEqual({
      outcome: 'flagged',
      verdict: {
        rule: 'moderation:harassment@mod-1',
        code: 'acceptable_use_violation',
      },
    });
  });

  it('never repeats a category name that is not one', async () => {
    answer(200, { results: [{ flagged: true, categories: { 'a\u001b[31m': true } }] });
    const result = await moderator().judge(['one']);
    expect(result).toMatchObject({
      outcome: 'flagged',
      verdict: { rule: 'moderation:other@mod-1' },
    });
  });
});

const CLEAN = { results: [{ flagged: false }] };

describe('a moderation endpoint that fails', () => {
  it.each([
    ['an error status', 500, {}],
    ['no JSON', 200, 'hello'],
    ['no results', 200, {}],
    ['fewer results than inputs', 200, { results: [] }],
    ['a result that says nothing', 200, { results: [{}] }],
    ['null', 200, 'null'],
  ])('is unavailable when closed and skipped when open: %s', async (_, status, body) => {
    for (const [failMode, outcome] of [
      ['closed', 'unavailable'],
      ['open', 'skipped'],
    ] as const) {
      answer(status, body);
      answer(status, body);
      expect(await moderator({ failMode }).judge(['one'])).toEqual({ outcome });
    }
  });

  it('is given up after the timeout, and so is its probe', async () => {
    for (let i = 0; i < 2; i += 1) {
      network
        .get(ORIGIN)
        .intercept({ path: '/v1/moderations', method: 'POST' })
        .reply(200, '{}')
        .delay(60_000);
    }
    expect(await moderator({ timeoutMs: 5 }).judge(['one'])).toEqual({ outcome: 'unavailable' });
  });

  it('is not asked for a while after five failed probes, and a probe ends that', async () => {
    const one = moderator();
    for (let i = 0; i < 5; i += 1) {
      answer(500, {});
      answer(500, {});
      await one.judge(['one']);
      now += 1_000;
    }
    // Nothing is set up to answer now: a call would fail, and would count.
    expect(await one.judge(['one'])).toEqual({ outcome: 'unavailable' });
    now += 2_001;
    const probe = answer(200, CLEAN);
    answer(200, CLEAN);
    expect(await one.judge(['one'])).toEqual({ outcome: 'passed' });
    expect(probe.requests[0]!.body).toMatchObject({ input: ['ok'] });
    answer(200, CLEAN);
    expect(await one.judge(['one'])).toEqual({ outcome: 'passed' });
  });

  it('does not count callers who leave as its failures', async () => {
    const one = moderator();
    for (let i = 0; i < 6; i += 1) {
      expect(await one.judge(['one'], AbortSignal.abort())).toEqual({ outcome: 'unavailable' });
    }
    answer(200, CLEAN);
    expect(await one.judge(['one'])).toEqual({ outcome: 'passed' });
  });
});

describe('a caller whose texts the endpoint cannot judge', () => {
  it('the circuit stays closed for all others, however often one caller makes the endpoint fail', async () => {
    const one = moderator();
    for (let i = 0; i < 20; i += 1) {
      answer(500, {});
      answer(200, CLEAN);
      expect(await one.judge(['a text that breaks it'])).toEqual({ outcome: 'unavailable' });
      now += 1_000;
    }
    answer(200, CLEAN);
    expect(await one.judge(['of another tenant'])).toEqual({ outcome: 'passed' });
  });

  it('what makes the endpoint fail does not pass unjudged in open mode', async () => {
    const one = moderator({ failMode: 'open' });
    for (let i = 0; i < 8; i += 1) {
      answer(413, {});
      // The probe tells of a second.
      if (i % 4 === 0) answer(200, CLEAN);
      expect(await one.judge(['padded'])).toEqual({ outcome: 'unavailable' });
      now += 250;
    }
  });

  it('texts over the bound are neither sent nor let through, in either mode', async () => {
    for (const failMode of ['open', 'closed'] as const) {
      const padded = ['harm', ' '.repeat(9_000_000) + '.'];
      expect(await moderator({ failMode }).judge(padded)).toEqual({ outcome: 'too_long' });
    }
  });
});

it('whether the endpoint works is told also while one caller holds every connection to it', async () => {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      if (text.includes('bad')) response.writeHead(500).end();
      if (text.includes('"ok"')) response.end(JSON.stringify({ results: [{ flagged: false }] }));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const real = new Moderator({
    baseUrl: `http://127.0.0.1:${port}`,
    model: 'mod-1',
    atOnce: 256,
    timeoutMs: 60_000,
    failMode: 'open',
    now: () => now,
  });
  const leaving = new AbortController();
  const hold = (count: number) =>
    Array.from({ length: count }, () => real.judge(['slow'], leaving.signal));
  const held = hold(255);
  const judged = real.judge(['bad']);
  held.push(...hold(50));
  // Had the probe waited with them, it would have told that nothing works, and this one had passed unjudged.
  expect(await judged).toEqual({ outcome: 'unavailable' });
  leaving.abort();
  await Promise.all(held);
  await real.close();
  server.closeAllConnections();
  server.close();
});
