import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DecimalSum } from '#shared/packs/decimal-sum.ts';

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
  it('is exact, whatever there is to add', () => {
    fc.assert(
      fc.property(fc.array(anyDecimal, { maxLength: 60 }), (texts) => {
        expect(exactly([sumOf(texts).toString()])).toBe(exactly(texts));
      }),
    );
  });

  it('is the same in parts and in any order', () => {
    fc.assert(
      fc.property(fc.array(anyDecimal), fc.array(anyDecimal), (some, others) => {
        const parts = sumOf(some);
        parts.merge(structuredClone(sumOf(others).parts()));
        expect(parts.toString()).toBe(sumOf([...others, ...some].toReversed()).toString());
      }),
    );
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
