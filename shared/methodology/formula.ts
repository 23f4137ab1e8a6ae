/** One step of a methodology, as it is published and as it stands in a lineage document. */
export interface Formula {
  /** The symbol that the step defines. */
  readonly symbol: string;
  readonly name: string;
  readonly unit: string;
  /**
   * An expression over symbols and numbers with + - * / ^ and parentheses, and the functions exp, ln, sqrt,
   * ceil, min and power_of_two_from (the smallest power of two that is at least its argument).
   * Evaluated from left to right in IEEE 754 binary64, it gives the number that the code gives.
   */
  readonly formula: string;
  /** When this one of several formulas for the same symbol applies. */
  readonly when?: string;
}

/** A number that belongs to the method itself. */
export interface Constant {
  readonly value: number;
  readonly unit: string;
  readonly meaning: string;
  /** Ids in the sources of the methodology document. */
  readonly sources: readonly string[];
}

const SYMBOL = /[A-Za-z_][A-Za-z0-9_]*/g;
const FUNCTIONS: ReadonlySet<string> = new Set([
  'exp',
  'ln',
  'sqrt',
  'ceil',
  'min',
  'power_of_two_from',
]);

/** The symbols that a formula reads, in order of appearance, each once. */
export function symbolsOf(formula: string): readonly string[] {
  const found = formula.match(SYMBOL) ?? [];
  return [...new Set(found)].filter((symbol) => !FUNCTIONS.has(symbol));
}
