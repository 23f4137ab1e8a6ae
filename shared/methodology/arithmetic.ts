/**
 * Arithmetic that gives the same bits on every machine and engine.
 * ECMAScript leaves `Math.exp`, `Math.log` and `Math.pow` to the implementation, so they may differ in
 * the last bit between engines or versions, and a recomputed receipt would differ with them. Here only
 * + - * / and `Math.sqrt` are used, which IEEE 754 rounds exactly one way.
 */

/** ln 2 in two parts: the first has zeros in its last bits, so that k * LN2_HIGH is exact for |k| < 2^11. */
const LN2_HIGH = 6.93147180369123816e-1;
const LN2_LOW = 1.9082149292705877e-10;

/** Beyond these e^x is infinite or zero in binary64. */
const EXP_MAX = 709.78;
const EXP_MIN = -745.2;

/** 14 terms leave an error below 2^-56 for |r| <= ln(2)/2. */
const EXP_TERMS = 14;
/** 2s^23/23 is below 2^-60 for |s| <= 0.1716, which is where the reduced argument lies. */
const LN_TERMS = 23;

/** e^x. */
export function exp(x: number): number {
  if (Number.isNaN(x)) return NaN;
  if (x > EXP_MAX) return Infinity;
  if (x < EXP_MIN) return 0;
  const k = Math.round(x / (LN2_HIGH + LN2_LOW));
  const r = x - k * LN2_HIGH - k * LN2_LOW;
  let sum = 1;
  for (let i = EXP_TERMS; i > 0; i -= 1) sum = 1 + (r / i) * sum;
  return scale(sum, k);
}

/** Natural logarithm of a positive, finite x; NaN below zero, -Infinity at zero. */
export function ln(x: number): number {
  if (!(x >= 0)) return NaN;
  if (x === 0) return -Infinity;
  if (x === Infinity) return Infinity;
  let m = x;
  let k = 0;
  for (; m > Math.SQRT2; k += 1) m /= 2;
  for (; m < Math.SQRT1_2; k -= 1) m *= 2;
  const s = (m - 1) / (m + 1);
  const square = s * s;
  let sum = 0;
  for (let i = LN_TERMS; i > 0; i -= 2) sum = sum * square + 2 / i;
  return k * LN2_HIGH + (s * sum + k * LN2_LOW);
}

/** base^exponent for a base in [0, 1] and an exponent of at least 1; whole or not. */
export function power(base: number, exponent: number): number {
  return base === 0 ? 0 : exp(exponent * ln(base));
}

/** The smallest power of two that is at least `count`. */
export function powerOfTwoFrom(count: number): number {
  let n = 1;
  while (n < count) n *= 2;
  return n;
}

/** value * 2^k, exact unless it over- or underflows. */
function scale(value: number, k: number): number {
  let result = value;
  for (let i = k; i > 0; i -= 1) result *= 2;
  for (let i = k; i < 0; i += 1) result /= 2;
  return result;
}
