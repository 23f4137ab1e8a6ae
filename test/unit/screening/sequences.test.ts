import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildSequences, SequenceMatcher } from '#shared/screening/sequences.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { packOf } from './policies.ts';

/*
 * The matcher keeps bit histories; the model below looks at every combination of terms. Terms 0 to 2 are the elements
 * of a sequence, term 3 a break and term 4 a guard.
 */
interface Hit {
  term: number;
  start: number;
  end: number;
}

const NAMES = ['one', 'two', 'three', 'stop', 'guard'];
const WITHIN = 3;

const hits = fc
  .array(
    fc.record({
      term: fc.integer({ min: 0, max: 4 }),
      step: fc.integer({ min: 0, max: 3 }),
      words: fc.integer({ min: 1, max: 4 }),
    }),
    { maxLength: 30 },
  )
  .map((items) => {
    let end = 10;
    return items.map(({ term, step, words }): Hit => {
      end += step;
      return { term, start: end - words + 1, end };
    });
  });

function model(all: readonly Hit[], gap: number): number[] {
  const isGuarded = (hit: Hit, index: number): boolean =>
    all.some(
      (g, i) => i < index && g.term === 4 && g.end >= hit.start - WITHIN && g.end <= hit.end,
    );
  const follows = (a: Hit, b: Hit, index: number): boolean =>
    b.start > a.end &&
    b.start - a.end - 1 <= gap &&
    !all.some((s, i) => i < index && s.term === 3 && s.start > a.end && s.start < b.start);
  const reached = (element: number, index: number): boolean => {
    const hit = all[index]!;
    if (hit.term !== element) return false;
    if (element === 0) return !isGuarded(hit, index);
    return all.some(
      (before, i) => i < index && reached(element - 1, i) && follows(before, hit, index),
    );
  };
  return all.flatMap((_, index) => (reached(2, index) ? [index] : []));
}

describe('the matcher of sequences', () => {
  it.each([0, 2, 5])('completes exactly where some choice of terms does, gap %i', (gap) => {
    const pack = packOf(
      Object.fromEntries(NAMES.map((name) => [name, [`${name}term`]])),
      [{ sequence: [['one'], ['two'], ['three']], gap, break: ['stop'] }],
      { guard: { groups: ['guard'], within: WITHIN } },
    );
    const tables = buildSequences(
      pack,
      NAMES.map((name) => new Set([name])),
    );
    forAll([hits], { numRuns: runs(500) }, (all) => {
      const matcher = new SequenceMatcher(tables, false);
      const completed: number[] = [];
      all.forEach((hit, index) =>
        matcher.take(hit.term, hit.start, hit.end, () => completed.push(index)),
      );
      expect(completed).toEqual(model(all, gap));
    });
  });

  it('shares the steps that patterns have in common', () => {
    const groups = Object.fromEntries(NAMES.map((name) => [name, [`${name}term`]]));
    const pack = packOf(groups, [
      { sequence: [['one'], ['two'], ['three']] },
      { sequence: [['one'], ['two'], ['stop']] },
    ]);
    expect(buildSequences(pack, []).parents).toEqual([-1, 0, 1, 1]);
  });
});
