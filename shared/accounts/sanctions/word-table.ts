import {
  jaroWinkler,
  lettersMissing,
  letterMask,
  matchesNeeded,
  TOKEN_LENGTH_MAX,
} from './jaro-winkler.ts';

/** Short words differ by chance in one letter of three: they match exactly or not at all. */
const EXACT_LENGTH_MAX = 3;

/**
 * Words side by side in arrays, so that one word is compared with tens of thousands in a few
 * milliseconds. Most comparisons end at a count of letters: a word that lacks too many of the other's
 * letters cannot be similar enough, and words that begin differently must agree in more of the rest.
 */
export class WordTable {
  readonly #texts: readonly string[];
  readonly #lengths: Uint8Array;
  readonly #masks: Int32Array;
  readonly #initials: Uint8Array;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
    this.#lengths = Uint8Array.from(texts, (text) => text.length);
    this.#masks = Int32Array.from(texts, letterMask);
    this.#initials = Uint8Array.from(texts, (text) => text.charCodeAt(0));
  }

  /** Calls `visit(index, similarity)` for every word whose similarity with `token` is at least `min`. */
  eachSimilar(
    token: string,
    min: number,
    visit: (index: number, similarity: number) => void,
  ): void {
    if (token === '') return;
    const mask = letterMask(token);
    const initial = token.charCodeAt(0);
    const needed = { same: neededBy(token.length, min, 4), other: neededBy(token.length, min, 0) };
    for (let index = 0; index < this.#lengths.length; index += 1) {
      const length = this.#lengths[index]!;
      const table = this.#initials[index] === initial ? needed.same : needed.other;
      const matches = table[length]!;
      const candidate = this.#masks[index]!;
      if (lettersMissing(mask, candidate) > token.length - matches) continue;
      if (lettersMissing(candidate, mask) > length - matches) continue;
      const similarity = compare(token, this.#texts[index]!);
      if (similarity >= min) visit(index, similarity);
    }
  }
}

function compare(token: string, text: string): number {
  if (token.length <= EXACT_LENGTH_MAX || text.length <= EXACT_LENGTH_MAX) {
    return token === text ? 1 : 0;
  }
  return jaroWinkler(token, text);
}

/** For each length that the other word may have: how many characters must match. */
function neededBy(length: number, min: number, prefix: number): Float64Array {
  return Float64Array.from({ length: TOKEN_LENGTH_MAX + 1 }, (_, other) =>
    matchesNeeded(length, other, min, prefix),
  );
}
