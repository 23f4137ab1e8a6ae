/** A mantissa below this can be added in a double without losing a digit; larger ones go through big integers. */
const EXACT_DIGITS = 15;
const EXACT_MAX = Number.MAX_SAFE_INTEGER - 10 ** EXACT_DIGITS;

const DECIMAL = /^(?:0|[1-9]\d*)(?:\.(\d+))?$/;

/** A sum in progress as plain data, which can be handed to another thread: fraction digits → sum of mantissas. */
export type DecimalParts = ReadonlyMap<number, bigint>;

/**
 * The exact sum of decimals as receipts write them. Numbers with equally many fraction digits are added as integers,
 * which is exact; nothing is rounded, whatever the order.
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
