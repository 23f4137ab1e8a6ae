import { sha256 } from '#primitives';

/** SHA-256 everywhere: leaves, nodes and roots are 32 bytes. */
export const HASH_BYTES = 32;

/** 32 bytes. Never changed after it was made. */
export type Hash = Uint8Array;

/** The root of the tree without leaves: the hash of nothing (RFC 6962, 2.1). */
export const EMPTY_ROOT: Hash = sha256(new Uint8Array(0));

/** Hash of an entry's exact bytes: SHA-256(0x00 || entry) (RFC 6962, 2.1). The prefix keeps a leaf from passing as a node. */
export function leafHash(entry: Uint8Array): Hash {
  const prefixed = new Uint8Array(entry.length + 1);
  prefixed.set(entry, 1);
  return sha256(prefixed);
}

/** One buffer serves every node: the hash is computed before the function returns, so it is never read half filled. */
const node = new Uint8Array(1 + 2 * HASH_BYTES);
node[0] = 1;

/** Hash of an inner node: SHA-256(0x01 || left || right) (RFC 6962, 2.1). */
export function nodeHash(left: Hash, right: Hash): Hash {
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return sha256(node);
}

/** True when both are the same bytes. Roots are public, so the time it takes may depend on them. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  // A callback for each byte takes ten times as long, and fsck compares three of a row.
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}

/** The largest power of two below `size`; `size` at least 2, at most 2^53. */
export function splitPoint(size: number): number {
  let k = 1;
  while (k * 2 < size) k *= 2;
  return k;
}

/** Root of a list of leaf hashes whose length is a power of two or not (RFC 6962, 2.1). */
export function rootOfHashes(hashes: readonly Hash[]): Hash {
  if (hashes.length === 0) return EMPTY_ROOT;
  let row = hashes;
  while (row.length > 1) {
    const next: Hash[] = [];
    for (let i = 0; i + 1 < row.length; i += 2) next.push(nodeHash(row[i]!, row[i + 1]!));
    // An odd one out has no sibling yet and climbs as it is: that is what the split at a power of two amounts to.
    if (row.length % 2 === 1) next.push(row[row.length - 1]!);
    row = next;
  }
  return row[0]!;
}

/** Cuts concatenated hashes apart (views, not copies). The length must be a multiple of 32. */
export function splitHashes(bytes: Uint8Array): Hash[] {
  if (bytes.length % HASH_BYTES !== 0) throw new RangeError('hashes are 32 bytes each');
  const hashes: Hash[] = [];
  for (let at = 0; at < bytes.length; at += HASH_BYTES) {
    hashes.push(bytes.subarray(at, at + HASH_BYTES));
  }
  return hashes;
}

/** The bytes of several hashes one after the other. */
export function joinHashes(hashes: readonly Hash[]): Uint8Array {
  const bytes = new Uint8Array(hashes.length * HASH_BYTES);
  hashes.forEach((each, i) => bytes.set(each, i * HASH_BYTES));
  return bytes;
}
