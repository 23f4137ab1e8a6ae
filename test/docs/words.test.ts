import { describe, expect, it } from 'vitest';
import { sourceFiles } from '#test/architecture/source-files.ts';
import { readPage } from './pages.ts';

const glossary = readPage('docs/glossary.md');

/** Each "Not: a, b." of the glossary. */
const unused = [...glossary.prose.matchAll(/\bNot: ([^.]+)\./g)].flatMap(([, words = '']) =>
  words.split(', '),
);

describe('the words of the glossary', () => {
  it('the words of the glossary stand in alphabetical order', () => {
    const terms = [...glossary.prose.matchAll(/^## (.+)$/gm)].map(([, term = '']) => term);
    expect(terms.length).toBeGreaterThan(20);
    expect(terms).toEqual(terms.toSorted((a, b) => a.localeCompare(b, 'en')));
  });

  it('the code uses no synonym of a word of the glossary', () => {
    expect(unused.length).toBeGreaterThan(5);
    // The texts that screening looks for may use any word.
    const ours = sourceFiles().filter(
      ({ path }) => !/screening|sanctions|^test\/docs\//.test(path),
    );
    const found = unused.flatMap((word) => {
      // Also within a name: tenantId, TENANT_ID.
      const pattern = new RegExp(`(?<![a-z])${word.replaceAll(' ', '[ _-]?')}s?(?![a-z])`, 'i');
      return ours.filter(({ text }) => pattern.test(text)).map(({ path }) => `${path}: ${word}`);
    });
    expect(found).toEqual([]);
  });
});
