import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONFORMANCE_PAGE, readProofs, readRules, withProofs } from '#dev/conformance.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { STABLE_CODES } from '#shared/kernel/error-codes.ts';

const page = readFileSync(CONFORMANCE_PAGE, 'utf8');
const rules = readRules(page);
const proofs = readProofs();
const ids = rules.map(({ id }) => id);

describe('docs/conformance.md', () => {
  it('docs/conformance.md names the tests as they are (if not: node dev/conformance.ts)', () => {
    expect(page).toBe(withProofs(page, proofs));
  });

  it('every rule has a test, and an id of its own', () => {
    const proven = new Set(proofs.flatMap((proof) => proof.rules));
    expect(ids.filter((id) => !proven.has(id))).toEqual([]);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('every rule that a test names is on the page', () => {
    const unknown = proofs.flatMap(({ file, title, rules: named }) =>
      named.filter((id) => !ids.includes(id)).map((id) => `${file}: ${title}: ${id}`),
    );
    expect(unknown).toEqual([]);
  });

  it('every error code and every scope has a rule', () => {
    const named = new Set(
      rules.flatMap(({ sentence }) => [...sentence.matchAll(/`([^`]+)`/g)].map(([, span]) => span)),
    );
    expect([...STABLE_CODES, ...SCOPES].filter((name) => !named.has(name))).toEqual([]);
  });
});
