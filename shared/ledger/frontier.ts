import { EMPTY_ROOT, HASH_BYTES, joinHashes, nodeHash, splitHashes, type Hash } from './hashing.ts';
import { TILE_HEIGHT } from './tiles.ts';

/**
 * All that must be remembered of a tree to append to it: the roots of its perfect subtrees, largest (leftmost) first,
 * one for each bit that is set in `size`. At most 53 hashes, however many leaves.
 */
export interface Frontier {
  readonly size: number;
  readonly hashes: readonly Hash[];
}

/** A tile that the append filled: tile `index` of `level`, and the root of the subtree that it spans. */
export interface CompletedTile {
  level: number;
  index: number;
  root: Hash;
}

/** The tree without leaves. */
export const EMPTY_FRONTIER: Frontier = { size: 0, hashes: [] };

/** Appends leaf hashes in order. Also tells which tiles became full on the way, lower levels first at each leaf. */
export function append(
  frontier: Frontier,
  leaves: Iterable<Hash>,
): { frontier: Frontier; completed: CompletedTile[] } {
  const hashes = [...frontier.hashes];
  const completed: CompletedTile[] = [];
  let size = frontier.size;
  for (const leaf of leaves) {
    let top = leaf;
    let height = 0;
    // Every set bit at the low end of `size` is a perfect subtree of the same height as `top`: they merge like a carry.
    for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
      top = nodeHash(hashes.pop()!, top);
      height += 1;
      if (height % TILE_HEIGHT === 0) {
        completed.push({
          level: height / TILE_HEIGHT - 1,
          index: Math.floor(size / 2 ** height),
          root: top,
        });
      }
    }
    hashes.push(top);
    size += 1;
    if (size > Number.MAX_SAFE_INTEGER) throw new RangeError('a log holds at most 2^53 entries');
  }
  return { frontier: { size, hashes }, completed };
}

/** Root of the whole tree (RFC 6962, 2.1). */
export function frontierRoot(frontier: Frontier): Hash {
  let root: Hash | undefined;
  for (let i = frontier.hashes.length - 1; i >= 0; i -= 1) {
    root = root === undefined ? frontier.hashes[i]! : nodeHash(frontier.hashes[i]!, root);
  }
  return root ?? EMPTY_ROOT;
}

/** The stored form: the hashes one after the other. */
export function encodeFrontier(frontier: Frontier): Uint8Array {
  return joinHashes(frontier.hashes);
}

/** Reads the stored form; throws `RangeError` when it cannot belong to a tree of this size. */
export function decodeFrontier(size: number, bytes: Uint8Array): Frontier {
  if (!Number.isSafeInteger(size) || size < 0) throw new RangeError('size of a frontier');
  let bits = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) bits += rest % 2;
  if (bytes.length !== bits * HASH_BYTES)
    throw new RangeError('a frontier has one hash per set bit of its size');
  return { size, hashes: splitHashes(bytes) };
}
