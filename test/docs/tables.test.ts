import { describe, expect, it } from 'vitest';
import { PAGES_WITH_TABLES, withFreshTables } from '#dev/documentation-tables.ts';
import { readPage } from './pages.ts';

/** The formatter pads the columns of a table; what they say counts here. */
function unpadded(text: string): string {
  return text.replaceAll(/ +\|/g, ' |').replaceAll(/-{3,}/g, '---');
}

/** The first of them loads what the tables are made from, all of the methodology among it: a minute where others work beside. */
describe.each(PAGES_WITH_TABLES)('%s', { timeout: 120_000 }, (path) => {
  it('the tables say what the code says (if not: node dev/documentation-tables.ts)', () => {
    const { text } = readPage(path);
    expect(unpadded(text)).toBe(unpadded(withFreshTables(text)));
  });
});
