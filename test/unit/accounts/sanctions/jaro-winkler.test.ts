import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  jaroWinkler,
  letterMask,
  lettersMissing,
  matchesNeeded,
} from '#shared/accounts/sanctions/jaro-winkler.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const token = fc.string({
  unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789'.split('')),
  minLength: 1,
  maxLength: 20,
});

describe('Jaro-Winkler', () => {
  it('gives the values that Winkler published', () => {
    // W. E. Winkler, "Overview of Record Linkage and Current Research Directions" (2006), table 6.
    const published: [string, string, number][] = [
      ['shackleford', 'shackelford', 0.982],
      ['dunningham', 'cunnigham', 0.896],
      ['nichleson', 'nichulson', 0.956],
      ['jones', 'johnson', 0.832],
      ['massey', 'massie', 0.933],
      ['abroms', 'abrams', 0.922],
      ['jeraldine', 'geraldine', 0.926],
      ['marhta', 'martha', 0.961],
      ['michelle', 'michael', 0.921],
      ['julies', 'julius', 0.933],
      ['tanya', 'tonya', 0.88],
      ['dwayne', 'duane', 0.84],
      ['sean', 'susan', 0.805],
      ['jon', 'john', 0.933],
    ];
    for (const [a, b, value] of published) expect(jaroWinkler(a, b)).toBeCloseTo(value, 3);
  });

  it('is symmetric, within 0..1, and 1 only for the same text', () => {
    forAll([token, token], (a, b) => {
      const similarity = jaroWinkler(a, b);
      expect(similarity).toBeCloseTo(jaroWinkler(b, a), 12);
      expect(similarity).toBeGreaterThanOrEqual(0);
      expect(similarity === 1).toBe(a === b);
    });
  });

  it('is never reached with fewer common letters than the pruning demands', () => {
    forAll(
      [token, token, fc.double({ min: 0.5, max: 1, noNaN: true })],
      { numRuns: runs(5_000) },
      (a, b, min) => {
        if (jaroWinkler(a, b) < min) return;
        const prefix = a[0] === b[0] ? 4 : 0;
        const needed = matchesNeeded(a.length, b.length, min, prefix);
        expect(a.length - lettersMissing(letterMask(a), letterMask(b))).toBeGreaterThanOrEqual(
          needed,
        );
        expect(b.length - lettersMissing(letterMask(b), letterMask(a))).toBeGreaterThanOrEqual(
          needed,
        );
      },
    );
  });
});
