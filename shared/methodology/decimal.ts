/** How many significant digits a result carries: enough for any use, few enough that the last bit never shows. */
export const SIGNIFICANT_DIGITS = 12;

/** Rounds to 12 significant digits, ties away from zero (`Number.prototype.toPrecision`). Zero has no sign. */
export function toSignificant(value: number): number {
  return Number(value.toPrecision(SIGNIFICANT_DIGITS)) + 0;
}

/**
 * The decimal string of a result, as it stands on a receipt: rounded to 12 significant digits, plain
 * notation (never an exponent), no trailing zeros after the point, no point without digits after it,
 * one zero before the point of a fraction, `-` only before a number below zero, and `0` for zero.
 * `toDecimalString(Number(toDecimalString(x)))` is the same string. Throws RangeError when not finite.
 */
export function toDecimalString(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`not a finite number: ${value}`);
  return plain(value.toPrecision(SIGNIFICANT_DIGITS));
}

/**
 * The shortest decimal string that reads back as exactly `value`, in the same plain notation.
 * For inputs, which must not lose a bit. Throws RangeError when not finite.
 */
export function toExactDecimalString(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`not a finite number: ${value}`);
  return plain(String(value));
}

/** A plain decimal: the only spelling that `toDecimalString` and `toExactDecimalString` write. */
const PLAIN = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?$/;

/** Reads a decimal string written here; undefined when it is spelt in another way. */
export function parseDecimal(text: string): number | undefined {
  return PLAIN.test(text) && text !== '-0' ? Number(text) : undefined;
}

/** Spells out an exponent and drops zeros that say nothing. */
function plain(text: string): string {
  const negative = text.startsWith('-');
  const [mantissa = '', exponent = '0'] = (negative ? text.slice(1) : text).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const at = Math.max(point, 1);
  const integer = padded.slice(0, at).replace(/^0+(?=\d)/, '');
  const rest = padded.slice(at).replace(/0+$/, '');
  const result = rest === '' ? integer : `${integer}.${rest}`;
  return negative && result !== '0' ? `-${result}` : result;
}
