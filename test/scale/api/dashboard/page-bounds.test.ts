import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { sendError } from '#api/dashboard/guard.ts';
import { PageBounds } from '#api/dashboard/session/page-bounds.ts';
import { atFileEnd } from '#test/support/file-end.ts';

/** Who is let in by which cookie. */
const PERSONS: Readonly<Record<string, string>> = {
  a: 'ada',
  b: 'ada',
  c: 'bob',
  d: 'carl',
  e: 'eve',
};
const AMPLE = { requestsPerSecond: 1_000_000, burst: 1_000_000 };

/**
 * Pages of organisations whose drawing waits for `finish`. Says whose sessions were looked up, as PostgreSQL would be asked,
 * and which pages are drawn.
 */
async function openPages(perAddress = AMPLE, { waits = false } = {}) {
  const bounds = new PageBounds(perAddress, { publicUrl: 'https://docket.example', now: () => 0 });
  const lookedUp: string[] = [];
  const drawn: string[] = [];
  const finishing: (() => void)[] = [];
  /** What the last answer with a status said of when to come again. */
  const retryAfter = new Map<number, unknown>();
  /** Clients that have left before their answer, by how the server knows. */
  let left = 0;
  /** Clients with a connection whose request is here. */
  let arrived = 0;
  const app = fastify({ trustProxy: true });
  app.setErrorHandler(sendError);
  app.addHook('onRequestAbort', (_request, done) => {
    left += 1;
    done();
  });
  bounds.limit(app);
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.raw.socket instanceof Socket) arrived += 1;
    done();
  });
  app.addHook('preHandler', async (request) => {
    const cookie = /__Secure-docket\.session_token=(\w)/.exec(request.headers.cookie ?? '')?.[1];
    if (cookie === undefined) return;
    lookedUp.push(cookie);
    bounds.meet(request, { personId: PERSONS[cookie]!, orgIds: ['ours'] });
  });
  app.get('/:org', async (request) => {
    drawn.push(request.ip);
    if (waits) await new Promise<void>((finish) => finishing.push(finish));
    return '';
  });
  const open = async (
    cookie: string,
    { address = '192.0.2.1', org = 'ours', before = 'docket_visit=x; ' } = {},
  ) => {
    const headers = {
      'x-forwarded-for': address,
      ...(cookie && { cookie: `${before}__Secure-docket.session_token=${cookie}` }),
    };
    const answer = await app.inject({ url: `/${org}`, headers });
    retryAfter.set(answer.statusCode, answer.headers['retry-after']);
    return answer.statusCode;
  };
  const openMany = async (count: number, cookie: string, where?: Parameters<typeof open>[1]) => {
    const statuses: number[] = [];
    for (let i = 0; i < count; i += 1) statuses.push(await open(cookie, where));
    return statuses;
  };
  return {
    app,
    open,
    openMany,
    lookedUp,
    drawn,
    finishing,
    retryAfter,
    arrived: () => arrived,
    left: () => left,
  };
}

const times = (count: number, status: number): number[] => Array<number>(count).fill(status);

describe('how many pages are opened', () => {
  it('a cookie of the session’s name that opens none gives its person no further pages [limits.pages]', async () => {
    const { open, openMany, lookedUp } = await openPages({ requestsPerSecond: 1, burst: 100 });
    expect(await openMany(5, 'a')).toEqual(times(5, 200));
    for (const before of ['docket.session_token=x;', 'docket.session_token=y; ', 'docket.x=1;']) {
      expect(await open('a', { before })).toBe(429);
    }
    expect(lookedUp).toHaveLength(5);
  });

  it('a person who has opened too many is refused before their session is looked up, whichever session of theirs it is; others of the address go on [limits.pages]', async () => {
    // A person has a twentieth of 100 at once.
    const { openMany, open, lookedUp } = await openPages({ requestsPerSecond: 1, burst: 100 });
    expect(await openMany(7, 'a')).toEqual([...times(5, 200), 429, 429]);
    expect(lookedUp).toHaveLength(5);
    // A session that was never seen is looked up once, and refused for its person.
    expect(await openMany(3, 'b', { address: '192.0.2.2' })).toEqual(times(3, 429));
    expect(lookedUp.slice(5)).toEqual(['b']);
    expect(await open('c')).toBe(200);
  });

  it('the pages of an organisation are counted together, and those of who is not of it are not among them [limits.pages]', async () => {
    // Here a person has five at once, an organisation and an address twenty.
    const { openMany, open } = await openPages({ requestsPerSecond: 1, burst: 100 });
    for (const [at, cookie] of ['a', 'c', 'd'].entries()) {
      const address = `192.0.2.${at}`;
      expect(await openMany(5, cookie, { address })).toEqual(times(5, 200));
      expect(await open(cookie, { address, org: 'theirs' })).toBe(429);
    }
    const strangers = await openMany(21, '', { address: '192.0.2.9' });
    expect(strangers).toEqual([...times(20, 200), 429]);
  });
});

