import { describe, expect, it } from 'vitest';
import { PUBLISHED_FORMULAS } from '#shared/methodology/docket-1-end-formulas.ts';
import { evaluate } from '#shared/methodology/evaluate.ts';
import { symbolsOf } from '#shared/methodology/formula.ts';
import { evaluate as byAnother } from './formula-evaluator.ts';

describe('formulas by their text', () => {
  it.for(PUBLISHED_FORMULAS)(
    '$symbol = $formula has the value that another reader finds',
    ({ formula }) => {
      const symbols = symbolsOf(formula);
      // Different from each other, and such that shares are shares.
      const values = new Map(symbols.map((symbol, i) => [symbol, 40 - i * 1.25]));
      const value = evaluate(formula, (symbol) => values.get(symbol));
      expect(value / byAnother(formula, values)).toBeCloseTo(1, 12);
    },
  );

  it.each([
    '',
    '1 +',
    '(1',
    '1)',
    'x',
    'unknown(1)',
    'constructor(1)',
    '1 2',
    '$',
    '('.repeat(2_000),
  ])('%s is no formula, and has no value', (text) => {
    expect(evaluate(text, () => undefined)).toBeNaN();
  });
});
