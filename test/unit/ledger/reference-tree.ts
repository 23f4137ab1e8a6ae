import { hash } from 'node:crypto';

/** RFC 6962, section 2.1, word for word and slow: what the product's tree is compared with. Shares no code with it. */
const sha256 = (...parts: Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer');

export const referenceLeaf = (entry: Uint8Array | string): Buffer =>
  sha256(Uint8Array.of(0), Buffer.from(entry));

/** MTH(D[n]), over leaf hashes. */
export function referenceRoot(leaves: readonly Uint8Array[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return Buffer.from(leaves[0]!);
  const k = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  return sha256(
    Uint8Array.of(1),
    referenceRoot(leaves.slice(0, k)),
    referenceRoot(leaves.slice(k)),
  );
}

/** MTH of any first part of the same leaves; whole subtrees that several of them share are hashed once. */
export function referenceRootsOf(leaves: readonly Uint8Array[]): (size: number) => Buffer {
  const known = new Map<string, Buffer>();
  const root = (from: number, to: number): Buffer => {
    if (to - from <= 1) return referenceRoot(leaves.slice(from, to));
    const name = `${from}-${to}`;
    const k = from + 2 ** Math.ceil(Math.log2(to - from) - 1);
    const found = known.get(name) ?? sha256(Uint8Array.of(1), root(from, k), root(k, to));
    // Small subtrees cost less to hash than to remember.
    if (to - from >= 1_024) known.set(name, found);
    return found;
  };
  return (size) => root(0, size);
}

/** PATH(m, D[n]). */
export function referencePath(index: number, leaves: readonly Uint8Array[]): Buffer[] {
  if (leaves.length === 1) return [];
  const k = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  return index < k
    ? [...referencePath(index, leaves.slice(0, k)), referenceRoot(leaves.slice(k))]
    : [...referencePath(index - k, leaves.slice(k)), referenceRoot(leaves.slice(0, k))];
}

/** PROOF(m, D[n]). */
export function referenceConsistency(oldSize: number, leaves: readonly Uint8Array[]): Buffer[] {
  return subproof(oldSize, leaves, true);
}

function subproof(m: number, leaves: readonly Uint8Array[], complete: boolean): Buffer[] {
  if (m === leaves.length) return complete ? [] : [referenceRoot(leaves)];
  const k = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  return m <= k
    ? [...subproof(m, leaves.slice(0, k), complete), referenceRoot(leaves.slice(k))]
    : [...subproof(m - k, leaves.slice(k), false), referenceRoot(leaves.slice(0, k))];
}

/** `count` different leaf hashes. */
export function referenceLeaves(count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) => referenceLeaf(`entry ${i}`));
}

/** Tile `index` of `level`, made from leaves by the definition in C2SP tlog-tiles. */
export function referenceTile(level: number, index: number, leaves: readonly Uint8Array[]): Buffer {
  const span = 256 ** level;
  const hashes: Buffer[] = [];
  for (let i = 0; i < 256; i += 1) {
    const start = (index * 256 + i) * span;
    if (start + span <= leaves.length)
      hashes.push(referenceRoot(leaves.slice(start, start + span)));
  }
  return Buffer.concat(hashes);
}

/** A kind of trees, by their size: the first of each kind is full, or has one leaf more. */
export const shapeOf = (size: number): string => `${Math.clz32(size)} ${Math.clz32(size - 1)}`;
