/**
 * Data items of CBOR (RFC 8949) as COSE needs them, in core deterministic encoding (4.2.1) alone: one value has one form.
 * Integers are exact in a number; labels of maps are integers.
 */
export type Cbor =
  | number
  | string
  | Uint8Array
  | null
  | readonly Cbor[]
  | ReadonlyMap<number, Cbor>
  | CborTag;

/** A tagged item. */
export interface CborTag {
  tag: number;
  value: Cbor;
}

/** Bytes that are not one item in that form. The message is for people. */
export class MalformedCbor extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MalformedCbor';
  }
}

const UNSIGNED = 0;
const NEGATIVE = 1;
const BYTES = 2;
const TEXT = 3;
const ARRAY = 4;
const MAP = 5;
const TAG = 6;
const SIMPLE = 7;
const NULL = 22;

/** Items stand at most so deep in one another: a COSE receipt needs four levels, and each costs a call. */
const DEPTH_MAX = 8;

/** Writes an item. Throws `RangeError` for a number that is no safe integer, and a text with half a character. */
export function encodeCbor(item: Cbor): Uint8Array {
  if (typeof item === 'number') return integer(item);
  if (item === null) return head(SIMPLE, NULL);
  if (typeof item === 'string') {
    if (!item.isWellFormed()) throw new RangeError('a text of CBOR is UTF-8');
    const utf8 = new TextEncoder().encode(item);
    return joined([head(TEXT, utf8.length), utf8]);
  }
  if (item instanceof Uint8Array) return joined([head(BYTES, item.length), item]);
  if (item instanceof Map) return map(item);
  if (Array.isArray(item)) return joined([head(ARRAY, item.length), ...item.map(encodeCbor)]);
  const { tag, value } = item as CborTag;
  return joined([head(TAG, tag), encodeCbor(value)]);
}

function map(items: ReadonlyMap<number, Cbor>): Uint8Array {
  const entries = [...items].map(([label, value]) => [integer(label), encodeCbor(value)] as const);
  entries.sort(([one], [other]) => compared(one, other));
  return joined([head(MAP, entries.length), ...entries.flat()]);
}

function integer(value: number): Uint8Array {
  if (!Number.isSafeInteger(value)) throw new RangeError('a number of CBOR is a safe integer here');
  return value < 0 ? head(NEGATIVE, -1 - value) : head(UNSIGNED, value);
}

/** The first bytes of an item: its type, and a number in as few bytes as it takes. */
function head(major: number, value: number): Uint8Array {
  if (value < 24) return Uint8Array.of((major << 5) | value);
  const power = value < 2 ** 8 ? 0 : value < 2 ** 16 ? 1 : value < 2 ** 32 ? 2 : 3;
  const bytes = new Uint8Array(1 + 2 ** power);
  bytes[0] = (major << 5) | (24 + power);
  let rest = value;
  for (let at = bytes.length - 1; at > 0; at -= 1) {
    bytes[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return bytes;
}

/** Reads one item from anyone, and nothing after it. Throws `MalformedCbor`. */
export function decodeCbor(bytes: Uint8Array): Cbor {
  const reader = new Reader(bytes);
  const item = reader.item(DEPTH_MAX);
  if (!reader.isAtEnd) throw new MalformedCbor('Bytes follow the item.');
  return item;
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  item(depth: number): Cbor {
    if (depth === 0) throw new MalformedCbor('Items stand too deep in one another.');
    const { major, value } = this.#head();
    switch (major) {
      case UNSIGNED:
        return value;
      case NEGATIVE:
        return -1 - value;
      case BYTES:
        return this.#take(value);
      case TEXT:
        return text(this.#take(value));
      case ARRAY:
        return this.#array(value, depth);
      case MAP:
        return this.#map(value, depth);
      case TAG:
        return { tag: value, value: this.item(depth - 1) };
      default:
        if (value !== NULL) throw new MalformedCbor('Of simple values, null alone is read.');
        return null;
    }
  }

  /** Each item takes a byte at least, so a length that lies ends with the bytes. */
  #array(length: number, depth: number): Cbor[] {
    const items: Cbor[] = [];
    while (items.length < length) items.push(this.item(depth - 1));
    return items;
  }

  #map(length: number, depth: number): Map<number, Cbor> {
    const items = new Map<number, Cbor>();
    let last = new Uint8Array(0);
    while (items.size < length) {
      const start = this.#at;
      const label = this.item(depth - 1);
      if (typeof label !== 'number') throw new MalformedCbor('A label of a map is no integer.');
      const bytes = this.#bytes.slice(start, this.#at);
      if (compared(last, bytes) >= 0)
        throw new MalformedCbor('The labels of a map are not in order, or one stands twice.');
      last = bytes;
      items.set(label, this.item(depth - 1));
    }
    return items;
  }

  #head(): { major: number; value: number } {
    const first = this.#take(1)[0]!;
    const [major, information] = [first >> 5, first & 31];
    if (information < 24) return { major, value: information };
    if (information > 27 || major === SIMPLE) {
      throw new MalformedCbor('An item is of indefinite length, or of a kind that is not read.');
    }
    const power = information - 24;
    const value = this.#take(2 ** power).reduce((sum, byte) => sum * 256 + byte, 0);
    const least = power === 0 ? 24 : 2 ** (8 * 2 ** (power - 1));
    if (value < least) throw new MalformedCbor('A number has more bytes than it needs.');
    if (!Number.isSafeInteger(major === NEGATIVE ? -1 - value : value))
      throw new MalformedCbor('A number is too large.');
    return { major, value };
  }

  #take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.#at) throw new MalformedCbor('The bytes end too early.');
    this.#at += length;
    return this.#bytes.slice(this.#at - length, this.#at);
  }
}

function text(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new MalformedCbor('A text is not UTF-8.');
  }
}

/** Bytewise lexicographic order; of two where one begins the other, the shorter is first. */
function compared(one: Uint8Array, other: Uint8Array): number {
  const at = one.findIndex((byte, index) => byte !== other[index]);
  return at < 0 ? one.length - other.length : one[at]! - (other[at] ?? -1);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
