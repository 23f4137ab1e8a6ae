import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { forAll } from '#test/support/for-all.ts';

describe('canonical JSON', () => {
  it('is that of an independent library, for any JSON', () => {
    forAll([fc.jsonValue()], (value) => {
      expect(canonicalJson(value)).toBe(canonicalize(value));
    });
  });

  it('refuses what has none', () => {
    for (const value of [Number.NaN, Infinity, undefined, () => 1, { a: undefined }]) {
      expect(() => canonicalJson(value)).toThrow(TypeError);
    }
    for (const value of ['\uD800', { '\uD800': 1 }]) {
      expect(() => canonicalJson(value)).toThrow(
        expect.objectContaining({ code: 'lone_surrogate' }),
      );
    }
  });
});
