/**
 * Base58 in Bitcoin's alphabet: how Data Integrity writes a signature (multibase `z`). Works in groups of six digits,
 * so that every product stays exact in a double: 58^6 * 2^16 < 2^53.
 */
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const GROUP = 58 ** 6;
const PAIR = 58 * 58;

/** Two digits at a time: a table of 3,364 strings halves the work of writing a group. */
const PAIRS: readonly string[] = Array.from(
  { length: PAIR },
  (_, value) => ALPHABET.charAt(Math.floor(value / 58)) + ALPHABET.charAt(value % 58),
);

const VALUES = new Map(Array.from(ALPHABET, (digit, value) => [digit, value]));

/** Bytes as base58btc; each leading zero byte is one `1`. */
export function encodeBase58(bytes: Uint8Array): string {
  const groups: number[] = [];
  let at = 0;
  // An odd length starts with one byte alone; two at a time from there.
  if (bytes.length % 2 === 1) {
    groups.push(bytes[0]!);
    at = 1;
  }
  for (; at < bytes.length; at += 2) carryIn(groups, (bytes[at]! << 8) | bytes[at + 1]!, 65_536);
  let text = '';
  for (let i = groups.length - 1; i >= 0; i -= 1) text += groupText(groups[i]!);
  let significant = 0;
  while (text.charCodeAt(significant) === 0x31) significant += 1;
  let zeros = 0;
  while (bytes[zeros] === 0) zeros += 1;
  return '1'.repeat(zeros) + text.slice(significant);
}

/** groups = groups * factor + carry, least significant group first. */
function carryIn(groups: number[], carry: number, factor: number): void {
  for (let i = 0; i < groups.length; i += 1) {
    const value = groups[i]! * factor + carry;
    carry = Math.floor(value / GROUP);
    groups[i] = value - carry * GROUP;
  }
  if (carry > 0) groups.push(carry);
}

function groupText(group: number): string {
  const high = Math.floor(group / (PAIR * PAIR));
  const rest = group - high * PAIR * PAIR;
  const middle = Math.floor(rest / PAIR);
  return PAIRS[high]! + PAIRS[middle]! + PAIRS[rest - middle * PAIR]!;
}

/** The bytes of a base58btc text, or null when it holds another character. The work is quadratic: bound the text first. */
export function decodeBase58(text: string): Uint8Array | null {
  const bytes: number[] = [];
  for (const digit of text) {
    let carry = VALUES.get(digit);
    if (carry === undefined) return null;
    for (let i = 0; i < bytes.length; i += 1) {
      carry += bytes[i]! * 58;
      bytes[i] = carry & 255;
      carry >>= 8;
    }
    while (carry > 0) {
      bytes.push(carry & 255);
      carry >>= 8;
    }
  }
  let zeros = 0;
  while (text.charCodeAt(zeros) === 0x31) zeros += 1;
  return Uint8Array.from([...Array.from({ length: zeros }, () => 0), ...bytes.toReversed()]);
}
