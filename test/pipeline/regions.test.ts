import fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCircuitBoard } from '#shared/catalogue/redis/circuits.ts';
import { chatBody, codeOf, payloadsIn, post, upstreamCalls } from '#test/support/calls.ts';
import { writeTwoRegions } from '#test/support/catalogues.ts';
import { runs } from '#test/support/depth.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { connectTo } from '#test/support/lanes.ts';
import type { Receipt } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

let system: System;
let catalogue: string;

beforeAll(async () => {
  catalogue = writeTwoRegions();
  system = await startSystem({ env: { CATALOGUE: catalogue } });
});

const ask = (rest: object = {}) =>
  post(system, '/chat/completions', chatBody({ model: 'everywhere', ...rest }));
const statusOf = async (rest: object = {}): Promise<number> => {
  const response = await ask(rest);
  await response.arrayBuffer();
  return response.status;
};
/** A region is healthy again once a pinned request is answered. */
const healthy = (region: string) =>
  until(async () => (await statusOf({ region })) === 200, `${region} is healthy again`);

describe('a region whose circuit is open', () => {
  /** What becomes of requests for the region that are sent to an api process at the same time. */
  const askAtOnce = (baseUrl: string, requests: number): Promise<string[]> =>
    Promise.all(
      Array.from({ length: requests }, async () => {
        const body = chatBody({ model: 'everywhere', region: 'north' });
        const answer = await post(system, '/chat/completions', body, { baseUrl });
        return answer.status === 200 ? 'answered' : String(await codeOf(answer));
      }),
    );

  it('a region whose circuit is open lets one request through when its trial is due, and all of them after its success [codes.region_degraded, survives.region]', async () => {
    const client = connectTo(system.redis.url);
    // Another worker, for which every call to the only endpoint of the region has failed.
    const board = createCircuitBoard(client, 'inference-elsewhere');
    let trial = false;
    const say = (): Promise<void> =>
      board.publish([{ region: 'north', endpoint: 'north-1', open: true, trial }]);
    await say();
    const saying = setInterval(() => void say(), 500);
    try {
      // It knows of the circuit from its start: an answer would speak against the other worker for seconds.
      const api = await system.start('api');
      const baseUrl = `http://127.0.0.1:${api.port}/v1`;
      expect(await askAtOnce(baseUrl, 4)).toEqual(
        Array.from({ length: 4 }, () => 'region_degraded'),
      );

      trial = true;
      await say();
      let tried: string[] = [];
      await until(async () => {
        tried = await askAtOnce(baseUrl, 8);
        return tried.includes('answered');
      }, 'a request is let through');
      expect(tried.toSorted()).toEqual([
        'answered',
        ...Array.from({ length: 7 }, () => 'region_degraded'),
      ]);

      await until(
        async () => (await askAtOnce(baseUrl, 8)).every((became) => became === 'answered'),
        'the region is open to all',
      );
      expect(await api.stop()).toBe(0);
    } finally {
      clearInterval(saying);
      await board.publish([]);
    }
    await until(
      async () => (await askAtOnce(system.baseUrl, 8)).every((became) => became === 'answered'),
      'no process believes the other worker any more',
    );
  });
});