describe('how many pages are drawn at once', () => {
  it('an address has four drawn at once and thirty-two that wait in order; more are refused, and another address does not wait [limits.pages]', async () => {
    const { open, drawn, finishing } = await openPages(AMPLE, { waits: true });
    const statuses: number[] = [];
    const all = Array.from({ length: 38 }, () => open('').then((status) => statuses.push(status)));
    while (statuses.length < 2) await turn();
    expect(statuses).toEqual([429, 429]);
    expect(drawn).toEqual(times(4, 1).map(() => '192.0.2.1'));
    const other = open('', { address: '192.0.2.2' });
    while (drawn.length < 5) await turn();
    expect(drawn.at(-1)).toBe('192.0.2.2');
    while (finishing.length > 0 || drawn.length < 37) {
      finishing.shift()?.();
      await turn();
    }
    await Promise.all([...all, other]);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([...times(36, 200), 429, 429]);
  });

  it('a person has two drawn at once, from wherever they are opened [limits.pages]', async () => {
    const { open, drawn, finishing } = await openPages(AMPLE, { waits: true });
    const first = open('a');
    while (finishing.length < 1) await turn();
    finishing.shift()!();
    await first;
    const all = Array.from({ length: 6 }, (_, at) => open('a', { address: `192.0.2.${at}` }));
    while (drawn.length < 3) await turn();
    for (let i = 0; i < 5; i += 1) await turn();
    expect(drawn).toHaveLength(3);
    while (finishing.length > 0 || drawn.length < 7) {
      finishing.shift()?.();
      await turn();
    }
    expect(await Promise.all(all)).toEqual(times(6, 200));
  });

  it('an organisation has six drawn at once, of all its persons together, and another organisation of theirs does not wait [limits.pages]', async () => {
    const { open, drawn, finishing } = await openPages(AMPLE, { waits: true });
    const persons = ['a', 'c', 'd', 'e'];
    for (const cookie of persons) {
      const known = open(cookie);
      while (finishing.length < 1) await turn();
      finishing.shift()!();
      await known;
    }
    drawn.length = 0;
    const all = persons
      .slice(0, 3)
      .flatMap((cookie, at) => [0, 1].map(() => open(cookie, { address: `192.0.2.${at}` })));
    while (drawn.length < 6) await turn();
    all.push(open('e', { address: '192.0.2.9' }));
    const elsewhere = { address: '192.0.2.9', org: 'theirs' };
    all.push(open('e', elsewhere));
    while (drawn.length < 7) await turn();
    for (let i = 0; i < 5; i += 1) await turn();
    expect(drawn).toHaveLength(7);
    finishing.shift()!();
    while (drawn.length < 8) await turn();
    for (const finish of finishing) finish();
    expect(await Promise.all(all)).toEqual(times(8, 200));
  });

  it('a client that leaves while it waits is drawn nothing, and its place goes to the one behind it [limits.pages]', async () => {
    const { app, open, drawn, finishing, arrived, left } = await openPages(AMPLE, {
      waits: true,
    });
    atFileEnd(() => app.close());
    const origin = await app.listen({ port: 0, host: '127.0.0.1' });
    const here = { address: '127.0.0.1' };
    const before = Array.from({ length: 4 }, () => open('', here));
    while (drawn.length < 4) await turn();
    const leaving = new AbortController();
    const gone = fetch(`${origin}/ours`, { signal: leaving.signal }).catch(() => 'gone');
    while (arrived() < 1) await turn();
    const behind = open('', here);
    leaving.abort();
    expect(await gone).toBe('gone');
    while (left() < 1) await turn();
    finishing.shift()!();
    while (drawn.length < 5) await turn();
    for (const finish of finishing) finish();
    expect(await Promise.all([...before, behind])).toEqual(times(5, 200));
    expect(drawn).toHaveLength(5);
    // All places are free again.
    const after = Array.from({ length: 4 }, () => open('', here));
    while (drawn.length < 9) await turn();
    for (const finish of finishing) finish();
    expect(await Promise.all(after)).toEqual(times(4, 200));
  });

  it('when 4,096 pages wait, one more is told when to come again, also from an address of which none waits [limits.pages]', async () => {
    const { open, drawn, finishing, retryAfter } = await openPages(AMPLE, { waits: true });
    // As many addresses as have all the places of pages that are drawn, and all of those that wait.
    const all = Array.from({ length: 128 * 36 }, (_, i) =>
      open('', { address: `198.51.100.${i % 128}` }),
    );
    while (drawn.length < 512) await turn();
    expect(await open('', { address: '192.0.2.1' })).toBe(503);
    expect(retryAfter.get(503)).toBe('1');
    while (finishing.length > 0 || drawn.length < all.length) {
      finishing.shift()?.();
      await turn();
    }
    expect(await Promise.all(all)).toEqual(times(all.length, 200));
    const last = open('', { address: '192.0.2.1' });
    while (finishing.length < 1) await turn();
    finishing.shift()!();
    expect(await last).toBe(200);
  });
});
