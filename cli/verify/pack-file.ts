import { crc32, sha256Text } from '#primitives';
import { SHARD_BYTES_MAX } from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { parseDirectory, parseTail } from '#shared/packs/zip/directory.ts';
import { LOCAL_BYTES, localHeader, TAIL_BYTES, type ZipEntry } from '#shared/packs/zip/headers.ts';

/** No file of a pack is larger than a shard with one line of the longest receipt more. */
const FILE_BYTES_MAX = SHARD_BYTES_MAX + 65_536;

/** The bytes of an archive, wherever they are: a file, or a Blob in a browser. */
export interface PackBytes {
  readonly size: number;
  /** Fills `into` with the bytes from `offset` on, as far as there are any. @returns how many it read */
  read(offset: number, into: Uint8Array): number;
}

/** A file of a pack and where it lies, as it can be handed to another thread. */
export interface PackedFile extends ZipEntry {
  /** Within the bag. */
  path: string;
}

/** The archive of a pack, opened: its directory is read and is as it must be. */
export interface PackFile {
  /** The one folder at its top. */
  folder: string;
  files: ReadonlyMap<string, PackedFile>;
  read(path: string): Uint8Array;
}

/** @throws PackProblem for anything that no pack is */
export function openPack(archive: PackBytes): PackFile {
  const files = new Map<string, PackedFile>();
  let folder = '';
  for (const entry of readDirectory(archive)) {
    const slash = entry.name.indexOf('/');
    folder ||= entry.name.slice(0, Math.max(slash, 0));
    if (slash < 0 || entry.name.slice(0, slash) !== folder) {
      throw new PackProblem('extra_file', entry.name, 'A pack has one folder at its top.');
    }
    if (entry.size > FILE_BYTES_MAX) {
      throw new PackProblem('absurd_size', entry.name, 'A file is larger than any of a pack.');
    }
    const path = entry.name.slice(slash + 1);
    files.set(path, { ...entry, path });
  }
  const read = (path: string): Uint8Array => {
    const file = files.get(path);
    if (file !== undefined) return readPacked(archive, file);
    throw new PackProblem('missing_file', path, 'A file is missing that every pack has.');
  };
  return { folder, files, read };
}

/** What a ZIP archive begins with, and what it ends with; one that was cut, or has something before it, has one of them. */
const BEGINNING = [0x50, 0x4b];
const END = [0x50, 0x4b, 5, 6];
const END_BYTES = 22;

/** Is this a ZIP archive, whole or not? Anything else is nothing to be judged as a pack. */
export function isArchive(archive: PackBytes): boolean {
  const has = (signature: readonly number[], at: number): boolean => {
    const bytes = new Uint8Array(signature.length);
    return (
      archive.read(at, bytes) === bytes.length && signature.every((byte, i) => byte === bytes[i])
    );
  };
  return has(BEGINNING, 0) || (archive.size >= END_BYTES && has(END, archive.size - END_BYTES));
}

function readDirectory(archive: PackBytes): ZipEntry[] {
  const { size } = archive;
  if (size < TAIL_BYTES)
    throw new PackProblem('not_a_zip', 'archive', 'This is not a ZIP archive.');
  const tail = readAt(archive, size - TAIL_BYTES, new Uint8Array(TAIL_BYTES));
  const directory = parseTail(tail, size);
  const bytes = readAt(archive, directory.offset, new Uint8Array(directory.size));
  return parseDirectory(bytes, directory);
}

/**
 * The bytes of a file; those before them are the header's and may be written over. The header says the same as the
 * directory, and the CRC-32 is right.
 * @throws PackProblem
 */
export function readPacked(
  archive: PackBytes,
  file: PackedFile,
  allocate: (length: number) => Uint8Array = (length) => new Uint8Array(length),
): Uint8Array {
  const headerBytes = LOCAL_BYTES + file.name.length;
  const bytes = readAt(archive, file.offset, allocate(headerBytes + file.size));
  if (!localHeader(file).every((byte, i) => byte === bytes[i])) {
    throw new PackProblem('malformed_zip', file.path, 'Header and directory of a file differ.');
  }
  const content = bytes.subarray(headerBytes);
  if (crc32(content) !== file.crc32) {
    throw new PackProblem('checksum_mismatch', file.path, 'A file is not what the archive says.');
  }
  return content;
}

/** Files of one kind are of about one size. What is not touched of a buffer takes no memory. */
const HEADROOM = 1.25;

/** A buffer that serves one file after the other: a new one each would wait for the garbage collector. */
export function reusedBuffer(): (length: number) => Uint8Array {
  let buffer = new Uint8Array(0);
  return (length) => {
    if (buffer.length < length) buffer = new Uint8Array(Math.ceil(length * HEADROOM));
    return buffer.subarray(0, length);
  };
}

/** Compares a file with its SHA-256 (hex). @throws PackProblem */
export function checkDigest(bytes: Uint8Array, sha256: string, path: string): void {
  if (sha256Text(bytes, 'hex') === sha256) return;
  throw new PackProblem('checksum_mismatch', path, 'A file is not what the manifest says.');
}

function readAt(archive: PackBytes, offset: number, bytes: Uint8Array): Uint8Array {
  for (let at = 0; at < bytes.length;) {
    const read = archive.read(offset + at, at === 0 ? bytes : bytes.subarray(at));
    if (read === 0) throw new PackProblem('malformed_zip', 'archive', 'The archive is cut short.');
    at += read;
  }
  return bytes;
}
