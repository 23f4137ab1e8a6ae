import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHECKS, CLIENTS } from '#test/languages/clients.ts';
import { snippetOf } from '#test/languages/page.ts';
import { readPage, ROOT } from './pages.ts';

const page = readPage('docs/clients.md');

describe('the page of clients', () => {
  it.each(CLIENTS)('shows of $name what was run, and its result', (client) => {
    expect(page.text).toContain(`\n${snippetOf(client)}\n`);
    const row = page.text.split('\n').find((line) => line.startsWith(`| ${client.name} `));
    expect(row).toContain(` ${client.version} `);
    // Name and version, a cell for each check, and what is outside of the first and last bar.
    expect(row?.split('|')).toHaveLength(CHECKS.length + 4);
  });

  it.each(CLIENTS.filter(({ language }) => language === 'Go'))(
    'names the version of $name that is compiled',
    ({ name, version }) => {
      const modules = readFileSync(join(ROOT, 'test/languages/go/go.mod'), 'utf8');
      expect(modules).toContain(`${name} ${version}\n`);
    },
  );
});
