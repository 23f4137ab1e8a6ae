import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { readGuideFiles } from '#api/docs/guides/files.ts';
import { guidesOf } from '#api/docs/guides/guides.ts';
import { markdown } from '#api/docs/page/markdown.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { pages } from '#test/docs/pages.ts';

const app = await buildTestApp(NO_DATABASE);
const guides = guidesOf(readGuideFiles());
const texts = new Map<string, string>();
const BYTES_MAX = 60 * 1_024;

beforeAll(async () => {
  for (const { address } of guides.all.values())
    texts.set(address, (await app.inject(address)).payload);
  texts.set('/docs', (await app.inject('/docs')).payload);
});

const idsOf = (text: string): Set<string> =>
  new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!));

describe('the guides', () => {
  it('the guides are every page of docs/, below the policy of /docs, sent once, within the budget of a page [docs.guides]', async () => {
    const served = [...guides.all.keys()];
    const written = pages().map(({ path }) => path);
    expect(written.filter((path) => path.startsWith('docs/') && !served.includes(path))).toEqual(
      [],
    );
    expect(new Set(texts.keys()).size).toBe(served.length + 1);
    const policy = (await app.inject('/docs')).headers['content-security-policy'];
    const { headers } = await app.inject('/docs/guides/receipts');
    expect(headers['content-security-policy']).toBe(policy);
    const again = { 'if-none-match': String(headers.etag) };
    const known = await app.inject({ url: '/docs/guides/receipts', headers: again });
    expect(known.statusCode).toBe(304);
    const large = [...texts].filter(([address, text]) => {
      return address !== '/docs' && gzipSync(text).length > BYTES_MAX;
    });
    expect(large.map(([address]) => address)).toEqual([]);
    for (const none of ['nothing', '..%2f..%2fpackage.json', 'readme.md', 'docs/receipts'])
      expect((await app.inject(`/docs/guides/${none}`)).statusCode, none).toBe(404);
  });

  it('no link, picture or result of the search leads nowhere, and none into the source tree [docs.guides]', async () => {
    const dead: string[] = [];
    const check = async (from: string, target: string): Promise<void> => {
      const [address = '', anchor] = target.split('#');
      const page = texts.get(address === '' ? from : address);
      if (page === undefined) {
        if (!target.startsWith('/') || (await app.inject(target)).statusCode >= 400)
          dead.push(`${from}: ${target}`);
      } else if (anchor !== undefined && !idsOf(page).has(anchor)) dead.push(`${from}: ${target}`);
    };
    for (const [from, text] of texts) {
      const targets = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, target]) => target!);
      for (const target of new Set(targets)) {
        if (
          !/^(https?:\/\/|mailto:|\/(dashboard|verify|status|assets)?\b)/.test(target) ||
          texts.has(target.split('#')[0]!)
        )
          await check(from, target);
      }
    }
    const [, index] = /data-index="([^"]+)"/.exec(texts.get('/docs')!)!;
    const entries = (await app.inject(index!)).json<{ a: string; k: string }[]>();
    expect(entries.filter(({ k }) => k === 'guide').length).toBeGreaterThan(guides.all.size);
    for (const { a } of entries) await check('/docs', a.startsWith('/') ? a : `#${a}`);
    expect(dead).toEqual([]);
  });

  it('of a page’s source nothing becomes HTML but what the page’s elements are: other HTML is text, and a script’s address is no link [docs.guides]', () => {
    const source = [
      '<script>alert(1)</script>',
      'A <b onclick="x()">word</b> <img src=x onerror=alert(1)>, [a](javascript:alert(1)), ![p](x" onerror="y)',
      '[q]("onmouseover="alert(1)) `<i>` | <!-- a -->',
      '```"><svg onload=x>',
      '<b>',
      '```',
      '# <i>&lt;title&gt;</i> "quoted"',
    ].join('\n\n');
    const { text } = markdown(source);
    const tags = new Set([...text.matchAll(/<\/?([a-z0-9]+)[^>]*>/g)].map(([tag]) => tag));
    expect([...tags].toSorted()).toMatchInlineSnapshot(`
        [
          "</button>",
          "</code>",
          "</div>",
          "</h1>",
          "</p>",
          "</pre>",
          "<button class="copy" type="button" data-copy hidden>",
          "<code>",
          "<div class="code">",
          "<h1 id="ilttitlegti-quoted">",
          "<p>",
          "<pre tabindex="0">",
        ]
      `);
    expect(text).not.toMatch(/href="(?!#)/);
  });
});
