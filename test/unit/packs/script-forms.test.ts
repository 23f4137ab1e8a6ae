import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { withTables } from '#dev/verifier-forms.ts';

it('the script in a pack knows the forms of receipts and seals, and what was released, as they are (if not: node dev/verifier-forms.ts)', () => {
  const path = new URL('../../../shared/packs/files/verify.py', import.meta.url);
  const script = readFileSync(path, 'utf8');
  expect(script).toBe(withTables(script));
});
