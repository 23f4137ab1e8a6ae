import { crc32 } from 'node:zlib';

/** All ones: how the register of a CRC-32 begins, and what zlib inverts it with before and after its work. */
const ONES = 0xffffffff;

/** The register of a CRC-32 when each of the 256 characters has come to an empty one. */
const TABLE = Uint32Array.from({ length: 256 }, (_, code) =>
  registerAfter(String.fromCharCode(code), 0),
);

function registerAfter(ascii: string, start: number): number {
  return (crc32(Buffer.from(ascii, 'latin1'), (start ^ ONES) >>> 0) ^ ONES) >>> 0;
}

/** The register when one more character has come. */
function step(register: number, code: number): number {
  return (register >>> 8) ^ TABLE[(register ^ code) & 0xff]!;
}

/**
 * A function of a text that gives, by place, the CRC-32 of `prefix` followed by the `length` characters that begin there.
 * A CRC is linear, so a character that comes in is one step and one that leaves is one look-up: the work grows with the
 * text, and not with `length`. Characters beyond ASCII count by their low byte only.
 */
export function slidingCrc32(prefix: string, length: number): (ascii: string) => Uint32Array {
  const zeros = '\0'.repeat(length);
  const ofPrefix = registerAfter(zeros, registerAfter(prefix, ONES));
  const ofLeaving = TABLE.map((register) => registerAfter(zeros, register));
  return (ascii) => {
    const crcs = new Uint32Array(Math.max(0, ascii.length - length + 1));
    let register = registerAfter(ascii.slice(0, length), 0);
    for (let at = 0; at < crcs.length; at += 1) {
      crcs[at] = ~(register ^ ofPrefix);
      register = step(register, ascii.charCodeAt(at + length));
      register ^= ofLeaving[ascii.charCodeAt(at) & 0xff]!;
    }
    return crcs;
  };
}
