import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  digestBytesIn,
  digestIn,
  MULTIHASH_PATTERN,
  multihashOf,
  multihashOfContent,
} from '#shared/kernel/multihash.ts';
import { forAll } from '#test/support/for-all.ts';

describe('multihashes', () => {
  it('give back the digest that they were made of, and have the form that is documented', () => {
    forAll([fc.uint8Array({ maxLength: 100 })], (content) => {
      const digest = hash('sha256', content, 'base64url');
      const text = multihashOf(digest);
      expect(text).toBe(multihashOfContent(content));
      expect(text).toMatch(new RegExp(MULTIHASH_PATTERN));
      expect(digestIn(text)).toBe(digest);
      expect(digestBytesIn(text)).toEqual(Uint8Array.from(hash('sha256', content, 'buffer')));
    });
  });

  it('have no second spelling: a last character with bits to spare is refused', () => {
    const form = new RegExp(MULTIHASH_PATTERN);
    const text = multihashOfContent(Buffer.from('x'));
    for (const last of 'BCDEFGHIJKLMNOPRSTUVWXYZabcdefhijklmnopqrstuvxyz0123456789-_') {
      expect(text.slice(0, -1) + last).not.toMatch(form);
    }
  });

  it.each(['', 'AAAA', '!'.repeat(43), 'A'.repeat(44)])('%j is no digest', (digest) => {
    expect(() => multihashOf(digest, 'at')).toThrow(
      expect.objectContaining({ code: 'wrong_value', path: 'at' }),
    );
  });
});
