/** Ids: a prefix, `_`, and a ULID (48 bits of time, 80 random, Crockford base 32), so ids sort by time. */
const ID_PREFIXES = [
  'org',
  'key',
  'req',
  'rcpt',
  'exp',
  'msr',
  'aud',
  'scr',
  'rev',
  'usr',
  'bgt',
  'whe',
  'msg',
  'evt',
  'inc',
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];
export type Id<P extends IdPrefix> = `${P}_${string}`;

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Encodes a ULID from epoch milliseconds (below 2^48) and at least 10 random bytes. */
export function encodeUlid(timeMs: number, random: Uint8Array): string {
  let time = '';
  let rest = timeMs;
  for (let i = 0; i < 10; i += 1) {
    time = ALPHABET.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  let tail = '';
  for (let i = 0; i < 10; i += 5) {
    const high = (random[i]! << 12) | (random[i + 1]! << 4) | (random[i + 2]! >> 4);
    const low = ((random[i + 2]! & 15) << 16) | (random[i + 3]! << 8) | random[i + 4]!;
    tail += four(high) + four(low);
  }
  return time + tail;
}

/** Twenty bits as four base-32 digits. */
function four(bits: number): string {
  return (
    ALPHABET.charAt((bits >> 15) & 31) +
    ALPHABET.charAt((bits >> 10) & 31) +
    ALPHABET.charAt((bits >> 5) & 31) +
    ALPHABET.charAt(bits & 31)
  );
}

/** The time in an id, in epoch milliseconds. The id must have passed `isId`. */
export function timeOfId(id: string): number {
  const ulid = id.slice(id.indexOf('_') + 1);
  let time = 0;
  for (let i = 0; i < 10; i += 1) time = time * 32 + ALPHABET.indexOf(ulid.charAt(i));
  return time;
}

/** The smallest receipt id of a moment (epoch milliseconds): the time digits of a ULID alone. */
export function firstReceiptIdAt(ms: number): string {
  return `rcpt_${timeDigits(ms)}`;
}

/** The smallest request id of a moment (epoch milliseconds). */
export function firstRequestIdAt(ms: number): string {
  return `req_${timeDigits(ms)}`;
}

function timeDigits(ms: number): string {
  return encodeUlid(ms, NOTHING_RANDOM).slice(0, 10);
}

const NOTHING_RANDOM = new Uint8Array(10);

/** The 128 bits of an id as a UUID, for servers that take nothing else as the id of a request. It has no version of its own. */
export function uuidOf(id: string): string {
  let hex = '';
  // The first of the 26 digits holds three bits.
  let bits = -2;
  let held = 0;
  for (let i = id.indexOf('_') + 1; i < id.length; i += 1) {
    held = ((held & 15) << 5) | ALPHABET.indexOf(id.charAt(i));
    for (bits += 5; bits >= 4; bits -= 4) hex += ((held >> (bits - 4)) & 15).toString(16);
  }
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** True when `text` is an id with this prefix. */
export function isId<P extends IdPrefix>(prefix: P, text: string): text is Id<P> {
  return text.startsWith(`${prefix}_`) && ULID.test(text.slice(prefix.length + 1));
}

/** A request's receipt is known before its first byte: the same ULID under the other prefix. */
export function receiptIdOf(requestId: string): Id<'rcpt'> {
  return `rcpt_${requestId.slice(requestId.indexOf('_') + 1)}`;
}
