import { describe, expect, it } from 'vitest';
import type { ApiDocument } from '#api/docs/document-shape.ts';
import { CODES } from '#shared/kernel/error-codes.ts';
import { ApiDescription } from '#test/support/api-description.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';

const app = await buildTestApp(NO_DATABASE);
const api = new ApiDescription((await app.inject('/openapi.json')).json<ApiDocument>());
const { payload: text, headers } = await app.inject('/docs');

describe('the page at /docs', () => {
  it('the page at /docs runs no script but its own, loads nothing from elsewhere, and says so in its policy', async () => {
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(text).not.toMatch(/<script(?! (?:type="module" )?src="\/)|\sstyle=|\son\w+=/);
    const loaded = [...text.matchAll(/(?:src|<link[^>]* href)="(?!#)([^"]+)"/g)].map(
      ([, url]) => url,
    );
    const types: string[] = [];
    for (const url of loaded) {
      const file = await app.inject(url!);
      types.push(`${file.statusCode} ${file.headers['content-type']}`);
    }
    expect(types.toSorted()).toEqual([
      '200 image/svg+xml; charset=utf-8',
      '200 text/css; charset=utf-8',
      '200 text/css; charset=utf-8',
      '200 text/javascript; charset=utf-8',
      '200 text/javascript; charset=utf-8',
      '200 text/javascript; charset=utf-8',
    ]);
    for (const none of ['/docs/nothing.js', '/docs/page.ts', '/docs/..%2fpage.ts']) {
      expect((await app.inject(none)).statusCode).toBe(404);
    }
  });

  it('the page at /docs is within the budget of a page, as a browser has it sent [dashboard.budget]', async () => {
    const asked = { 'accept-encoding': 'gzip, deflate, br, zstd' };
    const sent = await app.inject({ url: '/docs', headers: asked });
    expect(sent.rawPayload.length).toBeLessThanOrEqual(60_000);
  });

  it('the page at /docs has every operation, and no link that leads nowhere', () => {
    const ids = [...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
    for (const { operation } of api.operations) expect(ids).toContain(operation.operationId);
  });

  it('the reference of errors has every code that can be answered, what to do about it, and addresses that exist [docs.errors]', () => {
    const paths = new Set(api.operations.map(({ method, path }) => `${method} ${path}`));
    for (const [code, { status, advice }] of Object.entries(CODES)) {
      const id = `id="error-${code.replaceAll('_', '-')}"`;
      const entry = text.slice(text.indexOf(id)).split('</tr>')[0]!;
      expect(entry, code).toContain(`<span class="status">${status}</span>`);
      expect(entry, code).toMatch(/retry[^]*<strong>What to do:<\/strong> \S+/);
      for (const [, method, path] of advice.matchAll(/`(GET|POST) (\/[^`]*)`/g)) {
        expect(paths, code).toContain(`${method!.toLowerCase()} ${path}`);
      }
    }
  });
});
