import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { openStatus } from '#api/front/deps.ts';
import { statusPage } from '#api/front/status-page.ts';
import { ledgerWord, regionLines, type RegionWord, type StatusSources } from '#api/front/status.ts';
import { circuitName } from '#shared/catalogue/circuit-breaker.ts';
import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import { parseCatalogue } from '#shared/catalogue/parse.ts';
import { indexCatalogue, type RoutingIndex } from '#shared/catalogue/route-index.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';

const parse = (text: string): Catalogue =>
  parseCatalogue(Buffer.from(text), 'catalogue.yaml', {
    variable: () => undefined,
    timeoutMs: 1_000,
  }).catalogue;

/** Two public regions, one for one organisation; a public model and one for that organisation. */
function twoAndOne(): RoutingIndex {
  return indexCatalogue(
    parse(`
version: 1
regions:
  - { code: north, name: North, zone: SWE, operator: { name: o, pue: 1.1, wue: 0.1 }, capacity: 10, status: normal }
  - { code: south, name: South, zone: FRA, operator: { name: o, pue: 1.1, wue: 0.1 }, capacity: 10, status: normal }
  - { code: theirs, name: Only theirs, zone: FRA, operator: { name: o, pue: 1.1, wue: 0.1 }, capacity: 10, status: normal, organisations: [org_01JD0A9F6R4N8P1S5VZC7B2DEG] }
endpoints:
  - { name: one, adapter: openai-compatible, base_url: 'http://127.0.0.1:1/v1', regions: [north, south, theirs], timeout_ms: 1000 }
  - { name: two, adapter: openai-compatible, base_url: 'http://127.0.0.1:1/v1', regions: [south], timeout_ms: 1000 }
models:
  - { id: open, kinds: [chat], context_window: 1000, endpoints: [{ name: one, model: m }], footprint: { active_b: 8, total_b: 8 } }
  - { id: other, kinds: [chat], context_window: 1000, endpoints: [{ name: two, model: m }], footprint: { active_b: 8, total_b: 8 } }
  - { id: private, kinds: [chat], context_window: 1000, organisations: [org_01JD0A9F6R4N8P1S5VZC7B2DEG], endpoints: [{ name: one, model: m }], footprint: { active_b: 8, total_b: 8 } }
`),
  );
}

const sources = (more: Partial<StatusSources> = {}): StatusSources => ({
  index: twoAndOne(),
  health: { states: new Map(), openCircuits: new Set() },
  isServed: () => true,
  ...more,
});
const words = (more: Partial<StatusSources>): string =>
  regionLines(sources(more))
    .map(({ code, word, available, offered }) => `${code} ${word} ${available}/${offered}`)
    .join(', ');

