import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exp, ln, power, powerOfTwoFrom } from '#shared/methodology/arithmetic.ts';
import { canonicalJson, type Json } from '#shared/methodology/canonical-json.ts';
import {
  parseDecimal,
  SIGNIFICANT_DIGITS,
  toDecimalString,
  toExactDecimalString,
  toSignificant,
} from '#shared/methodology/decimal.ts';
import { decimalText } from '#shared/receipts/decimal.ts';

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
/** Two units in the last place. */
const CLOSE = 4.5e-16;

describe('own arithmetic', () => {
  it('gives e^x within two units in the last place', () => {
    fc.assert(
      fc.property(fc.double({ min: -700, max: 709, noNaN: true }), (x) => {
        expect(Math.abs(exp(x) / Math.exp(x) - 1)).toBeLessThanOrEqual(CLOSE);
      }),
    );
  });

  it('gives ln x within two units in the last place', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-300, max: 1e300, noNaN: true }), (x) => {
        const error = Math.abs(ln(x) - Math.log(x));
        expect(error).toBeLessThanOrEqual(CLOSE * Math.max(1, Math.abs(Math.log(x))));
      }),
    );
  });

  it('has the ends that mathematics gives it', () => {
    expect([exp(0), exp(1000), exp(-1000), exp(-Infinity), exp(Infinity)]).toEqual([
      1,
      Infinity,
      0,
      0,
      Infinity,
    ]);
    expect([ln(1), ln(0), ln(Infinity)]).toEqual([0, -Infinity, Infinity]);
    expect([ln(-1), ln(Number.NaN), exp(Number.NaN)]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    expect([power(0, 64), power(1, 64)]).toEqual([0, 1]);
  });

  it('gives these very bits on every engine', () => {
    const bits = (value: number): string =>
      Buffer.from(new Float64Array([value]).buffer).toString('hex');
    expect([exp(1), exp(-0.717178945637067), ln(1.6), ln(2.3), power(0.83, 64)].map(bits))
      .toMatchInlineSnapshot(`
      [
        "6a57148b0abf0540",
        "96684e7e7a3ddf3f",
        "cf26271a8a14de3f",
        "697b710831a7ea3f",
        "7eb2111d76c6db3e",
      ]
    `);
  });

  it('finds the power of two from a count on', () => {
    expect([0, 1, 2, 3, 8, 9, 11].map(powerOfTwoFrom)).toEqual([1, 1, 2, 4, 8, 16, 16]);
  });
});

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
    fc.assert(
      fc.property(finite, (value) => {
        const text = toDecimalString(value);
        expect(Number(text)).toBe(toSignificant(value));
        expect(toDecimalString(Number(text))).toBe(text);
        expect(text).toMatch(/^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
        expect(Number(value.toPrecision(SIGNIFICANT_DIGITS))).toBe(Number(text));
      }),
    );
  });

  it('of inputs lose nothing', () => {
    fc.assert(
      fc.property(finite, (value) => {
        expect(parseDecimal(toExactDecimalString(value))).toBe(value + 0);
      }),
    );
  });

  it('are those that a receipt writes', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-29, max: 1e29, noNaN: true }), (value) => {
        expect(decimalText(toSignificant(value), 'x')).toBe(toDecimalString(value));
      }),
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

describe('canonical JSON', () => {
  it('is that of an independent library, for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(value as Json)).toBe(canonicalize(value));
      }),
    );
  });

  it('refuses what has none', () => {
    for (const value of [Number.NaN, Infinity, '\uD800', undefined, () => 1, { a: undefined }]) {
      expect(() => canonicalJson(value as Json)).toThrow(TypeError);
    }
  });
});
