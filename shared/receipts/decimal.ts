import { SIGNIFICANT_DIGITS } from '#shared/methodology/decimal.ts';
import { ReceiptRefusal } from './refusal.ts';

/** No footprint of one request is below 1e-30 or above 1e30 in any unit used here; outside is a bug, not a result. */
const EXPONENT_MAX = 30;

/**
 * A number as a plain decimal (`xsd:decimal`): 12 significant digits, no exponent, no trailing zeros. `3.2e-7` is
 * `0.00000032`. The spelling is that of the methodology's `toDecimalString` (a test holds them together); a receipt
 * has fifteen of them on the path of every answer, and this one takes a quarter of the time.
 * @throws ReceiptRefusal `wrong_value` for what is not finite, is negative, or lies outside 1e-30..1e30.
 */
export function decimalText(value: number, path: string): string {
  if (value === 0) return '0';
  if (!(value > 0 && value < Infinity)) {
    throw new ReceiptRefusal('wrong_value', path, 'a quantity must be a finite number, at least 0');
  }
  const scientific = value.toExponential(SIGNIFICANT_DIGITS - 1);
  const exponent = Number(scientific.slice(SIGNIFICANT_DIGITS + 2));
  if (exponent > EXPONENT_MAX || exponent < -EXPONENT_MAX) {
    throw new ReceiptRefusal('wrong_value', path, 'a quantity must lie between 1e-30 and 1e30');
  }
  let used = SIGNIFICANT_DIGITS + 1;
  while (scientific.charCodeAt(used - 1) === ZERO) used -= 1;
  const digits = scientific.charAt(0) + scientific.slice(2, used);
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return digits + '0'.repeat(exponent + 1 - digits.length);
  return `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

const ZERO = 0x30;
