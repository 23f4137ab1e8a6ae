/** The longest token that is compared; names have none longer, and the bit masks below need a bound. */
export const TOKEN_LENGTH_MAX = 64;
/** Winkler (1990): a shared prefix of up to four characters raises the score by a tenth of the gap each. */
const PREFIX_MAX = 4;
const PREFIX_WEIGHT = 0.1;

// One comparison at a time runs to its end: the marks can be shared.
const marksA = new Uint8Array(TOKEN_LENGTH_MAX);
const marksB = new Uint8Array(TOKEN_LENGTH_MAX);

/**
 * Jaro-Winkler similarity of two ASCII tokens of at most 64 characters, 0..1.
 * W. E. Winkler, "String Comparator Metrics and Enhanced Decision Rules" (1990), after M. A. Jaro (1989).
 */
export function jaroWinkler(a: string, b: string): number {
  if (a === b) return 1;
  const similarity = jaro(a, b);
  let prefix = 0;
  const prefixEnd = Math.min(PREFIX_MAX, a.length, b.length);
  while (prefix < prefixEnd && a.charCodeAt(prefix) === b.charCodeAt(prefix)) prefix += 1;
  return similarity + prefix * PREFIX_WEIGHT * (1 - similarity);
}

function jaro(a: string, b: string): number {
  const reach = Math.max(0, (Math.max(a.length, b.length) >> 1) - 1);
  marksA.fill(0, 0, a.length);
  marksB.fill(0, 0, b.length);
  let matches = 0;
  for (let i = 0; i < a.length; i += 1) {
    const end = Math.min(b.length - 1, i + reach);
    for (let j = Math.max(0, i - reach); j <= end; j += 1) {
      if (marksB[j] === 0 && a.charCodeAt(i) === b.charCodeAt(j)) {
        marksA[i] = 1;
        marksB[j] = 1;
        matches += 1;
        break;
      }
    }
  }
  if (matches === 0) return 0;
  const transpositions = countOutOfOrder(a, b) / 2;
  return (matches / a.length + matches / b.length + (matches - transpositions) / matches) / 3;
}

/** Matched characters that stand in another order in the other token. */
function countOutOfOrder(a: string, b: string): number {
  let count = 0;
  let j = 0;
  for (let i = 0; i < a.length; i += 1) {
    if (marksA[i] === 0) continue;
    while (marksB[j] === 0) j += 1;
    if (a.charCodeAt(i) !== b.charCodeAt(j)) count += 1;
    j += 1;
  }
  return count;
}

/** Which letters and digits a token holds, as bits: lets most comparisons end before they begin. */
export function letterMask(token: string): number {
  let mask = 0;
  for (let i = 0; i < token.length; i += 1) {
    const code = token.charCodeAt(i);
    // Letters have a bit each, digits share the six that are left.
    mask |= 1 << (code >= 97 && code <= 122 ? code - 97 : 26 + (code % 6));
  }
  return mask;
}

/**
 * How many characters two tokens of these lengths must have in common to reach `min`. `prefix` is how
 * many they share at the start, at most. Returns more than either length when it cannot be reached.
 */
export function matchesNeeded(
  lengthA: number,
  lengthB: number,
  min: number,
  prefix: number,
): number {
  const shorter = Math.min(lengthA, lengthB);
  for (let matches = 1; matches <= shorter; matches += 1) {
    const jaroMax = (matches / lengthA + matches / lengthB + 1) / 3;
    const best = jaroMax + Math.min(prefix, PREFIX_MAX) * PREFIX_WEIGHT * (1 - jaroMax);
    // The sum is rounded; a comparison too many is harmless, one too few is not.
    if (best >= min - 1e-9) return matches;
  }
  return Number.MAX_SAFE_INTEGER;
}

/** How many different letters a token with mask `a` holds that one with mask `b` does not: none of them can match. */
export function lettersMissing(a: number, b: number): number {
  return bitCount(a & ~b);
}

function bitCount(bits: number): number {
  let value = bits - ((bits >>> 1) & 0x55555555);
  value = (value & 0x33333333) + ((value >>> 2) & 0x33333333);
  return (((value + (value >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}
