/** CRC-32 as in ISO 3309 and gzip: reflected polynomial 0xEDB88320, start and final value all ones. */
const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

/** CRC-32 of ASCII text, as an unsigned 32-bit integer. Characters beyond ASCII count by their low byte only. */
export function crc32(ascii: string): number {
  return ~registerAfter(ascii, START) >>> 0;
}

const START = 0xffffffff;

/** The register of a CRC when one more character has come. */
function step(register: number, code: number): number {
  return (register >>> 8) ^ TABLE[(register ^ code) & 0xff]!;
}

function registerAfter(ascii: string, start: number): number {
  let register = start;
  for (let i = 0; i < ascii.length; i += 1) register = step(register, ascii.charCodeAt(i));
  return register;
}

/**
 * A function of a text that gives, by place, the CRC-32 of `prefix` followed by the `length` characters that begin there.
 * A CRC is linear, so a character that comes in is one step and one that leaves is one look-up: the work grows with the
 * text, and not with `length`.
 */
export function slidingCrc32(prefix: string, length: number): (ascii: string) => Uint32Array {
  const zeros = '\0'.repeat(length);
  const ofPrefix = registerAfter(zeros, registerAfter(prefix, START));
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
