import { symbolsOf } from '#shared/methodology/formula.ts';

/** The functions that a published formula may use, in the platform's own arithmetic, not the product's. */
const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  exp: Math.exp,
  ln: Math.log,
  sqrt: Math.sqrt,
  ceil: Math.ceil,
  min: Math.min,
  power_of_two_from: (count) => 2 ** Math.max(0, Math.ceil(Math.log2(count))),
};

/** Evaluates a published formula by nothing but its text: an independent reading of the methodology document. */
export function evaluate(formula: string, values: ReadonlyMap<string, number>): number {
  if (!/^[A-Za-z0-9_+\-*/^()., ]+$/.test(formula)) throw new Error(`not an expression: ${formula}`);
  const symbols = symbolsOf(formula);
  const args = symbols.map((symbol) => {
    const value = values.get(symbol);
    if (value === undefined) throw new Error(`${symbol} has no value in ${formula}`);
    return value;
  });
  const names = [...Object.keys(FUNCTIONS), ...symbols];
  // oxlint-disable-next-line typescript/no-implied-eval -- the text is the product's own, and reading it is the point
  const run = new Function(...names, `return ${formula.replaceAll('^', '**')};`);
  return run(...Object.values(FUNCTIONS), ...args) as number;
}
