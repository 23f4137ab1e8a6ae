import { PackProblem } from '../problem.ts';
import {
  CENTRAL_BYTES,
  centralHeader,
  END_BYTES,
  endRecords,
  FILE_BYTES_MAX,
  LOCAL_BYTES,
  TAIL_BYTES,
  type ZipDirectory,
  type ZipEntry,
} from './headers.ts';

/** A pack of a hundred million receipts has some forty thousand files; a directory is held in memory. */
const ENTRIES_MAX = 1_000_000;
const NAME_BYTES_MAX = 255;
const DIRECTORY_BYTES_MAX = ENTRIES_MAX * 128;

/** Names that are the same on every file system, and lead nowhere else: no `..`, no absolute paths, no odd characters. */
const SAFE_PATH = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/** Is this a path that a pack may hold? */
export function isSafePath(path: string): boolean {
  return path.length <= NAME_BYTES_MAX && SAFE_PATH.test(path);
}

/**
 * Reads what ends an archive: the last 98 bytes of a file of `fileBytes`.
 * @throws PackProblem
 */
export function parseTail(tail: Uint8Array, fileBytes: number): ZipDirectory {
  if (tail.length !== TAIL_BYTES) throw notAZip();
  const view = viewOf(tail);
  const end = TAIL_BYTES - END_BYTES;
  if (view.getUint32(end, true) !== 0x06054b50) throw notAZip();
  if (view.getUint32(0, true) !== 0x06064b50) {
    throw malformed('The archive does not end as packs do (ZIP64, without a comment).');
  }
  const directory = {
    entries: wide(view, 32),
    size: wide(view, 40),
    offset: wide(view, 48),
  };
  if (directory.entries > ENTRIES_MAX || directory.size > DIRECTORY_BYTES_MAX) {
    throw new PackProblem('absurd_size', 'archive', 'The archive lists more files than any pack.');
  }
  if (directory.offset + directory.size + TAIL_BYTES !== fileBytes) {
    throw malformed('The central directory is not where the archive says.');
  }
  if (!same(endRecords(directory), tail)) {
    throw malformed('The end of the archive holds what no pack has.');
  }
  return directory;
}

/**
 * Reads the central directory. Names are safe and occur once, files are stored and lie one after the other from the
 * start of the archive to the directory, and nothing else is in it.
 * @throws PackProblem
 */
export function parseDirectory(bytes: Uint8Array, directory: ZipDirectory): ZipEntry[] {
  const view = viewOf(bytes);
  const entries: ZipEntry[] = [];
  const names = new Set<string>();
  let at = 0;
  let next = 0;
  for (let i = 0; i < directory.entries; i += 1) {
    if (at + CENTRAL_BYTES > bytes.length) throw malformed('The central directory is cut short.');
    const entry = parseEntry(bytes, view, at);
    // Two systems may see one name where a third sees two.
    const folded = entry.name.toLowerCase();
    if (names.has(folded)) {
      throw new PackProblem('duplicate_name', entry.name, 'Two files have one name.');
    }
    names.add(folded);
    if (entry.offset !== next) throw malformed('Files overlap, or something lies between them.');
    const expected = centralHeader(entry);
    if (!same(expected, bytes.subarray(at, at + expected.length))) {
      throw malformed(`The directory says of ${entry.name} what no pack says.`);
    }
    entries.push(entry);
    next += LOCAL_BYTES + entry.name.length + entry.size;
    at += expected.length;
  }
  if (at !== bytes.length || next !== directory.offset) {
    throw malformed('There is something in the archive that its directory does not list.');
  }
  return entries;
}

function parseEntry(bytes: Uint8Array, view: DataView, at: number): ZipEntry {
  if (view.getUint32(at, true) !== 0x02014b50) throw malformed('The directory cannot be read.');
  const nameLength = view.getUint16(at + 28, true);
  const extraLength = view.getUint16(at + 30, true);
  if (at + CENTRAL_BYTES + nameLength + extraLength > bytes.length) {
    throw malformed('The central directory is cut short.');
  }
  const name = String.fromCharCode(
    ...bytes.subarray(at + CENTRAL_BYTES, at + CENTRAL_BYTES + Math.min(nameLength, 1_024)),
  );
  if (!isSafePath(name)) {
    throw new PackProblem('unsafe_path', printable(name), 'A file has a name that is not safe.');
  }
  if (view.getUint16(at + 10, true) !== 0) {
    throw new PackProblem('compressed_entry', name, 'The files of a pack are not compressed.');
  }
  const size = view.getUint32(at + 24, true);
  if (size > FILE_BYTES_MAX || size !== view.getUint32(at + 20, true)) {
    throw new PackProblem('absurd_size', name, 'A file states a size that it cannot have.');
  }
  const near = view.getUint32(at + 42, true);
  const extra = at + CENTRAL_BYTES + nameLength;
  const offset = near === 0xffff_ffff && extraLength === 12 ? wide(view, extra + 4) : near;
  return { name, size, crc32: view.getUint32(at + 16, true), offset };
}

function wide(view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Infinity : Number(value);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** A name from a stranger must not write on a reader's terminal. */
function printable(name: string): string {
  return JSON.stringify(name).slice(0, 100);
}

function notAZip(): PackProblem {
  return new PackProblem('not_a_zip', 'archive', 'This is not a ZIP archive.');
}

function malformed(message: string): PackProblem {
  return new PackProblem('malformed_zip', 'archive', message);
}
