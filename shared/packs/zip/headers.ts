/**
 * The records of a ZIP file with ZIP64 (APPNOTE 6.3.10), in the one form that evidence packs have: stored, without
 * comments, extra fields (but the one that large offsets need), or times. What a pack contains then decides every byte
 * of it, and a reader can compare instead of guessing.
 */

/** One file of an archive. */
export interface ZipEntry {
  /** Printable ASCII. */
  name: string;
  size: number;
  crc32: number;
  /** Where its local header starts. */
  offset: number;
}

const LOCAL_SIGNATURE = 0x04034b50;
const CENTRAL_SIGNATURE = 0x02014b50;
const END64_SIGNATURE = 0x06064b50;
const LOCATOR64_SIGNATURE = 0x07064b50;
const END_SIGNATURE = 0x06054b50;

export const LOCAL_BYTES = 30;
export const CENTRAL_BYTES = 46;
const END64_BYTES = 56;
const LOCATOR64_BYTES = 20;
export const END_BYTES = 22;
/** All that follows the central directory. */
export const TAIL_BYTES = END64_BYTES + LOCATOR64_BYTES + END_BYTES;

/** What a 32-bit field holds when the ZIP64 field counts. No file of a pack is that large; offsets may be. */
const SEE_ZIP64 = 0xffff_ffff;
const SEE_ZIP64_SHORT = 0xffff;
/** A file of this size would need more of ZIP64 than is written here; files of packs are far smaller. */
export const FILE_BYTES_MAX = SEE_ZIP64 - 1;

const STORED_VERSION = 10;
const ZIP64_VERSION = 45;
const UNIX = 3 << 8;
/** A regular file that everyone may read. */
const MODE = (0o100644 << 16) >>> 0;
/** 1 January 1980: the first day there is. Times would make equal packs differ. */
const DATE = 0x0021;

/** The header that stands before a file's bytes. */
export function localHeader({ name, size, crc32 }: Omit<ZipEntry, 'offset'>): Uint8Array {
  const [bytes, view] = record(LOCAL_BYTES + name.length, LOCAL_SIGNATURE);
  view.setUint16(4, STORED_VERSION, true);
  view.setUint16(12, DATE, true);
  view.setUint32(14, crc32, true);
  view.setUint32(18, size, true);
  view.setUint32(22, size, true);
  view.setUint16(26, name.length, true);
  bytes.set(ascii(name), LOCAL_BYTES);
  return bytes;
}

/** A file's line of the central directory. */
export function centralHeader({ name, size, crc32, offset }: ZipEntry): Uint8Array {
  const far = offset >= SEE_ZIP64;
  const [bytes, view] = record(CENTRAL_BYTES + name.length + (far ? 12 : 0), CENTRAL_SIGNATURE);
  view.setUint16(4, UNIX | ZIP64_VERSION, true);
  view.setUint16(6, far ? ZIP64_VERSION : STORED_VERSION, true);
  view.setUint16(14, DATE, true);
  view.setUint32(16, crc32, true);
  view.setUint32(20, size, true);
  view.setUint32(24, size, true);
  view.setUint16(28, name.length, true);
  view.setUint16(30, far ? 12 : 0, true);
  view.setUint32(38, MODE, true);
  view.setUint32(42, far ? SEE_ZIP64 : offset, true);
  bytes.set(ascii(name), CENTRAL_BYTES);
  if (far) {
    const extra = CENTRAL_BYTES + name.length;
    view.setUint16(extra, 1, true);
    view.setUint16(extra + 2, 8, true);
    view.setBigUint64(extra + 4, BigInt(offset), true);
  }
  return bytes;
}

/** Where the central directory lies, and how many files it lists. */
export interface ZipDirectory {
  entries: number;
  offset: number;
  size: number;
}

/** What ends an archive: the ZIP64 record with its locator, and the old one. */
export function endRecords({ entries, offset, size }: ZipDirectory): Uint8Array {
  const [bytes, view] = record(TAIL_BYTES, END64_SIGNATURE);
  view.setBigUint64(4, BigInt(END64_BYTES - 12), true);
  view.setUint16(12, UNIX | ZIP64_VERSION, true);
  view.setUint16(14, ZIP64_VERSION, true);
  view.setBigUint64(24, BigInt(entries), true);
  view.setBigUint64(32, BigInt(entries), true);
  view.setBigUint64(40, BigInt(size), true);
  view.setBigUint64(48, BigInt(offset), true);
  view.setUint32(END64_BYTES, LOCATOR64_SIGNATURE, true);
  view.setBigUint64(END64_BYTES + 8, BigInt(offset + size), true);
  view.setUint32(END64_BYTES + 16, 1, true);
  const end = END64_BYTES + LOCATOR64_BYTES;
  view.setUint32(end, END_SIGNATURE, true);
  view.setUint16(end + 8, Math.min(entries, SEE_ZIP64_SHORT), true);
  view.setUint16(end + 10, Math.min(entries, SEE_ZIP64_SHORT), true);
  view.setUint32(end + 12, Math.min(size, SEE_ZIP64), true);
  view.setUint32(end + 16, Math.min(offset, SEE_ZIP64), true);
  return bytes;
}

function record(length: number, signature: number): [Uint8Array, DataView] {
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, signature, true);
  return [bytes, view];
}

function ascii(name: string): Uint8Array {
  return Uint8Array.from(name, (character) => character.charCodeAt(0));
}
