import { crc32 } from 'node:zlib';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { slidingCrc32 } from '#shared/keys/sliding-crc32.ts';
import {
  displayOf,
  generateKey,
  hashKey,
  holdsWholeKey,
  isWellFormedKey,
  KEY_LENGTH,
  withoutKeys,
} from '#shared/keys/format.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { forAll } from '#test/support/for-all.ts';

const key = fc
  .uint8Array({ minLength: 64, maxLength: 64 })
  .map((bytes) => generateKey(bytesThen(bytes)));

/** Gives the drawn bytes first and others when they run out. */
function bytesThen(drawn: Uint8Array): (size: number) => Uint8Array {
  let used = 0;
  return (size) => {
    const part = drawn.subarray(used, used + size);
    used += size;
    return part.length === size ? part : Buffer.alloc(size, used % 248);
  };
}

describe('the CRC-32 of a key', () => {
  it('is the same at each place of a text, however few steps it is made by', () => {
    const text = fc.string({ unit: 'grapheme-ascii', maxLength: 60 });
    forAll([text, text, fc.nat(40)], (prefix, ascii, length) => {
      const crcs = [...slidingCrc32(prefix, length)(ascii)];
      const count = Math.max(0, ascii.length - length + 1);
      expect(crcs).toEqual(
        Array.from({ length: count }, (_, at) => crc32(prefix + ascii.slice(at, at + length))),
      );
    });
  });
});

describe('an API key', () => {
  it('is dkt_, 32 base62 characters and 6 of checksum', () => {
    forAll([key], (text) => {
      expect(text).toMatch(/^dkt_[0-9A-Za-z]{38}$/);
      expect(text).toHaveLength(KEY_LENGTH);
      expect(isWellFormedKey(text)).toBe(true);
    });
  });

  it('with any one character changed is refused without a look-up [accounts.checksum]', () => {
    const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    forAll([key, fc.nat(KEY_LENGTH - 1), fc.nat(61)], (text, at, digit) => {
      const other = text.slice(0, at) + base62.charAt(digit) + text.slice(at + 1);
      expect(isWellFormedKey(other)).toBe(other === text);
    });
  });

  it('with two neighbours swapped is refused', () => {
    forAll([key, fc.nat(KEY_LENGTH - 2)], (text, at) => {
      const swapped = text.slice(0, at) + text[at + 1]! + text[at]! + text.slice(at + 2);
      expect(isWellFormedKey(swapped)).toBe(swapped === text);
    });
  });

  it('is told from any other text', () => {
    forAll([fc.string({ unit: anyCharacter, maxLength: 60 })], (text) => !isWellFormedKey(text));
    for (const text of ['', 'dkt_', `dkt_${'0'.repeat(38)}`, `DKT_${'0'.repeat(38)}`]) {
      expect(isWellFormedKey(text)).toBe(false);
    }
  });

  it('uses every character equally: bytes from 248 on are drawn again', () => {
    const high = new Uint8Array(64).fill(255);
    expect(generateKey(bytesThen(high))).not.toContain('7777777777');
    const counts = new Map<string, number>();
    for (let i = 0; i < 2_000; i += 1) {
      for (const character of generateKey(randomBytes).slice(4, 36)) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    expect(counts.size).toBe(62);
    // 64,000 draws over 62 characters: 1,032 expected, six standard deviations are 192.
    for (const count of counts.values()) expect(Math.abs(count - 1_032)).toBeLessThan(192);
  });

  it('shows its first 8 and last 4 characters, and its hash is SHA-256', () => {
    const text = generateKey(randomBytes);
    expect(displayOf(text)).toEqual({ head: text.slice(0, 8), tail: text.slice(-4) });
    expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});

/** What `work` gives, and how many characters of texts it has looked at one by one. */
function countingCharacters<T>(work: () => T): { given: T; calls: number } {
  const spy = vi.spyOn(String.prototype, 'charCodeAt');
  try {
    const given = work();
    return { given, calls: spy.mock.calls.length };
  } finally {
    spy.mockRestore();
  }
}

describe('a text that holds a key', () => {
  const between = fc.constantFrom('', ' ', '\n', '\u200b', '\u00ad', '-', ' … ', '“');

  it('loses all but its first characters, with anything between or before them', () => {
    forAll([key, between, fc.boolean(), fc.nat({ max: 37 })], (whole, gap, prefixed, at) => {
      const secret = whole.slice(4);
      const ways = [secret.slice(0, at) + gap + secret.slice(at), secret.split('').join(gap)];
      for (const way of ways) {
        const typed = `found ${prefixed ? 'dkt_' : ''}${way}, in a log.`;
        const kept = withoutKeys(typed).replaceAll(/[^0-9A-Za-z]/g, '');
        expect(kept).toBe(`found${prefixed ? 'dkt' : ''}${secret.slice(0, 4)}inalog`);
        expect(holdsWholeKey(typed)).toBe(true);
      }
    });
  });

  it('loses what was typed of a key that is cut, mistyped or in capitals, also with characters that show nothing', () => {
    for (const started of ['dkt_abcdefgh', 'DKT_abcdEFGH', 'd\u200bkt_ab\u200bcdef\u200bgh'])
      expect(withoutKeys(`It is ${started}.`)).toMatch(/^It is \S{8,10}\.$/);
  });

  it('is looked through at a cost that grows with its length alone, also where each character could begin a key', () => {
    // Any could: the checksum that would be there is compared with what stands there.
    const flood = '0'.repeat(16_000);
    const { given, calls } = countingCharacters(() => withoutKeys(flood));
    expect(given).toBe(flood);
    expect(calls).toBeLessThan(10 * flood.length);
    const whole = generateKey(randomBytes);
    const many = `${whole} `.repeat(300);
    const kept = countingCharacters(() => withoutKeys(many));
    expect(kept.given).toBe(`${whole.slice(0, 8)} `.repeat(300));
    expect(kept.calls).toBeLessThan(10 * many.length);
  });

  it('keeps every word where no key stands, the first characters of one too', () => {
    const text =
      'dkt_abcd was found in the log of the build by the one who wrote it, and is revoked.';
    expect(withoutKeys(text)).toBe(text);
    expect(holdsWholeKey(text)).toBe(false);
  });
});
