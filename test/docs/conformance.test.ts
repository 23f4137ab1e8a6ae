import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONFORMANCE_PAGE, readProofs, readRules, withProofs } from '#dev/conformance.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { STABLE_CODES } from '#shared/kernel/errors.ts';

const page = readFileSync(CONFORMANCE_PAGE, 'utf8');
const rules = readRules(page);
const proofs = readProofs();
const ids = rules.map(({ id }) => id);

describe('docs/conformance.md', () => {
  it('names the tests of today (if not: node dev/conformance.ts)', () => {
    expect(page).toBe(withProofs(page, proofs));
  });

  it('has at least one test for every rule, and each id once', () => {
    const proven = new Set(proofs.flatMap((proof) => proof.rules));
    expect(ids.filter((id) => !proven.has(id))).toEqual([]);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('has the rule that a test says it proves', () => {
    const unknown = proofs.flatMap(({ file, title, rules: named }) =>
      named.filter((id) => !ids.includes(id)).map((id) => `${file}: ${title}: ${id}`),
    );
    expect(unknown).toEqual([]);
  });

  it('has a rule for every error code and every scope', () => {
    const named = new Set(
      rules.flatMap(({ sentence }) => [...sentence.matchAll(/`([^`]+)`/g)].map(([, span]) => span)),
    );
    expect([...STABLE_CODES, ...SCOPES].filter((name) => !named.has(name))).toEqual([]);
  });
});
