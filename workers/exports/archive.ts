import { createHash, hash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ManifestLine } from '#shared/packs/manifest.ts';
import {
  centralHeader,
  endRecords,
  FILE_BYTES_MAX,
  localHeader,
  type ZipEntry,
} from '#shared/packs/zip/headers.ts';

/** Where the bytes of an archive go. */
export type ByteSink = (bytes: Uint8Array) => Promise<void>;

/** Writes an archive from front to back: nothing is gone back to, so it may go straight to a store. */
export class ArchiveWriter {
  readonly #sink: ByteSink;
  readonly #folder: string;
  readonly #entries: ZipEntry[] = [];
  readonly #digest: Hash = createHash('sha256');
  #offset = 0;

  /** @param folder the one folder at the top of the archive */
  constructor(sink: ByteSink, folder: string) {
    this.#sink = sink;
    this.#folder = folder;
  }

  /** Adds a file of which all parts are at hand. Returns its line of the manifest. */
  async add(path: string, ...parts: Uint8Array[]): Promise<ManifestLine & { size: number }> {
    const size = parts.reduce((sum, part) => sum + part.length, 0);
    if (size > FILE_BYTES_MAX) throw new RangeError(`${path} is too large for a file of a pack`);
    const digest = createHash('sha256');
    let checksum = 0;
    for (const part of parts) {
      checksum = crc32(part, checksum);
      digest.update(part);
    }
    const entry = {
      name: `${this.#folder}/${path}`,
      size,
      crc32: checksum,
      offset: this.#offset,
    };
    await this.#write(localHeader(entry));
    for (const part of parts) await this.#write(part);
    this.#entries.push(entry);
    return { path, size, sha256: digest.digest('hex') };
  }

  /** Writes the directory. Returns what the whole archive is. */
  async finish(): Promise<{ sizeBytes: number; sha256: string }> {
    const offset = this.#offset;
    // A directory of many files goes out in pieces too.
    for (const entry of this.#entries) await this.#write(centralHeader(entry));
    const size = this.#offset - offset;
    await this.#write(endRecords({ entries: this.#entries.length, offset, size }));
    return { sizeBytes: this.#offset, sha256: this.#digest.digest('hex') };
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#digest.update(bytes);
    this.#offset += bytes.length;
    await this.#sink(bytes);
  }
}

/** base64url SHA-256, as digests are handed around. */
export function sha256(bytes: Uint8Array | string): string {
  return hash('sha256', bytes, 'base64url');
}
