/** Significant digits of a result: enough for any use, few enough that the last bit never shows. */
export const SIGNIFICANT_DIGITS = 12;

/** Rounds to 12 significant digits, ties away from zero (`Number.prototype.toPrecision`). Zero has no sign. */
export function toSignificant(value: number): number {
  return Number(value.toPrecision(SIGNIFICANT_DIGITS)) + 0;
}

const ZERO = 0x30;

/**
 * The decimal string of a result, as it stands on a receipt (`xsd:decimal`): rounded to 12 significant digits, plain
 * notation (never an exponent), no trailing zeros after the point, no point without digits after it,
 * one zero before the point of a fraction, `-` only before a number below zero, and `0` for zero.
 * `toDecimalString(Number(toDecimalString(x)))` is the same string. A receipt has fifteen of them on the path of every
 * answer, hence no regular expressions here. Throws RangeError when not finite.
 */
export function toDecimalString(value: number): string {
  if (value === 0) return '0';
  if (!Number.isFinite(value)) throw new RangeError(`not a finite number: ${value}`);
  if (value < 0) return `-${toDecimalString(-value)}`;
  const scientific = value.toExponential(SIGNIFICANT_DIGITS - 1);
  const exponent = Number(scientific.slice(SIGNIFICANT_DIGITS + 2));
  let used = SIGNIFICANT_DIGITS + 1;
  while (scientific.charCodeAt(used - 1) === ZERO) used -= 1;
  const digits = scientific.charAt(0) + scientific.slice(2, used);
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return digits + '0'.repeat(exponent + 1 - digits.length);
  return `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

/**
 * The shortest decimal string that reads back as exactly `value`, in the same plain notation.
 * For inputs, which must not lose a bit. Throws RangeError when not finite.
 */
export function toExactDecimalString(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`not a finite number: ${value}`);
  const text = String(value);
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

/** The only spelling that `toDecimalString` and `toExactDecimalString` write. */
const WRITTEN_HERE = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?$/;

/** Reads a decimal string written here; undefined when it is spelt in another way. */
export function parseDecimal(text: string): number | undefined {
  return WRITTEN_HERE.test(text) && text !== '-0' ? Number(text) : undefined;
}

/** A plain decimal, at least 0, as a regular expression; what others write may end in zeros. Group 1 is the fraction. */
export const DECIMAL_PATTERN = '^(?:0|[1-9][0-9]*)(?:\\.([0-9]+))?$';
const DECIMAL = new RegExp(DECIMAL_PATTERN);

/** Whether a text is a plain decimal, which a sum takes. */
export function isDecimal(text: unknown): text is string {
  return typeof text === 'string' && DECIMAL.test(text);
}

/**
 * The one spelling of a decimal on signed documents: that which `toDecimalString` writes of a number from 0, and which the
 * sum of such numbers has. Figures have twelve digits at most 30 places from the point; sums of a log have fewer than 48.
 */
export const WRITTEN_DECIMAL_PATTERN = '^(?:0|[1-9][0-9]{0,47})(?:\\.[0-9]{0,47}[1-9])?$';
const WRITTEN_DECIMAL = new RegExp(WRITTEN_DECIMAL_PATTERN);

/** Whether a value is a decimal as signed documents spell it. */
export function isWrittenDecimal(value: unknown): value is string {
  return typeof value === 'string' && WRITTEN_DECIMAL.test(value);
}

/** Which of two decimals of signed documents is the larger, exactly: below, at or above zero as `Array.sort` takes it. */
export function compareDecimals(one: string, other: string): number {
  const [whole = '', fraction = ''] = one.split('.');
  const [otherWhole = '', otherFraction = ''] = other.split('.');
  if (whole.length !== otherWhole.length) return whole.length - otherWhole.length;
  if (whole !== otherWhole) return whole < otherWhole ? -1 : 1;
  // Neither ends in a zero, so the longer of two that begin alike is the larger.
  if (fraction === otherFraction) return 0;
  return fraction < otherFraction ? -1 : 1;
}

/** A mantissa below this can be added in a double without losing a digit; larger ones go through big integers. */
const EXACT_DIGITS = 15;
const EXACT_MAX = Number.MAX_SAFE_INTEGER - 10 ** EXACT_DIGITS;

/** A sum in progress as plain data, which can be handed to another thread: fraction digits → sum of mantissas. */
export type DecimalParts = ReadonlyMap<number, bigint>;

/**
 * The exact sum of decimals as receipts write them. Numbers with equally many fraction digits are added as integers,
 * which is exact; nothing is rounded, in any order.
 */
export class DecimalSum {
  /** By number of fraction digits: what was carried over, and what still fits a double. */
  readonly #carried = new Map<number, bigint>();
  readonly #small = new Map<number, number>();

  /** @param text a plain decimal, `0.00031`; throws RangeError for anything else */
  add(text: string): void {
    const match = DECIMAL.exec(text);
    if (match === null) throw new RangeError('not a plain decimal');
    const places = match[1]?.length ?? 0;
    const digits = places === 0 ? text : text.slice(0, -places - 1) + match[1]!;
    // Zeros in front do not count: 0.000000123 is 123.
    const mantissa = Number(digits);
    if (mantissa >= 10 ** EXACT_DIGITS) return this.#carry(places, BigInt(digits));
    const sum = (this.#small.get(places) ?? 0) + mantissa;
    if (sum <= EXACT_MAX) {
      this.#small.set(places, sum);
    } else {
      this.#small.set(places, 0);
      this.#carry(places, BigInt(sum));
    }
  }

  /** Adds the exact product of two such decimals. */
  addProduct(one: string, other: string): void {
    const factors = [one, other].map((text) => {
      const match = DECIMAL.exec(text);
      if (match === null) throw new RangeError('not a plain decimal');
      return { places: match[1]?.length ?? 0, digits: BigInt(text.replace('.', '')) };
    });
    const [{ places, digits }, by] = factors as [(typeof factors)[0], (typeof factors)[0]];
    this.#carry(places + by.places, digits * by.digits);
  }

  merge(parts: DecimalParts): void {
    for (const [places, sum] of parts) this.#carry(places, sum);
  }

  parts(): DecimalParts {
    const parts = new Map(this.#carried);
    for (const [places, sum] of this.#small) {
      parts.set(places, (parts.get(places) ?? 0n) + BigInt(sum));
    }
    return parts;
  }

  /** The sum as a plain decimal without trailing zeros. */
  toString(): string {
    const parts = this.parts();
    const places = Math.max(0, ...parts.keys());
    let total = 0n;
    for (const [each, sum] of parts) total += sum * 10n ** BigInt(places - each);
    const digits = total.toString().padStart(places + 1, '0');
    if (places === 0) return digits;
    const fraction = digits.slice(-places).replace(/0+$/, '');
    const whole = digits.slice(0, -places);
    return fraction === '' ? whole : `${whole}.${fraction}`;
  }

  #carry(places: number, sum: bigint): void {
    this.#carried.set(places, (this.#carried.get(places) ?? 0n) + sum);
  }
}
