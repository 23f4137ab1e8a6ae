/** CRC-32 as in ISO 3309 and gzip: reflected polynomial 0xEDB88320, start and final value all ones. */
const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

/** CRC-32 of ASCII text, as an unsigned 32-bit integer. Characters beyond ASCII count by their low byte only. */
export function crc32(ascii: string): number {
  let crc = 0xffffffff;
  for (let i = 0; i < ascii.length; i += 1) {
    crc = (crc >>> 8) ^ TABLE[(crc ^ ascii.charCodeAt(i)) & 0xff]!;
  }
  return ~crc >>> 0;
}
