import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readPage, ROOT } from './pages.ts';

/** True when `part` is an excerpt of `whole`: fields and elements may be left out, a text may end in `…`. */
function isExcerpt(part: unknown, whole: unknown): boolean {
  if (typeof part === 'string' && part.endsWith('…')) {
    return typeof whole === 'string' && whole.startsWith(part.slice(0, -1));
  }
  if (Array.isArray(part)) {
    return (
      Array.isArray(whole) && part.every((each) => whole.some((other) => isExcerpt(each, other)))
    );
  }
  if (typeof part === 'object' && part !== null) {
    const fields = (whole ?? {}) as Record<string, unknown>;
    return Object.entries(part).every(([key, value]) => isExcerpt(value, fields[key]));
  }
  return part === whole;
}

it('the receipt that the README shows is an excerpt of a real one', () => {
  const [fence] = readPage('README.md').fences.filter(({ language }) => language === 'jsonc');
  const json = (fence?.text ?? '').replaceAll(/\/\/.*$/gm, (comment, at: number, text: string) =>
    // An address has two slashes as well.
    text[at - 1] === ':' ? comment : '',
  );
  const shown = JSON.parse(json.replaceAll(/,(\s*[}\]])/g, '$1')) as { receipt: object };
  const real: unknown = JSON.parse(
    readFileSync(join(ROOT, 'test/vectors/receipt/receipt.json'), 'utf8'),
  );
  expect(Object.keys(shown.receipt).length).toBeGreaterThan(4);
  expect(isExcerpt(shown.receipt, real)).toBe(true);
});