describe('the public pages', () => {
  it('the status says in one sentence how all regions are: none, one, some, all of them [dashboard.everyone, dashboard.sentences]', () => {
    const said = (...of: readonly RegionWord[]): string => {
      const regions = of.map((word, i) => ({
        code: `r${i}`,
        name: `R${i}`,
        word,
        available: 1,
        offered: 1,
      }));
      const { text } = statusPage({ at: 0, regions, ledger: 'normal' }, 'support@docket.example');
      return /<strong\s*>([^<]*)<\/strong/.exec(text)![1]!.trim();
    };
    expect(said()).toBe('No region is open to everyone.');
    expect(said('decommissioned')).toBe('No region takes requests.');
    expect(said('degraded')).toBe('No region takes requests.');
    expect(said('normal', 'decommissioned')).toBe('Everything works.');
    expect(said('impaired')).toBe('Normal regions: 0 of 1.');
    expect(said('normal', 'impaired')).toBe('Normal regions: 1 of 2.');
    expect(said('normal', 'normal', 'degraded')).toBe('Normal regions: 2 of 3.');
  });

  it('a region is as it was set, as its circuits are, and as its workers are; what is one customer’s is not told [dashboard.everyone]', () => {
    expect(words({})).toBe('north normal 1/1, south normal 2/2');
    const states = new Map([
      ['north', 'degraded'],
      ['south', 'decommissioned'],
    ] as const);
    expect(words({ health: { states, openCircuits: new Set() } })).toBe(
      'north degraded 0/1, south decommissioned 0/2',
    );
    const openCircuits = new Set([circuitName('south', 'one'), circuitName('north', 'one')]);
    expect(words({ health: { states: new Map(), openCircuits } })).toBe(
      'north degraded 0/1, south impaired 1/2',
    );
    expect(words({ isServed: (code) => code === 'south' })).toBe(
      'north degraded 0/1, south normal 2/2',
    );
  });

  it('the ledger is behind when a receipt waits for longer than twice what is promised [dashboard.everyone]', () => {
    const waiting = receiptIdOf(newId('req'));
    expect(ledgerWord(null, Date.now())).toBe('normal');
    expect(ledgerWord(waiting, Date.now() + 15_000)).toBe('normal');
    expect(ledgerWord(waiting, Date.now() + 25_000)).toBe('behind');
  });

  it('the landing page has a curl with our address; the status asks once in five seconds, gives the notes of operators, and says when the database is away [dashboard.everyone]', async () => {
    let [now, asked, isAway] = [1_000, 0, false];
    const counting = {
      query: async () => {
        asked += 1;
        if (isAway) throw new Error('away');
        return { rows: [] };
      },
    } as unknown as Pool;
    const errors: Error[] = [];
    const status = openStatus(counting, {
      ...sources(),
      index: twoAndOne,
      health: () => ({ states: new Map(), openCircuits: new Set() }),
      notes: async () => {
        if (isAway) throw new Error('away');
        const at = Date.now();
        const said = { text: 'Slow since noon & "<b>', at };
        return new Map([
          ['north', said],
          ['theirs', { text: 'Of one customer', at }],
        ]);
      },
      history: {
        days: async () => {
          if (isAway) throw new Error('away');
          return [
            { day: '1970-01-01', component: 'region:north', found: { normal: 8, degraded: 2 } },
          ];
        },
        incidents: async () => [
          {
            id: 'inc_1',
            title: 'Slow & "<b>',
            components: ['region:north'],
            beganAt: 0,
            endedAt: null,
            words: [{ at: 500, text: 'We look at it.' }],
          },
        ],
        note: async (states) => {
          noted.push(states);
        },
      },
      onError: (error) => errors.push(error),
      now: () => now,
    });
    const noted: object[] = [];
    const app = await buildTestApp(NO_DATABASE, {
      front: {
        publicUrl: 'https://gateway.example/',
        supportEmail: 'support@docket.example',
        exampleModel: () => '"><script>',
        hasDashboard: false,
        status,
      },
    });
    const landing = await app.inject('/');
    expect(landing.payload).toContain('curl https://gateway.example/v1/chat/completions');
    expect(landing.payload).not.toContain('"><script>');
    expect(landing.payload).not.toContain('href="/dashboard"');
    expect(landing.headers['content-security-policy']).toContain("default-src 'none'");
    for (const _ of [1, 2, 3]) {
      const { payload } = await app.inject('/status');
      expect(payload).toContain('Everything works.');
      expect(payload).toContain('Slow since noon &#38; &#34;&#60;b&#62;');
      expect(payload).not.toContain('Of one customer');
    }
    expect(asked).toBe(1);
    // Of a day on which nothing was noted it is not said that nothing was wrong.
    const { payload: past } = await app.inject('/status');
    expect(past).toContain('1 Jan 1970: degraded 2 of 10 times');
    expect(past.replaceAll(/\s+/g, ' ')).toContain(
      'Days without a fault at any note: 0. With one: 1. Of which nothing was noted: 89.',
    );
    const feed = await app.inject('/status.atom');
    expect(feed.headers['content-type']).toContain('application/atom+xml');
    // What is told is in the feed as soon as on the page, also behind a cache.
    expect(feed.headers['cache-control']).toBe('public, max-age=5');
    expect(feed.payload).toContain('<title>Slow &#38; &#34;&#60;b&#62;</title>');
    expect(feed.payload).toContain('<updated>1970-01-01T00:00:00.500Z</updated>');
    await status.note();
    expect(noted).toEqual([
      { ledger: 'normal', 'region:north': 'normal', 'region:south': 'normal' },
    ]);
    [now, isAway] = [100_000, true];
    expect((await app.inject('/status.atom')).statusCode).toBe(503);
    await status.note();
    expect(noted).toHaveLength(1);
    errors.length = 0;
    asked = 1;
    [now, isAway] = [200_000, true];
    const { statusCode, payload } = await app.inject('/status');
    expect([statusCode, asked, errors.length]).toEqual([200, 2, 3]);
    expect(payload).toContain('the database does not answer');
    // Nor is a database that is away asked by each who looks.
    await Promise.all([app.inject('/status'), app.inject('/status.atom')]);
    await app.inject('/status');
    expect(errors).toHaveLength(3);
    expect(payload).not.toContain('Only theirs');
    const [, css] = /href="(\/assets\/style\.css\?v=\w+)"/.exec(payload)!;
    expect((await app.inject(css!)).headers['cache-control']).toContain('immutable');
  });

  it('a browser is shown a page with the way home where nothing is; programs, and all below /v1, get the envelope [dashboard.everyone, errors.envelope]', async () => {
    const app = await buildTestApp(NO_DATABASE);
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    const ask = (
      url: string,
      headers: Record<string, string> = { accept },
      method = 'GET' as 'GET' | 'POST',
    ) => app.inject({ method, url, headers });
    for (const url of ['/nope', '/v10', '/contexts/none', `/receipts/${'x'.repeat(600)}`]) {
      const page = await ask(url);
      expect([url, page.statusCode]).toEqual([url, 404]);
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(page.headers['content-security-policy']).toContain("script-src 'self'");
      expect(page.payload).toContain('<h1>There is no such page</h1>');
      expect(page.payload).toContain('<a class="button primary" href="/">');
      expect(page.payload).toContain(page.headers['x-request-id']);
    }
    for (const reply of [
      await ask('/nope', {}),
      await ask('/nope', { accept: '*/*' }),
      await ask('/nope', { accept, authorization: 'Bearer dkt_x' }),
      await ask('/nope', { accept }, 'POST'),
      await ask('/v1/nope'),
      await ask('/v1?x'),
    ]) {
      expect(reply.statusCode).toBe(404);
      expect(reply.json().error.code).toBe('route_not_found');
    }
  });
});
