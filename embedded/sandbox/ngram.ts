import { readFileSync } from 'node:fs';
import { encode } from './tokens.ts';

/** Stands where a paragraph begins; beyond every o200k_base id (199,998 of them). */
export const START = 262_142;
/** Stands where a paragraph ends: sampling it finishes the answer. */
export const END = 262_143;
/** One more than the largest id, so that a pair of ids is one number below 2^36. */
const ID_SPAN = 262_144;

/** The tokens that may come next: ids by falling count, then by rising id, so that order never depends on chance. */
export interface Candidates {
  readonly tokens: readonly number[];
  readonly counts: readonly number[];
  readonly total: number;
}

type Counts = Map<number, Map<number, number>>;

function bump(table: Counts, context: number, token: number): void {
  let row = table.get(context);
  if (row === undefined) table.set(context, (row = new Map()));
  row.set(token, (row.get(token) ?? 0) + 1);
}

function freeze(row: ReadonlyMap<number, number>): Candidates {
  const ranked = [...row].toSorted((a, b) => b[1] - a[1] || a[0] - b[0]);
  let total = 0;
  for (const [, count] of ranked) total += count;
  return { tokens: ranked.map(([id]) => id), counts: ranked.map(([, count]) => count), total };
}

/**
 * Word n-grams with back-off. The words are the tokenizer's own tokens (for this text nearly always a
 * whole word with its space), so every step is exactly one counted token and has a real probability.
 */
export class TextModel {
  readonly #afterTwo = new Map<number, Candidates>();
  readonly #afterOne = new Map<number, Candidates>();
  /** Every token of the text: what is left when no context helps. */
  readonly anywhere: Candidates;
  /** Words so frequent that finding one in a prompt says nothing about its topic. */
  readonly common: ReadonlySet<number>;

  constructor(text: string) {
    const afterTwo: Counts = new Map();
    const afterOne: Counts = new Map();
    const anywhere = new Map<number, number>();
    for (const paragraph of text.split(/\n{2,}/)) {
      const trimmed = paragraph.trim();
      if (trimmed === '') continue;
      let [before, last] = [START, START];
      for (const token of [...encode(trimmed), END]) {
        bump(afterTwo, before * ID_SPAN + last, token);
        bump(afterOne, last, token);
        anywhere.set(token, (anywhere.get(token) ?? 0) + 1);
        [before, last] = [last, token];
      }
    }
    for (const [context, row] of afterTwo) this.#afterTwo.set(context, freeze(row));
    for (const [context, row] of afterOne) this.#afterOne.set(context, freeze(row));
    this.anywhere = freeze(anywhere);
    this.common = new Set(this.anywhere.tokens.slice(0, 50));
  }

  /**
   * The distribution after two tokens: of the longest context seen with more than one continuation.
   * A context with a single one would only quote the text, so it backs off to the shorter context.
   */
  after(before: number, last: number): Candidates {
    const two = this.#afterTwo.get(before * ID_SPAN + last);
    if (two !== undefined && two.tokens.length > 1) return two;
    return this.#afterOne.get(last) ?? two ?? this.anywhere;
  }
}

/** The model of the text that ships with the sandbox. */
export function shippedModel(): TextModel {
  return new TextModel(readFileSync(new URL('./almanac.txt', import.meta.url), 'utf8'));
}
