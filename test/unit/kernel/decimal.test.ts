import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DecimalSum,
  parseDecimal,
  SIGNIFICANT_DIGITS,
  toDecimalString,
  toExactDecimalString,
  toSignificant,
} from '#shared/kernel/decimal.ts';
import { forAll } from '#test/support/for-all.ts';

const finite = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ min: 1e-29, max: 1e29, noNaN: true }),
  fc.integer({ min: -29, max: 29 }).map((exponent) => Number(`1e${exponent}`)),
);

describe('decimal strings', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [1, '1'],
    [1e21, '1000000000000000000000'],
    [1.5e-7, '0.00000015'],
    [0.1 + 0.2, '0.3'],
    [123_456_789_012_345, '123456789012000'],
    [99.9999999999999, '100'],
    [-2.5e-9, '-0.0000000025'],
    [1.23456789012e-5, '0.0000123456789012'],
  ])('%d is %s', (value, text) => {
    expect(toDecimalString(value)).toBe(text);
  });

  it('read back as the value at 12 significant digits, and are stable', () => {
    forAll([finite], (value) => {
      const text = toDecimalString(value);
      expect(Number(text)).toBe(toSignificant(value));
      expect(toDecimalString(Number(text))).toBe(text);
      expect(text).toMatch(/^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
      expect(Number(value.toPrecision(SIGNIFICANT_DIGITS))).toBe(Number(text));
    });
  });

  it('of inputs lose nothing', () => {
    forAll([finite], (value) => {
      expect(parseDecimal(toExactDecimalString(value))).toBe(value + 0);
    });
  });

  it('of results are the exact ones of the value rounded, however large or small it is', () => {
    forAll(
      // Below the smallest normal number twelve digits are more than there are.
      [finite.filter((value) => value === 0 || Math.abs(value) >= 2.3e-308)],
      (value) => {
        expect(toDecimalString(value)).toBe(toExactDecimalString(toSignificant(value)));
      },
    );
  });

  it('do not exist for what is no number', () => {
    for (const value of [Number.NaN, Infinity, -Infinity]) {
      expect(() => toDecimalString(value)).toThrow(RangeError);
      expect(() => toExactDecimalString(value)).toThrow(RangeError);
    }
  });

  it.each(['', '-0', '01', '1.', '1.0', '.5', '+1', '1e3', ' 1', '0x1', 'NaN'])(
    '%j is none',
    (text) => {
      expect(parseDecimal(text)).toBeUndefined();
    },
  );
});

/** Decimals as receipts write them, and longer ones than any receipt has. */
const anyDecimal = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.nat(45))
  .map(([digits, places]) => {
    const text = digits.toString().padStart(places + 1, '0');
    return places === 0 ? text : `${text.slice(0, -places)}.${text.slice(-places)}`;
  });

/** The same numbers as one integer, in units of 10^-50. */
const exactly = (texts: readonly string[]): bigint =>
  texts.reduce((sum, text) => {
    const [whole = '0', fraction = ''] = text.split('.');
    return sum + BigInt(whole + fraction.padEnd(50, '0'));
  }, 0n);

const sumOf = (texts: readonly string[]): DecimalSum => {
  const sum = new DecimalSum();
  for (const text of texts) sum.add(text);
  return sum;
};

describe('a sum of decimals', () => {
  it('a sum is exact, of any values', () => {
    forAll([fc.array(anyDecimal, { maxLength: 60 })], (texts) => {
      expect(exactly([sumOf(texts).toString()])).toBe(exactly(texts));
    });
  });

  it('is the same in parts and in any order', () => {
    forAll([fc.array(anyDecimal), fc.array(anyDecimal)], (some, others) => {
      const parts = sumOf(some);
      parts.merge(structuredClone(sumOf(others).parts()));
      expect(parts.toString()).toBe(sumOf([...others, ...some].toReversed()).toString());
    });
  });

  it('does not lose the small beside the large, as floating point does', () => {
    const sum = sumOf(['100000000000', '0.00000000000136058706949', '0.1', '0.2']);
    expect(sum.toString()).toBe('100000000000.30000000000136058706949');
  });

  it('carries over what no longer fits a double', () => {
    const sum = new DecimalSum();
    for (let i = 0; i < 30_000; i += 1) sum.add('999999999999.999');
    expect(sum.toString()).toBe('29999999999999970');
  });

  it.each(['', '-1', '1e5', '.5', '1.', '01', '0x1', ' 1', 'NaN', '1,5'])(
    '%j is refused',
    (text) => {
      expect(() => sumOf([text])).toThrow(RangeError);
    },
  );

  it('of nothing is 0', () => {
    expect(sumOf([]).toString()).toBe('0');
    expect(sumOf(['0', '0.000']).toString()).toBe('0');
  });
});
