import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  consistencyRanges,
  inclusionRanges,
  verifyConsistency,
  verifyInclusion,
} from '#shared/ledger/proofs.ts';
import { locate, perfectNodes, rangeHash, tilesFor } from '#shared/ledger/tiles.ts';
import { runs, sample } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import {
  referenceConsistency,
  referenceLeaves,
  referencePath,
  referenceRoot,
  referenceTile,
  shapeOf,
} from '#test/unit/ledger/reference-tree.ts';

interface InclusionVector {
  leafIdx: string;
  treeSize: string;
  root: string;
  leafHash: string;
  proof: string[] | null;
  wantErr: boolean;
  case: string;
}
interface ConsistencyVector {
  size1: string;
  size2: string;
  root1: string;
  root2: string;
  proof: string[] | null;
  wantErr: boolean;
  case: string;
}
const vectors = JSON.parse(
  readFileSync(new URL('../../vectors/merkle/transparency-dev.json', import.meta.url), 'utf8'),
) as { inclusion: InclusionVector[]; consistency: ConsistencyVector[] };

const bytes = (base64: string): Uint8Array => Buffer.from(base64, 'base64');
const hex = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');
const all = referenceLeaves(600);
const sizesUpTo = (max: number): number[] => Array.from({ length: max }, (_, i) => i + 1);

/** Proof hashes as the product makes them: from tiles of a tree of this size. */
function hashesOf(ranges: readonly { start: number; end: number }[], size: number): Uint8Array[] {
  const leaves = all.slice(0, size);
  const allowed = new Set(tilesFor(ranges, size).map(({ level, index }) => `${level}/${index}`));
  return ranges.map((range) =>
    rangeHash(range, (level, index) => {
      expect(allowed.has(`${level}/${index}`)).toBe(true);
      return referenceTile(level, index, leaves);
    }),
  );
}

describe('published vectors', () => {
  it('all published vectors of proofs are there', () => {
    expect(vectors.inclusion).toHaveLength(98);
    expect(vectors.consistency).toHaveLength(98);
  });

  it.each(vectors.inclusion.map((vector) => [vector.case, vector] as const))(
    'the published inclusion vector %s is judged right',
    (_name, vector) => {
      const holds = verifyInclusion({
        index: Number(vector.leafIdx),
        size: Number(vector.treeSize),
        leaf: bytes(vector.leafHash),
        proof: (vector.proof ?? []).map(bytes),
        root: bytes(vector.root),
      });
      expect(holds).toBe(!vector.wantErr);
    },
  );

  it.each(vectors.consistency.map((vector) => [vector.case, vector] as const))(
    'the published consistency vector %s is judged right',
    (_name, vector) => {
      const holds = verifyConsistency({
        oldSize: Number(vector.size1),
        newSize: Number(vector.size2),
        oldRoot: bytes(vector.root1),
        newRoot: bytes(vector.root2),
        proof: (vector.proof ?? []).map(bytes),
      });
      expect(holds).toBe(!vector.wantErr);
    },
  );
});

describe('inclusion proofs', () => {
  it('inclusion proofs equal an independent implementation, and hold, for every leaf of a tree, in trees up to 70', () => {
    for (const size of sample(sizesUpTo(70), shapeOf)) {
      const leaves = all.slice(0, size);
      const root = referenceRoot(leaves);
      for (let index = 0; index < size; index += 1) {
        const proof = hashesOf(inclusionRanges(index, size), size);
        expect(proof.map(hex)).toEqual(referencePath(index, leaves).map(hex));
        expect(verifyInclusion({ index, size, leaf: leaves[index]!, proof, root })).toBe(true);
      }
    }
  });

  it('an inclusion proof holds for its own leaf, index, size and root, and for nothing else', () => {
    const sizes = fc.integer({ min: 2, max: 600 });
    const place = sizes.chain((size) =>
      fc.record({ size: fc.constant(size), index: fc.nat(size - 1) }),
    );
    forAll([place, fc.nat(), fc.nat(255)], { numRuns: runs(60) }, ({ size, index }, where, bit) => {
      const leaves = all.slice(0, size);
      const root = referenceRoot(leaves);
      const proof = hashesOf(inclusionRanges(index, size), size);
      expect(proof.map(hex)).toEqual(referencePath(index, leaves).map(hex));
      const claim = { index, size, leaf: leaves[index]!, proof, root };
      expect(verifyInclusion(claim)).toBe(true);
      const bent = proof.map((hash, i) => (i === where % proof.length ? flip(hash, bit) : hash));
      expect(verifyInclusion({ ...claim, proof: bent })).toBe(false);
      expect(verifyInclusion({ ...claim, index: (index + 1) % size })).toBe(false);
      expect(verifyInclusion({ ...claim, leaf: flip(claim.leaf, bit) })).toBe(false);
      expect(verifyInclusion({ ...claim, root: flip(root, bit) })).toBe(false);
      expect(verifyInclusion({ ...claim, proof: proof.slice(1) })).toBe(false);
      expect(verifyInclusion({ ...claim, proof: [...proof, root] })).toBe(false);
    });
  });

  it('inclusion proofs are refused for entries outside the tree', () => {
    for (const [index, size] of [
      [0, 0],
      [1, 1],
      [-1, 4],
      [0.5, 4],
      [0, 2 ** 53],
    ] as const) {
      expect(() => inclusionRanges(index, size)).toThrow(RangeError);
    }
  });
});

