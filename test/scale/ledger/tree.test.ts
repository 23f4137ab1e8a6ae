import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  append,
  decodeFrontier,
  EMPTY_FRONTIER,
  encodeFrontier,
  frontierRoot,
} from '#shared/ledger/frontier.ts';
import { EMPTY_ROOT, leafHash, nodeHash, rootOfHashes } from '#shared/ledger/hashing.ts';
import { runs, sample } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import {
  referenceLeaf,
  referenceLeaves,
  referenceRoot,
  referenceRootsOf,
  referenceTile,
  shapeOf,
} from '#test/unit/ledger/reference-tree.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('hashing', () => {
  it('the empty tree, a leaf and a node are hashed as RFC 6962 says', () => {
    expect(hex(EMPTY_ROOT)).toBe(
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    );
    expect(hex(leafHash(new Uint8Array(0)))).toBe(
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    );
    forAll([fc.uint8Array({ maxLength: 5_000 })], (entry) => {
      expect(hex(leafHash(entry))).toBe(hex(referenceLeaf(entry)));
    });
  });

  it('a node’s hash stays as it is when the next node is hashed', () => {
    const [a, b, c] = referenceLeaves(3);
    const first = nodeHash(a!, b!);
    const kept = hex(first);
    nodeHash(b!, c!);
    expect(hex(first)).toBe(kept);
  });
});

describe('frontier', () => {
  it('a frontier has the root of an independent implementation at sizes from 0 to 600', () => {
    const leaves = referenceLeaves(600);
    const sizes = new Set(sample([...Array(601).keys()], shapeOf));
    let frontier = EMPTY_FRONTIER;
    for (let size = 0; size <= 600; size += 1) {
      if (size > 0) frontier = append(frontier, [leaves[size - 1]!]).frontier;
      if (!sizes.has(size)) continue;
      const expected = hex(referenceRoot(leaves.slice(0, size)));
      expect(hex(frontierRoot(frontier)), `size ${size}`).toBe(expected);
      expect(hex(rootOfHashes(leaves.slice(0, size))), `size ${size}`).toBe(expected);
    }
  });

  it('a frontier has the root of an independent implementation around 65,536', () => {
    const leaves = referenceLeaves(65_540);
    const rootOf = referenceRootsOf(leaves);
    let { frontier } = append(EMPTY_FRONTIER, leaves.slice(0, 65_533));
    for (let size = 65_533; size <= 65_540; size += 1) {
      expect(hex(frontierRoot(frontier)), `size ${size}`).toBe(hex(rootOf(size)));
      if (size < 65_540) frontier = append(frontier, [leaves[size]!]).frontier;
    }
  });

  it('a frontier does not depend on how the leaves are cut into batches, nor on being stored in between', () => {
    forAll(
      [fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 8 })],
      { numRuns: runs(40) },
      (batches) => {
        const leaves = referenceLeaves(batches.reduce((sum, n) => sum + n, 0));
        let frontier = EMPTY_FRONTIER;
        for (const batch of batches) {
          const next = append(
            frontier,
            leaves.slice(frontier.size, frontier.size + batch),
          ).frontier;
          frontier = decodeFrontier(next.size, encodeFrontier(next));
        }
        expect(hex(frontierRoot(frontier))).toBe(hex(referenceRoot(leaves)));
      },
    );
  });

  it('appending names each tile when it becomes full, with the root of what it spans', () => {
    const leaves = referenceLeaves(65_536 + 300);
    const { completed } = append(EMPTY_FRONTIER, leaves);
    expect(completed.filter((tile) => tile.level === 0).map((tile) => tile.index)).toEqual(
      Array.from({ length: 257 }, (_, i) => i),
    );
    expect(completed.filter((tile) => tile.level === 1)).toHaveLength(1);
    expect(completed.every((tile) => tile.level < 2)).toBe(true);
    const levelOne = referenceTile(1, 0, leaves);
    for (const { level, index, root } of completed) {
      const expected =
        level === 0 && index < 256 ? levelOne.subarray(index * 32, index * 32 + 32) : root;
      expect(hex(root)).toBe(hex(expected));
    }
    expect(hex(completed.find((tile) => tile.level === 1)!.root)).toBe(
      hex(referenceRoot(leaves.slice(0, 65_536))),
    );
  });

  it('appending does not change the frontier that it is given', () => {
    const { frontier } = append(EMPTY_FRONTIER, referenceLeaves(7));
    const before = hex(frontierRoot(frontier));
    append(frontier, referenceLeaves(9));
    expect(hex(frontierRoot(frontier))).toBe(before);
  });

  it.each([
    [1, 0],
    [0, 32],
    [3, 32],
    [3, 63],
    [-1, 0],
    [1.5, 32],
    [2 ** 53, 32],
  ])('a stored frontier of size %d with %d bytes is refused', (size, length) => {
    expect(() => decodeFrontier(size, new Uint8Array(length))).toThrow(RangeError);
  });
});
