import { exp, ln, power, powerOfTwoFrom } from './arithmetic.ts';

/** Longer than every published formula; what is in parentheses within it cannot lie too deep to be read. */
const FORMULA_LENGTH_MAX = 1_000;

const TOKEN = /\s*(?:(\d+(?:\.\d+)?(?:e-?\d+)?)|([A-Za-z_]\w*)|([-+*/^(),]))/y;

const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  exp,
  ln,
  sqrt: Math.sqrt,
  ceil: Math.ceil,
  min: Math.min,
  power_of_two_from: powerOfTwoFrom,
};

/**
 * The value of a formula as documents of methodologies and of lineage write them, with the arithmetic that estimates have.
 * @returns NaN for a text that is no formula, and for one of a symbol without a value
 */
export function evaluate(formula: string, valueOf: (symbol: string) => number | undefined): number {
  const tokens = tokensOf(formula);
  if (tokens === undefined) return Number.NaN;
  const reader = new Reader(tokens, valueOf);
  const value = reader.sum();
  return reader.isAtEnd ? value : Number.NaN;
}

function tokensOf(formula: string): string[] | undefined {
  if (formula.length > FORMULA_LENGTH_MAX) return undefined;
  const [tokens, text]: [string[], string] = [[], formula.trimEnd()];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const found = TOKEN.exec(text);
    if (found === null) return undefined;
    tokens.push(found[0].trim());
  }
  return tokens;
}

/** Reads from left to right; powers bind before products, and these before sums. */
class Reader {
  readonly #tokens: readonly string[];
  readonly #valueOf: (symbol: string) => number | undefined;
  #at = 0;

  constructor(tokens: readonly string[], valueOf: (symbol: string) => number | undefined) {
    this.#tokens = tokens;
    this.#valueOf = valueOf;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  sum(): number {
    let value = this.#product();
    for (;;) {
      if (this.#take('+')) value += this.#product();
      else if (this.#take('-')) value -= this.#product();
      else return value;
    }
  }

  #product(): number {
    let value = this.#power();
    for (;;) {
      if (this.#take('*')) value *= this.#power();
      else if (this.#take('/')) value /= this.#power();
      else return value;
    }
  }

  #power(): number {
    const base = this.#atom();
    return this.#take('^') ? power(base, this.#power()) : base;
  }

  #atom(): number {
    if (this.#take('(')) return this.#closed(this.sum());
    const token = this.#tokens[this.#at++] ?? '';
    if (/^\d/.test(token)) return Number(token);
    if (!/^\w/.test(token)) return Number.NaN;
    if (!this.#take('(')) return this.#valueOf(token) ?? Number.NaN;
    const values = [this.sum()];
    while (this.#take(',')) values.push(this.sum());
    const run = Object.hasOwn(FUNCTIONS, token) ? FUNCTIONS[token] : undefined;
    return this.#closed(run === undefined ? Number.NaN : run(...values));
  }

  #closed(value: number): number {
    return this.#take(')') ? value : Number.NaN;
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }
}
