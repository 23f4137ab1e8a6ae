import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { checkDeclaration } from '#shared/accounts/checks.ts';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import { declaration } from '#test/support/accounts.ts';

/** SHA-256 of what was published; a new version is added here, and none is changed. */
const PUBLISHED = {
  '2026-11': 'dc27b04f800c4e541795ab04e0b4248537f3e6e0fa6f2c31708359f6cb9016b4',
};

describe('the use-of-service declaration', () => {
  it('is answered throughout with the same answer by an applicant who has nothing to declare [accounts.declaration]', () => {
    const sides = new Set(STATEMENTS[DECLARATION_VERSION]!.map(({ expected }) => expected));
    expect(sides.size).toBe(1);
  });

  it('has versions that never change, so that a declaration is read as it was given [accounts.declaration]', () => {
    const digests = Object.entries(STATEMENTS).map(([version, statements]) => [
      version,
      createHash('sha256').update(JSON.stringify(statements)).digest('hex'),
    ]);
    expect(Object.fromEntries(digests)).toEqual(PUBLISHED);
    for (const [version, statements] of Object.entries(STATEMENTS)) {
      const answers = Object.fromEntries(statements.map(({ id, expected }) => [id, expected]));
      expect(checkDeclaration(declaration({ version, statements: answers }))).toMatchObject({
        version,
        statements: answers,
      });
    }
  });
});
