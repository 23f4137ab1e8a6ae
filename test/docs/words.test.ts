import { describe, expect, it } from 'vitest';
import { sourceFiles } from '#test/architecture/source-files.ts';
import { pages, readPage } from './pages.ts';

const glossary = readPage('docs/glossary.md');
const terms = [...glossary.prose.matchAll(/^## (.+)$/gm)].map(([, term = '']) => term);

/** Each "Not: a, b." of the glossary. */
const unused = [...glossary.prose.matchAll(/\bNot: ([^.]+)\./g)].flatMap(([, words = '']) =>
  words.split(', '),
);

/** What interfaces that are not ours call their fields. */
const FOREIGN = /\bworkspace_id\b/g;

describe('the words of the glossary', () => {
  it('the words of the glossary stand in alphabetical order', () => {
    expect(terms.length).toBeGreaterThan(20);
    expect(terms).toEqual(terms.toSorted((a, b) => a.localeCompare(b, 'en')));
  });

  it('every folder of shared/ is named by a word of the glossary', () => {
    const words = new Set(terms.flatMap((term) => [term, `${term}s`]).map((w) => w.toLowerCase()));
    const paths = sourceFiles().map(({ path }) => path.split('/'));
    const subjects = new Set(paths.flatMap(([top, name]) => (top === 'shared' ? [name!] : [])));
    expect(subjects.size).toBeGreaterThan(10);
    expect([...subjects].filter((name) => !words.has(name))).toEqual([]);
  });

  it('code, SQL, JSON and pages use no synonym of a word of the glossary', () => {
    expect(unused.length).toBeGreaterThan(5);
    const texts = [
      ...sourceFiles(/\.(ts|sql|lua|py|yaml|jsonld)$/),
      ...pages().filter(({ path }) => path !== glossary.path),
    ];
    // The texts that screening looks for may use any word, and lists of names hold any name.
    const ours = texts.filter(({ path }) => !/screening|sanctions|^test\/docs\//.test(path));
    const found = unused.flatMap((word) => {
      // Also within a name: tenantId, TENANT_ID.
      const pattern = new RegExp(`(?<![a-z])${word.replaceAll(' ', '[ _-]?')}s?(?![a-z])`, 'i');
      return ours
        .filter(({ text }) => pattern.test(text.replaceAll(FOREIGN, '')))
        .map(({ path }) => `${path}: ${word}`);
    });
    expect(found).toEqual([]);
  });
});
