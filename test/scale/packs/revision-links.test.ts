import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PackProblem } from '#shared/packs/problem.ts';
import { RevisionLinks, type WalkedEntry } from '#shared/packs/revision-links.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

/** A ledger: for each entry the one that it revises, or null. */
type Ledger = (number | null)[];

/** Each entry revises an earlier one that was not revised yet, or none. */
const anyLedger: fc.Arbitrary<Ledger> = fc
  .array(fc.nat(), { minLength: 1, maxLength: 60 })
  .map((seeds) => {
    const ledger: Ledger = [];
    for (const [index, seed] of seeds.entries()) {
      const free = ledger.map((_, i) => i).filter((i) => !ledger.includes(i));
      // Two thirds revise something, so that chains grow.
      ledger.push(index > 0 && seed % 3 > 0 ? (free[seed % free.length] ?? null) : null);
    }
    return ledger;
  });

const digestOf = (index: number): Uint8Array => hash('sha256', `entry ${index}`, 'buffer');

function walkedEntry(ledger: Ledger, index: number): WalkedEntry {
  const revised = ledger[index] ?? null;
  const by = ledger.indexOf(index);
  return {
    index,
    supersededBy: by < 0 ? null : by,
    digest: () => digestOf(index),
    revises: revised === null ? null : { leafIndex: revised, digest: digestOf(revised) },
  };
}

/** The entries of a pack: the range, and what revises any of it later, directly or not. */
function packOf(ledger: Ledger, first: number, end: number): number[] {
  const within = new Set<number>();
  for (let index = first; index < ledger.length; index += 1) {
    const revised = ledger[index] ?? null;
    if (index < end || (revised !== null && within.has(revised))) within.add(index);
  }
  return [...within];
}

const rootOf = (ledger: Ledger, index: number): number => {
  const revised = ledger[index] ?? null;
  return revised === null ? index : rootOf(ledger, revised);
};

const anyRange = anyLedger.chain((ledger) =>
  fc
    .tuple(fc.constant(ledger), fc.nat(ledger.length - 1))
    .chain(([known, first]) =>
      fc.tuple(
        fc.constant(known),
        fc.constant(first),
        fc.integer({ min: first + 1, max: known.length }),
      ),
    ),
);

describe('revisions of a range', () => {
  it('each inference of a range counts once, by its newest receipt', () => {
    forAll([anyRange], ([ledger, first, end]) => {
      const links = new RevisionLinks({ first, end, size: ledger.length });
      const counted = packOf(ledger, first, end).filter((index) =>
        links.take(walkedEntry(ledger, index)),
      );
      links.finish();
      const originals = ledger.flatMap((revised, i) =>
        revised === null && i >= first && i < end ? [i] : [],
      );
      expect(counted.map((index) => rootOf(ledger, index)).toSorted((a, b) => a - b)).toEqual(
        originals,
      );
      expect(counted.every((index) => !ledger.includes(index))).toBe(true);
    });
  });

  it('packs of ranges that follow each other count everything once', () => {
    forAll([anyRange], ([ledger, middle]) => {
      const countOf = (first: number, end: number): number => {
        const links = new RevisionLinks({ first, end, size: ledger.length });
        return packOf(ledger, first, end).filter((i) => links.take(walkedEntry(ledger, i))).length;
      };
      expect(countOf(0, middle) + countOf(middle, ledger.length)).toBe(countOf(0, ledger.length));
    });
  });

  it('a change of any one link is found', () => {
    forAll([anyRange, fc.nat(), fc.nat()], ([ledger, first, end], at, other) => {
      const pack = packOf(ledger, first, end);
      const changed = pack[at % pack.length]!;
      const size = ledger.length;
      const links = new RevisionLinks({ first, end, size });
      const honest = walkedEntry(ledger, changed).supersededBy;
      const claimed = other % (size + 1) === size ? null : other % (size + 1);
      fc.pre(claimed !== honest);
      const problem = thrownBy(PackProblem, () => {
        for (const index of pack) {
          const entry = walkedEntry(ledger, index);
          links.take(index === changed ? { ...entry, supersededBy: claimed } : entry);
        }
        links.finish();
      });
      expect(problem).toBeDefined();
    });
  });

  it('other bytes under a revision are found', () => {
    const ledger: Ledger = [null, 0];
    const links = new RevisionLinks({ first: 0, end: 2, size: 2 });
    links.take(walkedEntry(ledger, 0));
    const entry = walkedEntry(ledger, 1);
    const edited = { ...entry, revises: { leafIndex: 0, digest: digestOf(7) } };
    expect(() => links.take(edited)).toThrow(PackProblem);
  });

  it('a hundred thousand links of revisions take a few megabytes', () => {
    const count = 100_000;
    const links = new RevisionLinks({ first: 0, end: 2 * count, size: 2 * count });
    for (let index = 0; index < count; index += 1) {
      links.take({ index, supersededBy: count + index, digest: () => digestOf(0), revises: null });
    }
    expect(links.open).toBe(count);
    let counted = 0;
    for (let index = count; index < 2 * count; index += 1) {
      const revises = { leafIndex: index - count, digest: digestOf(0) };
      if (links.take({ index, supersededBy: null, digest: () => digestOf(0), revises }))
        counted += 1;
    }
    links.finish();
    expect(counted).toBe(count);
  });
});
