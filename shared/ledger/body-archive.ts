import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { ObjectKind } from '#shared/kernel/object-store.ts';
import { leafHash } from './hashing.ts';

/** Bodies, one a line, as frames of Zstandard one behind the other: `zstd -d` makes lines of JSON of a whole object. */
export const ARCHIVED_BODIES: ObjectKind = {
  suffix: '.ndjson.zst',
  contentType: 'application/zstd',
};

/**
 * Receipts in one block at most. A block is what is fetched and unpacked for one receipt; with fewer they share less, and
 * take more room: one alone 1.44 kB, 16 together 0.45 kB each, 64 0.42 kB, 256 0.39 kB.
 */
export const BLOCK_RECEIPTS_MAX = 32;
/** Of bodies in one block: twice as much as so many receipts have. */
export const BLOCK_BODY_BYTES_MAX = 262_144;

/** With a newline for each. */
const UNPACKED_BYTES_MAX = BLOCK_BODY_BYTES_MAX + BLOCK_RECEIPTS_MAX;

const NEWLINE = 0x0a;
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** A block of these bodies. Canonical JSON has no newline; a body with one would not be found in it again. */
export async function packBlock(bodies: readonly Uint8Array[]): Promise<Buffer> {
  const newline = Uint8Array.of(NEWLINE);
  return compress(Buffer.concat(bodies.flatMap((body) => [body, newline])));
}

/** The bodies of a block by what `leafKey` makes of their leaf hashes; none of bytes that are no block. */
export async function unpackBlock(bytes: Uint8Array): Promise<Map<string, Buffer>> {
  const lines = await decompress(bytes, { maxOutputLength: UNPACKED_BYTES_MAX }).catch(() => null);
  const bodies = new Map<string, Buffer>();
  if (lines === null) return bodies;
  let at = 0;
  for (let end = lines.indexOf(NEWLINE); end >= 0; end = lines.indexOf(NEWLINE, at)) {
    const body = lines.subarray(at, end);
    bodies.set(leafKey(leafHash(body)), body);
    at = end + 1;
  }
  return bodies;
}

/** A hash as the key of a map. */
export const leafKey = (hash: Uint8Array): string => Buffer.from(hash).toString('base64');

/** What is in the archive, or missing there, is not what the ledger says. */
export class DamagedArchive extends Error {
  constructor(receiptId: string) {
    super(
      `neither PostgreSQL nor the archive has the bytes of ${receiptId}; run docket ledger fsck`,
    );
    this.name = 'DamagedArchive';
  }
}
