import { describe, expect, it } from 'vitest';
import { digestOfText } from '#shared/kernel/canonical-json.ts';
import { FROZEN_METHODOLOGIES } from '#shared/methodology/frozen.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';

const app = await buildTestApp(NO_DATABASE);

describe.each(['', '/v1'])('methodologies at %j, without a key', (prefix) => {
  it('methodologies are listed with the digests that receipts cite', async () => {
    const reply = await app.inject(`${prefix}/methodologies`);
    expect(reply.statusCode).toBe(200);
    expect(reply.headers['access-control-allow-origin']).toBe('*');
    const { data } = reply.json<{ data: { id: string; version: string; digest: string }[] }>();
    expect(data.map(({ id, version, digest }) => ({ id, version, digest }))).toEqual(
      FROZEN_METHODOLOGIES.map(({ id, version, digest }) => ({ id, version, digest })),
    );
  });

  it.each(FROZEN_METHODOLOGIES)(
    'the document of $id $version is the exact bytes of its digest, for ever',
    async (one) => {
      const url = `${prefix}/methodologies/${one.id}/${one.version}`;
      const reply = await app.inject(url);
      expect(reply.statusCode).toBe(200);
      expect(digestOfText(reply.payload)).toBe(one.digest);
      expect(reply.headers).toMatchObject({
        etag: `"${one.digest}"`,
        'cache-control': expect.stringContaining('immutable') as string,
        'content-type': 'application/json; charset=utf-8',
      });
      for (const known of [`"${one.digest}"`, `W/"${one.digest}"`, `"x", "${one.digest}"`, '*']) {
        const again = await app.inject({ url, headers: { 'if-none-match': known } });
        expect(again).toMatchObject({ statusCode: 304, payload: '' });
      }
      const changed = await app.inject({ url, headers: { 'if-none-match': '"x"' } });
      expect(changed.statusCode).toBe(200);
    },
  );

  it.each(['docket-1/9.9.9', 'nothing/1.0.0', '__proto__/constructor'])(
    'GET /methodologies 404 for %s',
    async (path) => {
      const reply = await app.inject(`${prefix}/methodologies/${path}`);
      expect(reply.statusCode).toBe(404);
      expect(reply.json()).toMatchObject({ error: { code: 'methodology_not_found' } });
    },
  );
});
