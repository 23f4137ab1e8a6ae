import { gunzipSync } from 'node:zlib';
import { fastify } from 'fastify';
import { describe, expect, it } from 'vitest';
import { CompressedText, takesGzip } from '#api/docs/compressed.ts';

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
    expect(takesGzip(accepted)).toBe(taken);
  });

  it('comes smaller to who takes it, is the same text for all, and caches keep the two apart', async () => {
    const text = 'ä line\n'.repeat(1_000);
    const compressed = await CompressedText.of(text);
    const app = fastify();
    app.get('/', (request, reply) => compressed.send(request, reply.type('text/plain')));
    const plain = await app.inject('/');
    const small = await app.inject({ url: '/', headers: { 'accept-encoding': 'gzip, br' } });
    expect(plain.payload).toBe(text);
    expect(gunzipSync(small.rawPayload).toString()).toBe(text);
    expect(small.rawPayload.length).toBeLessThan(text.length / 10);
    expect(
      [plain, small].map(({ headers }) => [headers['content-encoding'], headers.vary]),
    ).toEqual([
      [undefined, 'accept-encoding'],
      ['gzip', 'accept-encoding'],
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
