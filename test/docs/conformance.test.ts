import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONFORMANCE_PAGE, conformancePage, SECTIONS } from '#dev/conformance.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { STABLE_CODES } from '#shared/kernel/errors.ts';
import { ROOT } from './pages.ts';

const proofs = SECTIONS.flatMap(({ rows }) => rows).flatMap(({ rule, proof }) =>
  Object.entries(proof).flatMap(([file, titles]) =>
    titles.map((title) => ({ rule, file: `test/${file}.test.ts`, title })),
  ),
);

/** A title as it stands in the source: between its quotes, each of them escaped or not. */
function hasTest(file: string, title: string): boolean {
  const path = join(ROOT, file);
  if (!existsSync(path)) return false;
  const source = readFileSync(path, 'utf8').replaceAll(/\\(['"`])/g, '$1');
  return ["'", '"', '`'].some((quote) => source.includes(`${quote}${title}${quote}`));
}

describe('docs/conformance.md', () => {
  it('is what the registry says (if not: node dev/conformance.ts)', () => {
    expect(readFileSync(CONFORMANCE_PAGE, 'utf8')).toBe(conformancePage());
  });

  it('names a test for every rule, and only tests that exist', () => {
    const unproven = SECTIONS.flatMap(({ rows }) => rows)
      .filter(({ proof }) => Object.values(proof).flat().length === 0)
      .map(({ rule }) => rule);
    expect(unproven).toEqual([]);
    expect(proofs.filter(({ file, title }) => !hasTest(file, title))).toEqual([]);
  });

  it('has a rule for every code and every scope', () => {
    const rules = SECTIONS.flatMap(({ rows }) => rows).map(({ rule }) => rule);
    const named = new Set(
      rules.flatMap((rule) => [...rule.matchAll(/`([^`]+)`/g)].map(([, span]) => span)),
    );
    expect([...STABLE_CODES, ...SCOPES].filter((name) => !named.has(name))).toEqual([]);
  });
});