describe('a request that its region has failed', () => {
  /** A model with one endpoint in each region. */
  const model = 'in-both';
  const askIn = (rest: object) => ask({ model, ...rest });
  /** How often west is asked for each way to fail before another region is. */
  const WAYS = [
    ['an answer with a failure', 'status=500', 2, false],
    ['connections that break', 'cut=reset', 4, false],
    ['silence', 'stall=60000', 1, false],
    ['a failure before the first byte of a stream', 'status=503', 2, true],
    ['an error in the first frame of a stream', 'error-first', 2, true],
  ] as const;
  const fault = (id: string, how: string, times: number) => ({
    sandbox_fault: `${how}; fail-first=${times}; id=${id}`,
  });
  const regionsAsked = async (id: string): Promise<string[]> =>
    (await upstreamCalls(system, id)).map(({ model: named }) => named!.split('-')[0]!).toReversed();
  const inTurn = (times: number) => [...Array.from({ length: times }, () => 'west'), 'north'];
  /** Its circuits forget what has failed. */
  beforeEach(() =>
    until(async () => (await statusOf({ model, region: 'west' })) === 200, 'west-1 answers'),
  );

  it.each(WAYS)(
    'goes to another region when it is not pinned, and its receipt names that one: %s [operations.region-failover]',
    async (what, how, times, stream) => {
      const id = `moves-${what}`;
      const response = await askIn({ stream, ...fault(id, how, times) });
      const text = await response.text();
      expect(await regionsAsked(id)).toEqual(inTurn(times));
      expect([response.status, response.headers.get('x-region')]).toEqual([200, 'north']);
      const carrier = stream ? payloadsIn(text).at(-2)! : text;
      const { receipt } = JSON.parse(carrier) as { receipt: Receipt };
      expect(receipt.credentialSubject).toMatchObject({
        region: 'north',
        gridZone: 'SWE',
        attempts: times + 1,
        outcome: 'complete',
      });
    },
  );

  it('stays where it is pinned, by the body and by the header [operations.region-failover, operations.region]', async () => {
    const inBody = await askIn({ region: 'west', ...fault('stays', 'status=500', 2) });
    expect([inBody.status, await codeOf(inBody)]).toEqual([502, 'upstream_error']);
    const body = chatBody({ model, ...fault('stays-too', 'status=500', 2) });
    const headers = { 'x-region': 'west' };
    const inHeader = await post(system, '/chat/completions', body, { headers });
    expect([inHeader.status, await codeOf(inHeader)]).toEqual([502, 'upstream_error']);
    for (const id of ['stays', 'stays-too'])
      expect(await regionsAsked(id)).toEqual(['west', 'west']);
  });

  it('keeps its Idempotency-Key, its one charge and its body, however large [operations.region-failover, idempotency.once]', async () => {
    const headers = { 'idempotency-key': 'one that moves' };
    const large = 'Tell me about the lighthouse. '.repeat(12_000);
    const body = chatBody({
      model,
      metadata: { large },
      ...fault('moves-once', 'status=500', 2),
    });
    const answers = await Promise.all(
      [1, 2].map(() => post(system, '/chat/completions', body, { headers })),
    );
    const texts = await Promise.all(answers.map((response) => response.text()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(texts[1]).toBe(texts[0]);
    const again = await post(system, '/chat/completions', body, { headers });
    expect([await again.text(), again.headers.get('x-region')]).toEqual([texts[0], 'north']);
    expect(await regionsAsked('moves-once')).toEqual(inTurn(2));
    // Of three requests one has run: the day is charged once.
    const days = [...answers, again].map((response) =>
      response.headers.get('x-ratelimit-remaining-requests-day'),
    );
    expect(new Set(days).size).toBe(1);
  });

  it('fails when no region is left, and is stopped where it is now when its client leaves [operations.region-failover]', async () => {
    const none = await askIn({ sandbox_fault: 'status=500; id=nowhere' });
    expect([none.status, await codeOf(none)]).toEqual([502, 'upstream_error']);
    expect(await regionsAsked('nowhere')).toEqual(['west', 'west', 'north', 'north']);
    const leaving = new AbortController();
    const id = 'moves-and-is-left';
    const sandbox_fault = `status=503; fail-first=2; id=${id}; pace=2`;
    const body = chatBody({ model, stream: true, max_tokens: 100, sandbox_fault });
    const { signal } = leaving;
    const response = await post(system, '/chat/completions', body, { signal });
    expect(response.headers.get('x-region')).toBe('north');
    leaving.abort();
    await until(async () => (await upstreamCalls(system, id))[0]?.state === 'aborted');
  });
});

describe('a pinned request', () => {
  // Mostly one failure before success, so that circuits stay closed and many calls are made.
  const anyFault = fc.oneof(
    { weight: 3, arbitrary: fc.constant('') },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        'status=503; fail-first=1',
        'status=429; fail-first=2',
        'error-first; fail-first=1',
        'cut=reset; fail-first=1',
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'status=500',
        'cut=close; cut-after=1',
        'malformed-after=0',
        'error-first',
      ),
    },
  );
  const call = fc.record({
    region: fc.constantFrom('west', 'north'),
    stream: fc.boolean(),
    fault: anyFault,
  });
  let made = 0;

  it('a pinned request never leaves its region, under retry, failover or error [operations.region, survives.region]', async () => {
    let answered = 0;
    let called = 0;
    await forAllAsync(
      [fc.array(call, { minLength: 2, maxLength: 8 })],
      { numRuns: runs(12, 4) },
      async (calls) => {
        await Promise.all(
          calls.map(async ({ region, stream, fault }) => {
            made += 1;
            const id = `pin-${made}`;
            const response = await ask({ region, stream, sandbox_fault: `id=${id}; ${fault}` });
            const text = await response.text();
            if (response.status === 200) {
              answered += 1;
              expect(response.headers.get('x-region')).toBe(region);
              const carrier = stream ? (payloadsIn(text).at(-2) ?? '{}') : text;
              const { receipt } = JSON.parse(carrier) as { receipt?: Receipt };
              if (receipt !== undefined) expect(receipt.credentialSubject.region).toBe(region);
            }
            for (const { model } of await upstreamCalls(system, id)) {
              called += 1;
              expect(model).toMatch(new RegExp(`^${region}-`));
            }
          }),
        );
      },
    );
    expect(answered).toBeGreaterThan(5);
    expect(called).toBeGreaterThan(answered);
  });
});

