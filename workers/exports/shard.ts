import { hash } from 'node:crypto';
import { RECEIPTS_HEADER } from '#shared/packs/tables.ts';
import {
  SHARD_BYTES_MAX,
  shardIsFull,
  shardPath,
  SUPERSEDED,
  tablePath,
} from '#shared/packs/layout.ts';

const NEWLINE = 0x0a;
/** What the table of a full shard of usual receipts takes. */
const TABLE_BYTES = 5 * 1_048_576;

/** A file to be added to the pack. */
export interface PackFile {
  path: string;
  bytes: Uint8Array;
}

/**
 * Collects the lines of one shard in one buffer, which serves all shards: memory stays the same for any range. A line's
 * leaf hash is taken where it lies, the byte before it standing in for RFC 6962's prefix.
 */
export class ShardBuffer {
  readonly #bytes = Buffer.allocUnsafeSlow(1 + SHARD_BYTES_MAX);
  #folder = '';
  #end = 1;
  #lines = 0;
  #firstIndex = 0;
  #superseded: string[] = [];
  /** The table of the shard; grows to the size of the largest. */
  #table = Buffer.allocUnsafeSlow(TABLE_BYTES);
  #tableEnd = 0;

  /** Starts the next shard: the first is named by its folder, the others by their first line. */
  start(folder: string): void {
    this.#folder = folder;
    this.#end = 1;
    this.#lines = 0;
    this.#superseded = [];
    this.#tableEnd = this.#table.write(RECEIPTS_HEADER);
  }

  get isEmpty(): boolean {
    return this.#lines === 0;
  }

  /** Does the shard end before this line? */
  isFullFor(body: string): boolean {
    return shardIsFull(this.#lines, this.#end - 1, Buffer.byteLength(body) + 1);
  }

  /** Adds a line. The hashes are those of its bytes; `digest` is good until the next line. */
  add(index: number, body: string): { leafHash: Buffer; digest: () => Buffer } {
    if (this.#lines === 0) this.#firstIndex = index;
    this.#lines += 1;
    const start = this.#end;
    const written = this.#bytes.write(body, start, 'utf8');
    const before = this.#bytes[start - 1]!;
    this.#bytes[start - 1] = 0;
    const leafHash = hash('sha256', this.#bytes.subarray(start - 1, start + written), 'buffer');
    this.#bytes[start - 1] = before;
    this.#bytes[start + written] = NEWLINE;
    this.#end = start + written + 1;
    const bytes = this.#bytes.subarray(start, start + written);
    return { leafHash, digest: () => hash('sha256', bytes, 'buffer') };
  }

  /** Adds a line to the table of the shard. */
  row(line: string): void {
    const size = Buffer.byteLength(line);
    if (this.#tableEnd + size > this.#table.length) {
      const larger = Buffer.allocUnsafeSlow(this.#table.length * 2 + size);
      this.#table.copy(larger, 0, 0, this.#tableEnd);
      this.#table = larger;
    }
    this.#tableEnd += this.#table.write(line, this.#tableEnd);
  }

  /** Notes that the entry was revised. */
  superseded(index: number, by: number): void {
    this.#superseded.push(`{"by":${by},"index":${index}}\n`);
  }

  /** The shard's files; they must be written before the next `start`. */
  files(): PackFile[] {
    const table = this.#table.subarray(0, this.#tableEnd);
    const files = [
      {
        path: shardPath(this.#folder, this.#firstIndex),
        bytes: this.#bytes.subarray(1, this.#end),
      },
      { path: tablePath(shardPath(this.#folder, this.#firstIndex)), bytes: table },
    ];
    if (this.#superseded.length > 0) {
      const bytes = Buffer.from(this.#superseded.join(''));
      // First what tells which of the lines count, then the lines: a reader needs them in this order.
      files.unshift({ path: shardPath(SUPERSEDED, this.#firstIndex), bytes });
    }
    return files;
  }
}