describe('consistency proofs', () => {
  it('consistency proofs equal an independent implementation, and hold, for pairs of sizes up to 40', () => {
    for (const newSize of sample(sizesUpTo(40), shapeOf)) {
      for (let oldSize = 1; oldSize <= newSize; oldSize += 1) {
        const leaves = all.slice(0, newSize);
        const proof = hashesOf(consistencyRanges(oldSize, newSize), newSize);
        expect(proof.map(hex), `${oldSize} in ${newSize}`).toEqual(
          referenceConsistency(oldSize, leaves).map(hex),
        );
        const [oldRoot, newRoot] = [referenceRoot(leaves.slice(0, oldSize)), referenceRoot(leaves)];
        expect(verifyConsistency({ oldSize, newSize, oldRoot, newRoot, proof })).toBe(true);
      }
    }
  });

  it('a consistency proof holds for its own trees and for nothing else', () => {
    const pair = fc.integer({ min: 2, max: 600 }).chain((newSize) =>
      fc.record({
        newSize: fc.constant(newSize),
        oldSize: fc.integer({ min: 1, max: newSize - 1 }),
      }),
    );
    forAll(
      [pair, fc.nat(), fc.nat(255)],
      { numRuns: runs(60) },
      ({ oldSize, newSize }, where, bit) => {
        const leaves = all.slice(0, newSize);
        const proof = hashesOf(consistencyRanges(oldSize, newSize), newSize);
        expect(proof.map(hex)).toEqual(referenceConsistency(oldSize, leaves).map(hex));
        const [oldRoot, newRoot] = [referenceRoot(leaves.slice(0, oldSize)), referenceRoot(leaves)];
        const claim = { oldSize, newSize, oldRoot, newRoot, proof };
        expect(verifyConsistency(claim)).toBe(true);
        const bent = proof.map((hash, i) => (i === where % proof.length ? flip(hash, bit) : hash));
        expect(verifyConsistency({ ...claim, proof: bent })).toBe(false);
        expect(verifyConsistency({ ...claim, oldRoot: flip(oldRoot, bit) })).toBe(false);
        expect(verifyConsistency({ ...claim, newRoot: flip(newRoot, bit) })).toBe(false);
        expect(verifyConsistency({ ...claim, proof: [...proof, newRoot] })).toBe(false);
        expect(verifyConsistency({ ...claim, oldSize: newSize, newSize: oldSize })).toBe(false);
      },
    );
  });

  it('verifying proofs never throws on claims from strangers', () => {
    const number = fc.oneof(fc.maxSafeInteger(), fc.double(), fc.nat(70));
    const hash = fc.uint8Array({ maxLength: 40 });
    forAll(
      [number, number, hash, hash, fc.array(hash, { maxLength: 70 })],
      (a, b, one, two, proof) => {
        verifyInclusion({ index: a, size: b, leaf: one, root: two, proof });
        verifyConsistency({ oldSize: a, newSize: b, oldRoot: one, newRoot: two, proof });
      },
    );
  });
});

describe('large trees', () => {
  it('proofs in large trees need few tiles, each within its tree, at sizes beyond 32 bits', () => {
    const place = fc
      .integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
      .chain((size) =>
        fc.record({ size: fc.constant(size), index: fc.integer({ min: 0, max: size - 1 }) }),
      );
    forAll([place], ({ size, index }) => {
      const ranges = inclusionRanges(index, size);
      expect(ranges.length).toBeLessThanOrEqual(53);
      expect(tilesFor(ranges, size).length).toBeLessThanOrEqual(14);
      for (const node of ranges.flatMap(perfectNodes)) {
        const { level, index: tile, offset, count } = locate(node);
        const width = tilesFor(ranges, size).find(
          (each) => each.level === level && each.index === tile,
        )!.width;
        expect(offset + count).toBeLessThanOrEqual(width);
      }
    });
  });
});

function flip(hash: Uint8Array, bit: number): Uint8Array {
  const bent = Uint8Array.from(hash);
  bent[bit >> 3] = bent[bit >> 3]! ^ (1 << (bit & 7));
  return bent;
}
