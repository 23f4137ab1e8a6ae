import { HASH_BYTES, nodeHash, sameHash, splitPoint, type Hash } from './hashing.ts';
import type { LeafRange } from './tiles.ts';

/** A path has at most one hash per level: 63 is also the bound of C2SP tlog-witness. */
export const PROOF_HASHES_MAX = 63;

/** The subtrees whose hashes prove that leaf `index` is in a tree of `size`, the leaf's sibling first (RFC 6962, 2.1.1). */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  if (!isSize(size) || !isSize(index) || index >= size)
    throw new RangeError('index outside the tree');
  const ranges: LeafRange[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + splitPoint(end - start);
    if (index < middle) {
      ranges.push({ start: middle, end });
      end = middle;
    } else {
      ranges.push({ start, end: middle });
      start = middle;
    }
  }
  return ranges.toReversed();
}

/** The subtrees whose hashes prove that a tree of `oldSize` is a prefix of one of `newSize` (RFC 6962, 2.1.2). Empty for 0 and for equal sizes. */
export function consistencyRanges(oldSize: number, newSize: number): LeafRange[] {
  if (!isSize(oldSize) || !isSize(newSize) || oldSize > newSize) {
    throw new RangeError('the older tree is the smaller one');
  }
  if (oldSize === 0 || oldSize === newSize) return [];
  const ranges: LeafRange[] = [];
  let [start, end] = [0, newSize];
  // Walk down to the subtree that ends where the old tree ends; what is passed on the way is the proof.
  while (end !== oldSize) {
    const middle = start + splitPoint(end - start);
    if (oldSize <= middle) {
      ranges.push({ start: middle, end });
      end = middle;
    } else {
      ranges.push({ start, end: middle });
      start = middle;
    }
  }
  // A verifier knows the old tree's own root, so a walk that never went right leaves it out.
  if (start > 0) ranges.push({ start, end });
  return ranges.toReversed();
}

export interface InclusionClaim {
  index: number;
  size: number;
  leaf: Hash;
  proof: readonly Hash[];
  root: Hash;
}

/** True when the proof shows that `leaf` is entry `index` of the tree with this size and root (RFC 9162, 2.1.3.2). Any input is safe. */
export function verifyInclusion({ root, ...path }: InclusionClaim): boolean {
  const computed = inclusionRoot(path);
  return computed !== null && sameHash(computed, root);
}

/**
 * The root to which the path leads from `leaf` as entry `index` of a tree of this size; null where it is no such path. Any input
 * is safe.
 * @param onNode told of each node on the way, with what it was computed from
 */
export function inclusionRoot(
  { index, size, leaf, proof }: Omit<InclusionClaim, 'root'>,
  onNode?: (left: Hash, right: Hash, node: Hash) => void,
): Hash | null {
  if (!isSize(index) || !isSize(size) || index >= size) return null;
  if (leaf.length !== HASH_BYTES || !areHashes(proof)) return null;
  let [node, last] = [index, size - 1];
  let computed = leaf;
  for (const sibling of proof) {
    if (last === 0) return null;
    const below = computed;
    if (node % 2 === 1 || node === last) {
      computed = nodeHash(sibling, below);
      onNode?.(sibling, below, computed);
      // A node without a sibling on its right climbs until it is a right child.
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      computed = nodeHash(below, sibling);
      onNode?.(below, sibling, computed);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 ? computed : null;
}

export interface ConsistencyClaim {
  oldSize: number;
  newSize: number;
  oldRoot: Hash;
  newRoot: Hash;
  proof: readonly Hash[];
}

/**
 * True when the proof shows that the older tree is a prefix of the newer one (RFC 9162, 2.1.4.2). Any input is safe.
 * The empty tree proves nothing about what comes after it, so a claim from size 0 is false, as the published vectors have it.
 */
export function verifyConsistency(claim: ConsistencyClaim): boolean {
  const { oldSize, newSize, oldRoot, newRoot, proof } = claim;
  if (!isSize(oldSize) || !isSize(newSize) || oldSize > newSize || !areHashes(proof)) return false;
  if (oldSize === 0) return false;
  if (oldSize === newSize) return proof.length === 0 && sameHash(oldRoot, newRoot);
  return foldConsistency(claim);
}

/** The loop of RFC 9162, 2.1.4.2, for 0 < `oldSize` < `newSize`. */
function foldConsistency({ oldSize, newSize, oldRoot, newRoot, proof }: ConsistencyClaim): boolean {
  let [node, last] = [oldSize - 1, newSize - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  // The old root starts the walk itself when the old tree is one perfect subtree.
  const path = node === 0 ? [oldRoot, ...proof] : proof;
  const [first, ...rest] = path;
  if (first === undefined) return false;
  let [older, newer] = [first, first];
  for (const sibling of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      older = nodeHash(sibling, older);
      newer = nodeHash(sibling, newer);
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      newer = nodeHash(newer, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && sameHash(older, oldRoot) && sameHash(newer, newRoot);
}

/** Tree sizes go to 2^53 - 1: exact in a number, and more entries than anyone will store. */
function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function areHashes(proof: readonly Hash[]): boolean {
  return proof.length <= PROOF_HASHES_MAX && proof.every((hash) => hash.length === HASH_BYTES);
}

/** Shifts one bit right without the 32-bit limit of `>>`. */
function half(value: number): number {
  return Math.floor(value / 2);
}
