/** One element of DER (X.690): what a tag says it is, and what it holds. */
export interface DerNode {
  readonly tag: number;
  /** The element itself, tag and length included. */
  readonly bytes: Uint8Array;
  readonly content: Uint8Array;
  /** Empty for what is not constructed. */
  readonly children: readonly DerNode[];
}

const CONSTRUCTED = 0x20;
/** Tags of more than one byte: nothing that is read here has one. */
const LONG_TAG = 0x1f;
/** A certificate in a timestamp is ten levels deep. */
const DEPTH_MAX = 32;

/**
 * Reads one element and everything in it. Stricter than libraries, which read bytes of any sender: every length is
 * written in its shortest form, and every element filled to its end, so that no byte of it is without a meaning.
 * @throws Error
 */
export function readDer(bytes: Uint8Array): DerNode {
  const node = read(bytes, 0);
  if (node.bytes.length === bytes.length) return node;
  throw new Error('bytes follow its end');
}

function read(bytes: Uint8Array, depth: number): DerNode {
  const tag = bytes[0];
  if (tag === undefined || (tag & LONG_TAG) === LONG_TAG || depth > DEPTH_MAX) {
    throw new Error('an element cannot be read');
  }
  const { start, length } = readLength(bytes);
  const end = start + length;
  if (end > bytes.length) throw new Error('an element is longer than what holds it');
  const content = bytes.subarray(start, end);
  const children: DerNode[] = [];
  if ((tag & CONSTRUCTED) !== 0) {
    for (let at = 0; at < content.length;) {
      const child = read(content.subarray(at), depth + 1);
      children.push(child);
      at += child.bytes.length;
    }
  }
  return { tag, bytes: bytes.subarray(0, end), content, children };
}

/** Below 128 in one byte; otherwise in up to three that follow, the first of them not zero. */
function readLength(bytes: Uint8Array): { start: number; length: number } {
  const first = bytes[1] ?? 0x80;
  if (first < 0x80) return { start: 2, length: first };
  const count = first & 0x7f;
  const digits = bytes.subarray(2, 2 + count);
  const length = digits.reduce((sum, digit) => sum * 256 + digit, 0);
  const shortest = length >= (count === 1 ? 0x80 : 256 ** (count - 1));
  if (count === 0 || count > 3 || digits.length < count || !shortest) {
    throw new Error('a length cannot be read');
  }
  return { start: 2 + count, length };
}
