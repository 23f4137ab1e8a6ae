import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exp, ln, power, powerOfTwoFrom } from '#shared/methodology/arithmetic.ts';
import { forAll } from '#test/support/for-all.ts';

/** Two units in the last place. */
const CLOSE = 4.5e-16;

describe('own arithmetic', () => {
  it('gives e^x within two units in the last place', () => {
    forAll([fc.double({ min: -700, max: 709, noNaN: true })], (x) => {
      expect(Math.abs(exp(x) / Math.exp(x) - 1)).toBeLessThanOrEqual(CLOSE);
    });
  });

  it('gives ln x within two units in the last place', () => {
    forAll([fc.double({ min: 1e-300, max: 1e300, noNaN: true })], (x) => {
      const error = Math.abs(ln(x) - Math.log(x));
      expect(error).toBeLessThanOrEqual(CLOSE * Math.max(1, Math.abs(Math.log(x))));
    });
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
