import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PAGE, receiptLifePage } from '#dev/receipt-life.ts';

it('docs/receipt-life.md is what the code issues, logs and explains today', () => {
  expect(readFileSync(PAGE, 'utf8')).toBe(receiptLifePage());
});
