import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  headLeaf,
  HEADS_HEIGHT,
  HEADS_SLOTS,
  HeadsTree,
  saltOf,
  SECRET_BYTES,
} from '#shared/ledger/heads-tree.ts';
import type { Hash } from '#shared/ledger/hashing.ts';
import { verifyInclusion } from '#shared/ledger/proofs.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const secrets = fc.uint8Array({ minLength: SECRET_BYTES, maxLength: SECRET_BYTES });
const slots = fc.uniqueArray(fc.nat({ max: HEADS_SLOTS - 1 }), { minLength: 1, maxLength: 30 });
const textOf = (slot: number): string => `gateway.example/log/org_${slot}\n1\nroot\n`;
const leavesOf = (secret: Uint8Array, taken: readonly number[]): Map<number, Hash> =>
  new Map(taken.map((slot) => [slot, headLeaf(saltOf(secret, slot), textOf(slot))]));

describe('the heads tree', () => {
  it('a heads tree proves every taken slot, and nothing else in it', () => {
    forAll([secrets, slots], { numRuns: runs(50) }, (secret, taken) => {
      const leaves = leavesOf(secret, taken);
      const tree = new HeadsTree(secret, leaves);
      for (const slot of taken) {
        const proof = tree.path(slot);
        expect(proof).toHaveLength(HEADS_HEIGHT);
        const claim = { index: slot, size: HEADS_SLOTS, proof, root: tree.root };
        expect(verifyInclusion({ ...claim, leaf: leaves.get(slot)! })).toBe(true);
        const other = headLeaf(saltOf(secret, slot), textOf(slot + 1));
        expect(verifyInclusion({ ...claim, leaf: other })).toBe(false);
        const elsewhere = { ...claim, index: slot ^ 1, leaf: leaves.get(slot)! };
        expect(verifyInclusion(elsewhere)).toBe(false);
      }
    });
  });

  it('a heads tree has one root, in any order in which slots are given', () => {
    forAll([secrets, slots], { numRuns: runs(50) }, (secret, taken) => {
      const root = new HeadsTree(secret, leavesOf(secret, taken)).root;
      const reversed = new HeadsTree(secret, leavesOf(secret, taken.toReversed())).root;
      expect(reversed).toEqual(root);
    });
  });

  it('a path shows a neighbour nothing: all its hashes are new with every secret, though nothing has changed', () => {
    forAll([secrets, secrets, slots], { numRuns: runs(50) }, (secret, next, taken) => {
      fc.pre(Buffer.compare(secret, next) !== 0);
      const before = new HeadsTree(secret, leavesOf(secret, taken)).path(taken[0]!);
      const after = new HeadsTree(next, leavesOf(next, taken)).path(taken[0]!);
      before.forEach((hash, height) => expect(hash).not.toEqual(after[height]));
    });
  });

  it('each slot of a heads tree has a salt of its own', () => {
    const secret = new Uint8Array(SECRET_BYTES);
    const salts = Array.from({ length: 1_000 }, (_, slot) => saltOf(secret, slot));
    expect(new Set(salts.map((salt) => Buffer.from(salt).toString('hex'))).size).toBe(1_000);
  });

  it('a heads tree without any organisation has a root', () => {
    const secret = new Uint8Array(SECRET_BYTES).fill(7);
    expect(new HeadsTree(secret, new Map()).root).toHaveLength(32);
    expect(() => new HeadsTree(new Uint8Array(31), new Map())).toThrow(RangeError);
  });
});
