import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildAutomaton } from '#shared/screening/automaton.ts';
import { forAll } from '#test/support/for-all.ts';

const symbols = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 40 });
const patterns = fc.array(
  fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 5 }),
  {
    minLength: 1,
    maxLength: 12,
  },
);

describe('the automaton', () => {
  it('finds exactly the patterns that end at each place, as a search for each of them would', () => {
    forAll([patterns, symbols], (wanted, text) => {
      const automaton = buildAutomaton(
        wanted.map((p) => Uint8Array.from(p)),
        3,
      );
      let state = 0;
      text.forEach((symbol, at) => {
        state = automaton.next[state * 3 + symbol]!;
        const [from, to] = [automaton.outputsAt[state]!, automaton.outputsAt[state + 1]!];
        const found = [...automaton.outputs.subarray(from, to)].toSorted((a, b) => a - b);
        const expected = wanted.flatMap((p, i) =>
          p.length <= at + 1 && p.every((s, j) => s === text[at + 1 - p.length + j]) ? [i] : [],
        );
        expect(found).toEqual(expected);
      });
    });
  });

  it('never finds an empty pattern', () => {
    const automaton = buildAutomaton([new Uint8Array(0), Uint8Array.of(1)], 2);
    expect([...automaton.outputs]).toEqual([1]);
  });

  it('refuses more states than its numbers can name', () => {
    const long = Uint8Array.from({ length: 70_000 }, () => 1);
    expect(() => buildAutomaton([long], 2)).toThrow(RangeError);
  });
});
