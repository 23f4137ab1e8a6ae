import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHECKS, type Client, CLIENTS } from '#lab/languages/clients.ts';
import { snippetOf } from '#lab/languages/page.ts';
import { readPage, ROOT } from './pages.ts';

const page = readPage('docs/libraries.md');

/** Where a language's own tool reads versions from, and how. */
const PINNED: Partial<Record<string, { file: string; line: (client: Client) => string }>> = {
  Go: { file: 'go/go.mod', line: ({ name, version }) => `\t${name} ${version}\n` },
  Rust: {
    file: 'rust/Cargo.toml',
    line: ({ name, version }) => `${name} = { version = "=${version}"`,
  },
};

describe('the page of client libraries', () => {
  it.each(CLIENTS)('shows of $name what was run, and its result', (client) => {
    expect(page.text).toContain(`\n${snippetOf(client)}\n`);
    const row = page.text.split('\n').find((line) => line.startsWith(`| ${client.name} `));
    expect(row).toContain(` ${client.version} `);
    // Name and version, a cell for each check, and what is outside of the first and last bar.
    expect(row?.split('|')).toHaveLength(CHECKS.length + 4);
  });

  it.each(CLIENTS.filter(({ language }) => language in PINNED))(
    'names the version of $name that is compiled',
    (client) => {
      const { file, line } = PINNED[client.language]!;
      const pinned = readFileSync(join(ROOT, 'lab/languages', file), 'utf8');
      expect(pinned).toContain(`\n${line(client)}`);
    },
  );
});