/** Has every endpoint of the region fail until the api process that is asked knows. */
const degradeWest = () =>
  until(async () => {
    const response = await ask({ region: 'west', sandbox_fault: 'status=503' });
    expect([502, 503]).toContain(response.status);
    return (await codeOf(response)) === 'region_degraded';
  }, 'the region is degraded');

describe('a region whose every endpoint fails', () => {
  afterEach(() => healthy('west'));

  it('a region whose every endpoint fails is degraded for pinned requests, left out by default routing, and heals by itself [codes.region_degraded, survives.region]', async () => {
    await healthy('west');
    await until(async () => {
      // On a slow machine it may have healed before the next look: then it must fail anew, as often as at first.
      await degradeWest();
      const response = await ask();
      await response.arrayBuffer();
      return response.headers.get('x-region') === 'north' && response.status === 200;
    }, 'default routing goes around it');
    const refused = await ask({ region: 'west' });
    if (refused.status === 503) {
      expect(refused.headers.get('x-should-retry')).toBe('true');
      expect(Number(refused.headers.get('retry-after-ms'))).toBeGreaterThan(0);
      expect(await codeOf(refused)).toBe('region_degraded');
    }
    await healthy('west');
    // The request that tried it may be answered before every process has heard that it did.
    await until(async () => {
      const again = await ask();
      await again.arrayBuffer();
      return again.headers.get('x-region') === 'west';
    }, 'default routing comes back');
  });
});

describe('a region in incident mode', () => {
  const set = async (status: string): Promise<void> => {
    const { code, stderr } = await runDocket(['regions', 'set', 'west', status], {
      CATALOGUE: catalogue,
      SANDBOX_URL: `${system.sandboxUrl}/v1`,
      REDIS_URL: system.redis.url,
      DATABASE_URL: system.database.url,
    });
    expect(stderr).toBe('');
    expect(code).toBe(0);
  };

  it('a region in incident mode is refused to pinned requests and left out by default, until operators set it back [codes.region_degraded]', async () => {
    await set('degraded');
    await until(async () => (await statusOf({ region: 'west' })) === 503);
    const pinned = await ask({ region: 'west' });
    expect(pinned.headers.get('x-should-retry')).toBe('true');
    expect(await pinned.json()).toMatchObject({
      error: { type: 'region_unavailable', code: 'region_degraded', param: null },
    });
    const open = await ask();
    expect(open.headers.get('x-region')).toBe('north');
    await open.arrayBuffer();
    await set('decommissioned');
    await until(
      async () => (await codeOf(await ask({ region: 'west' }))) === 'region_decommissioned',
    );
    const gone = await ask({ region: 'west' });
    expect(gone.headers.get('x-should-retry')).toBe('false');
    expect(gone.headers.has('retry-after')).toBe(false);
    await set('normal');
    await healthy('west');
  });
});

describe('a region that is full', () => {
  it('a full region is saturated for a pinned request and passed over by default routing [codes.region_saturated]', async () => {
    const held = new AbortController();
    const occupying = post(
      system,
      '/chat/completions',
      chatBody({ model: 'crowded', region: 'tiny', sandbox_fault: 'id=hold; stall=60000' }),
      { signal: held.signal },
    ).catch(() => null);
    await until(async () => (await upstreamCalls(system, 'hold')).length === 1);
    const pinned = await ask({ model: 'crowded', region: 'tiny' });
    expect(pinned.status).toBe(503);
    expect(pinned.headers.get('retry-after')).toBe('1');
    expect(await codeOf(pinned)).toBe('region_saturated');
    const open = await ask({ model: 'crowded' });
    expect(open.status).toBe(200);
    expect(open.headers.get('x-region')).toBe('north');
    await open.arrayBuffer();
    held.abort();
    await occupying;
    await until(async () => (await statusOf({ model: 'crowded', region: 'tiny' })) === 200);
  });
});
