import { jaroWinkler, jaroWinklerBound, letterMask, TOKEN_LENGTH_MAX } from './jaro-winkler.ts';
import type { ListedName } from './listed.ts';
import { tokensOf } from './tokens.ts';

/** Two tokens are taken for spellings of one word from here on; Jaro-Winkler of unrelated names stays below. */
const TOKEN_SIMILARITY_MIN = 0.86;
/** Names written as one word ("Alfabank") must agree better: long strings resemble each other by chance. */
const JOINED_SIMILARITY_MIN = 0.94;
const JOINED_LENGTH_MIN = 6;
/** A name found whole within a longer one counts almost as if it were the same. */
const CONTAINED_WEIGHT = 0.95;
/** … but only if enough of it is there: two words, eight letters. */
const CONTAINED_TOKENS_MIN = 2;
const CONTAINED_LETTERS_MIN = 8;
/** More matches than this are not read by anybody. */
const MATCHES_MAX = 50;

export interface NameMatch {
  listed: ListedName;
  /** 0..1 */
  score: number;
}

interface Word {
  text: string;
  mask: number;
  /** Names that hold it. */
  names: number[];
  /** Rarity: the logarithm of how many names there are for each that holds it. */
  weight: number;
}

/** Turns a name of any script into ASCII. */
export type Transliterate = (text: string) => string;

/**
 * Names of the lists, prepared for comparison. Words are compared once per distinct word, not once
 * per name, and most of those comparisons end at a bound; so a query against 50,000 names takes
 * milliseconds. Word order does not matter, rare words count more than common ones.
 */
export class NameIndex {
  readonly #listed: readonly ListedName[];
  readonly #words: readonly Word[];
  readonly #joined: readonly { text: string; mask: number }[];
  /** Per name: the sum of its words' weights, and their number. */
  readonly #weights: Float64Array;
  readonly #counts: Uint8Array;
  readonly #transliterate: Transliterate;

  constructor(listed: readonly ListedName[], transliterate: Transliterate) {
    this.#listed = listed;
    this.#transliterate = transliterate;
    const tokens = listed.map(({ name }) => [...new Set(tokensOf(transliterate(name)))]);
    this.#words = collectWords(tokens);
    this.#joined = listed.map(({ name }) => joined(tokensOf(transliterate(name))));
    this.#counts = Uint8Array.from(tokens, (list) => list.length);
    this.#weights = new Float64Array(listed.length);
    for (const word of this.#words) {
      for (const name of word.names) this.#weights[name]! += word.weight;
    }
  }

  get size(): number {
    return this.#listed.length;
  }

  /** Listed names that resemble `name` with a score of at least `scoreMin`, best first, one per entity. */
  search(name: string, scoreMin: number): NameMatch[] {
    const tokens = tokensOf(this.#transliterate(name));
    const scores = this.#scoreByWords([...new Set(tokens)]);
    this.#scoreByJoined(joined(tokens), scores);
    const best = new Map<string, NameMatch>();
    for (const [index, score] of scores) {
      if (score < scoreMin) continue;
      const listed = this.#listed[index]!;
      const entity = `${listed.source}:${listed.entityId}`;
      if ((best.get(entity)?.score ?? 0) < score) best.set(entity, { listed, score });
    }
    return [...best.values()].toSorted((a, b) => b.score - a.score).slice(0, MATCHES_MAX);
  }

  #scoreByWords(tokens: readonly string[]): Map<number, number> {
    // Name → for each query token, the best similarity with one of its words.
    const found = new Map<number, Float64Array>();
    const weights = tokens.map(() => Math.log(this.#listed.length + 1));
    for (const [position, token] of tokens.entries()) {
      const mask = letterMask(token);
      for (const word of this.#words) {
        const similarity = compare(token, mask, word, TOKEN_SIMILARITY_MIN);
        if (similarity === 0) continue;
        // A token weighs what the rarest word it resembles closely weighs, and all when it is unknown.
        if (similarity === 1) weights[position] = word.weight;
        for (const name of word.names) {
          let row = found.get(name);
          if (row === undefined) found.set(name, (row = new Float64Array(tokens.length)));
          if (row[position]! < similarity) row[position] = similarity;
        }
      }
    }
    const queryWeight = weights.reduce((sum, weight) => sum + weight, 0);
    const scores = new Map<number, number>();
    for (const [name, row] of found) {
      scores.set(name, this.#score(name, { row, tokens, weights, queryWeight }));
    }
    return scores;
  }

  #score(
    name: number,
    query: {
      row: Float64Array;
      tokens: readonly string[];
      weights: readonly number[];
      queryWeight: number;
    },
  ): number {
    let matched = 0;
    let count = 0;
    let letters = 0;
    for (const [position, token] of query.tokens.entries()) {
      const similarity = query.row[position]!;
      if (similarity === 0) continue;
      matched += similarity * query.weights[position]!;
      count += 1;
      letters += token.length;
    }
    const nameWeight = this.#weights[name]!;
    const whole = Math.min(1, (2 * matched) / (query.queryWeight + nameWeight));
    const shorter = Math.min(query.tokens.length, this.#counts[name]!);
    const isContained =
      count >= shorter && count >= CONTAINED_TOKENS_MIN && letters >= CONTAINED_LETTERS_MIN;
    if (!isContained) return whole;
    const contained = Math.min(1, matched / Math.min(query.queryWeight, nameWeight));
    return Math.max(whole, contained * CONTAINED_WEIGHT);
  }

  /** Spaces come and go: "Alfa Bank" and "Alfabank" share no word. */
  #scoreByJoined(query: { text: string; mask: number }, scores: Map<number, number>): void {
    if (query.text.length < JOINED_LENGTH_MIN) return;
    for (const [name, candidate] of this.#joined.entries()) {
      if (candidate.text.length < JOINED_LENGTH_MIN) continue;
      const similarity = compare(query.text, query.mask, candidate, JOINED_SIMILARITY_MIN);
      if (similarity > (scores.get(name) ?? 0)) scores.set(name, similarity);
    }
  }
}

function collectWords(tokens: readonly (readonly string[])[]): readonly Word[] {
  const words = new Map<string, Word>();
  for (const [name, list] of tokens.entries()) {
    for (const text of list) {
      const word = words.get(text);
      if (word === undefined) {
        words.set(text, { text, mask: letterMask(text), names: [name], weight: 0 });
      } else {
        word.names.push(name);
      }
    }
  }
  for (const word of words.values()) {
    // At least a fifth of the highest: a common first name is still part of a name.
    const rarest = Math.log(tokens.length + 1);
    word.weight = Math.max(rarest / 5, Math.log((tokens.length + 1) / word.names.length));
  }
  return [...words.values()];
}

function joined(tokens: readonly string[]): { text: string; mask: number } {
  const text = tokens.join('').slice(0, TOKEN_LENGTH_MAX);
  return { text, mask: letterMask(text) };
}

/** The similarity, or 0 where it is below `min`. */
function compare(
  token: string,
  mask: number,
  candidate: { text: string; mask: number },
  min: number,
): number {
  const { text } = candidate;
  if (jaroWinklerBound(token.length, mask, text.length, candidate.mask) < min) return 0;
  // Short words differ by chance in one letter of three: they match exactly or not at all.
  if (token.length <= 3 || text.length <= 3) return token === text ? 1 : 0;
  const similarity = jaroWinkler(token, text);
  return similarity < min ? 0 : similarity;
}
