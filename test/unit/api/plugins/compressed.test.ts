import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { compressPages, CompressedText, takes } from '#api/plugins/compressed.ts';

describe('a compressed text', () => {
  it.each([
    ['gzip', true],
    ['deflate, GZIP;q=0.5, br', true],
    ['*', true],
    ['gzip;q=0', false],
    ['*, gzip;q=0.0', false],
    ['br', false],
    [`gzip${', br'.repeat(4_000)}`, false],
    ['', false],
    [undefined, false],
  ])('is taken or not by who accepts %s', (accepted, taken) => {
    expect(takes(accepted, 'gzip')).toBe(taken);
  });

  it('comes smaller to who takes it, is the same text for all, and caches keep the two apart', async () => {
    const text = 'ä line\n'.repeat(1_000);
    const compressed = await CompressedText.of(text);
    const app = fastify();
    app.get('/', (request, reply) => compressed.send(request, reply.type('text/plain')));
    const plain = await app.inject('/');
    const small = await app.inject({ url: '/', headers: { 'accept-encoding': 'gzip' } });
    const smallest = await app.inject({ url: '/', headers: { 'accept-encoding': 'gzip, br' } });
    expect(plain.payload).toBe(text);
    expect(gunzipSync(small.rawPayload).toString()).toBe(text);
    expect(brotliDecompressSync(smallest.rawPayload).toString()).toBe(text);
    expect(small.rawPayload.length).toBeLessThan(text.length / 10);
    expect(smallest.rawPayload.length).toBeLessThan(small.rawPayload.length);
    expect(
      [plain, small, smallest].map(({ headers }) => [headers['content-encoding'], headers.vary]),
    ).toEqual([
      [undefined, 'accept-encoding'],
      ['gzip', 'accept-encoding'],
      ['br', 'accept-encoding'],
    ]);
  });

  it('is not sent again to who has it, whichever way it came', async () => {
    const compressed = await CompressedText.of('a text');
    const app = fastify();
    app.get('/', (request, reply) => compressed.send(request, reply.type('text/plain')));
    const first = await app.inject({ url: '/', headers: { 'accept-encoding': 'gzip' } });
    const ask = async (known: string) => {
      const answer = await app.inject({ url: '/', headers: { 'if-none-match': known } });
      return [answer.statusCode, answer.payload];
    };
    const etag = String(first.headers.etag);
    expect(await ask(`"other", ${etag}`)).toEqual([304, '']);
    expect(await ask(etag.replace('W/', ''))).toEqual([304, '']);
    expect(await ask('"other"')).toEqual([200, 'a text']);
  });
});

describe('a page', () => {
  const PAGE = '<p>A page of one person.</p>'.repeat(200);
  const GZIP = { 'accept-encoding': 'gzip, deflate, br' };
  async function ask(of: 'one person' | 'everyone', headers: Record<string, string>) {
    const app = fastify();
    compressPages(app, { of });
    app.get('/', (_request, reply) => reply.type('text/html').send(PAGE));
    app.get('/short', (_request, reply) => reply.type('text/html').send('<p>Short'));
    app.get('/bytes', (_request, reply) => reply.send(Buffer.from(PAGE)));
    const [page, head, short, bytes] = await Promise.all([
      app.inject({ url: '/', headers }),
      app.inject({ url: '/', method: 'HEAD', headers }),
      app.inject({ url: '/short', headers }),
      app.inject({ url: '/bytes', headers }),
    ]);
    const coded = page.headers['content-encoding'];
    const text = coded === 'gzip' ? gunzipSync(page.rawPayload).toString() : page.payload;
    // What is told of a page is true of what comes.
    expect(Number(page.headers['content-length'])).toBe(page.rawPayload.length);
    expect(head.headers['content-encoding']).toBe(coded);
    expect(page.headers.vary).toBe('accept-encoding');
    expect(text).toBe(PAGE);
    expect(short.headers['content-encoding']).toBeUndefined();
    expect(bytes.headers['content-encoding']).toBeUndefined();
    return coded;
  }

  it.each([
    ['same-origin', 'document', 'gzip'],
    ['none', 'document', 'gzip'],
    ['same-origin', 'empty', undefined],
    ['same-origin', undefined, undefined],
    ['cross-site', 'document', undefined],
    ['same-site', 'document', undefined],
    ['same-origin, none', 'document', undefined],
    [undefined, undefined, undefined],
  ])(
    'of one person is compressed where our page or the person had it opened, and never where another site or a script may have: %s, %s [dashboard.compressed]',
    async (site, dest, coded) => {
      const by = site === undefined ? {} : { 'sec-fetch-site': site };
      const to = dest === undefined ? {} : { 'sec-fetch-dest': dest };
      expect(await ask('one person', { ...GZIP, ...by, ...to })).toBe(coded);
    },
  );

  it('of everyone has no secrets, and is compressed for who takes that [dashboard.budget]', async () => {
    expect(await ask('everyone', { ...GZIP, 'sec-fetch-site': 'cross-site' })).toBe('gzip');
    expect(await ask('everyone', { 'accept-encoding': 'br' })).toBeUndefined();
  });
});
