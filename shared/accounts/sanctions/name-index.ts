import type { ListedName } from './listed.ts';
import { isGeneric, joinedOf, tokensOf, transliterate } from './tokens.ts';
import { WordTable } from './word-table.ts';

/** Two words are taken for spellings of one from here on; Jaro-Winkler of unrelated names stays below. */
const WORD_SIMILARITY_MIN = 0.86;
/** Names written as one word ("Alfabank") must agree better: long strings resemble each other by chance. */
const JOINED_SIMILARITY_MIN = 0.94;
const JOINED_LENGTH_MIN = 6;
/** A name found whole within a longer one counts almost as if it were the same … */
const CONTAINED_WEIGHT = 0.95;
/** … if enough of it is there: two words, eight letters, half of what the longer name has to tell. */
const CONTAINED_WORDS_MIN = 2;
const CONTAINED_LETTERS_MIN = 8;
const CONTAINED_SHARE_MIN = 0.5;
/** A common word is still part of a name: it weighs at least a fifth of a unique one. */
const COMMON_WEIGHT_MIN = 0.2;
/**
 * An applicant's text that has more words than any name of a list is compared run by run as well: words put around a listed
 * name would otherwise outweigh it. Of these lengths one is such that a listed name is half of it and more.
 */
const WORDS_LISTED_MAX = 16;
const RUN_LENGTHS = [2, 3, 5, 8, 12] as const;
/** Matches of one name that are kept: no reviewer reads more. */
const MATCHES_MAX = 50;

export interface NameMatch {
  listed: ListedName;
  /** 0..1 */
  score: number;
}

/** Some of a query's words in a row, and what they weigh together. */
interface Run {
  from: number;
  to: number;
  weight: number;
}

/** A query's words, what each weighs, and the runs of them that are compared: the first is all of them. */
interface Query {
  words: readonly string[];
  weights: readonly number[];
  runs: readonly Run[];
}

/**
 * Names of the lists, prepared for comparison. Words are compared once per distinct word, not once
 * per name. Word order does not matter; rare words count more than common ones.
 */
export class NameIndex {
  readonly #listed: readonly ListedName[];
  readonly #words: WordTable;
  readonly #joined: WordTable;
  /** Per word: the names that hold it, and what it weighs. */
  readonly #holders: readonly (readonly number[])[];
  readonly #wordWeights: ReadonlyMap<string, number>;
  /** Per name: the weight of all its words, and their number. */
  readonly #nameWeights: Float64Array;
  readonly #nameCounts: Uint8Array;

  constructor(listed: readonly ListedName[]) {
    this.#listed = listed;
    const ascii = listed.map(({ name }) => transliterate(name));
    const names = ascii.map(tokensOf);
    const holders = holdersOf(names);
    this.#holders = [...holders.values()];
    this.#words = new WordTable([...holders.keys()]);
    this.#joined = new WordTable(ascii.map(joinedOf));
    this.#wordWeights = new Map(
      [...holders].map(([word, { length }]) => [word, this.#weigh(word, length)]),
    );
    this.#nameCounts = Uint8Array.from(names, ({ length }) => length);
    this.#nameWeights = Float64Array.from(names, (words) => this.#sum(words));
  }

  get size(): number {
    return this.#listed.length;
  }

  /** Listed names that resemble `name` with a score of at least `scoreMin`, best first, one per entity. */
  search(name: string, scoreMin: number): NameMatch[] {
    const ascii = transliterate(name);
    const scores = this.#scoreByWords(tokensOf(ascii));
    const joined = joinedOf(ascii);
    if (joined.length >= JOINED_LENGTH_MIN) {
      this.#joined.eachSimilar(joined, JOINED_SIMILARITY_MIN, (index, similarity) => {
        if (similarity > (scores.get(index) ?? 0)) scores.set(index, similarity);
      });
    }
    const best = new Map<string, NameMatch>();
    for (const [index, score] of scores) {
      if (score < scoreMin) continue;
      const listed = this.#listed[index]!;
      const entity = `${listed.source}:${listed.entityId}`;
      if ((best.get(entity)?.score ?? 0) < score) best.set(entity, { listed, score });
    }
    return [...best.values()].toSorted((a, b) => b.score - a.score).slice(0, MATCHES_MAX);
  }

  #scoreByWords(words: readonly string[]): Map<number, number> {
    // Name → for each of the query's words, how well it is found there.
    const found = new Map<number, Float64Array>();
    for (const [position, word] of words.entries()) {
      this.#words.eachSimilar(word, WORD_SIMILARITY_MIN, (index, similarity) => {
        for (const name of this.#holders[index]!) {
          let row = found.get(name);
          if (row === undefined) found.set(name, (row = new Float64Array(words.length)));
          if (row[position]! < similarity) row[position] = similarity;
        }
      });
    }
    const weights = words.map((word) => this.#wordWeights.get(word) ?? this.#weigh(word, 1));
    const query: Query = { words, weights, runs: runsOf(weights) };
    const scores = new Map<number, number>();
    for (const [name, row] of found) {
      // Most share one word with it, which no run makes a name of.
      const shared = row.reduce((count, similarity) => count + (similarity > 0 ? 1 : 0), 0);
      const runs = shared < CONTAINED_WORDS_MIN ? query.runs.slice(0, 1) : query.runs;
      scores.set(name, Math.max(...runs.map((run) => this.#score(name, row, query, run))));
    }
    return scores;
  }

  /** Shared weight over the weight of both, or over the shorter one where it is found whole. */
  #score(name: number, row: Float64Array, { words, weights }: Query, run: Run): number {
    let matched = 0;
    let count = 0;
    let letters = 0;
    for (let position = run.from; position < run.to; position += 1) {
      const similarity = row[position]!;
      if (similarity === 0) continue;
      matched += similarity * weights[position]!;
      count += 1;
      letters += words[position]!.length;
    }
    const nameWeight = this.#nameWeights[name]!;
    const whole = Math.min(1, (2 * matched) / (run.weight + nameWeight));
    const isContained =
      count >= Math.min(run.to - run.from, this.#nameCounts[name]!) &&
      count >= CONTAINED_WORDS_MIN &&
      letters >= CONTAINED_LETTERS_MIN &&
      matched >= CONTAINED_SHARE_MIN * Math.max(run.weight, nameWeight);
    if (!isContained) return whole;
    const contained = Math.min(1, matched / Math.min(run.weight, nameWeight));
    return Math.max(whole, contained * CONTAINED_WEIGHT);
  }

  /** 1 for a word of one name only, less the more names hold it. */
  #weigh(word: string, holders: number): number {
    if (isGeneric(word)) return COMMON_WEIGHT_MIN;
    const rarest = Math.log(this.#listed.length + 1);
    const rarity = Math.log((this.#listed.length + 1) / holders) / (rarest === 0 ? 1 : rarest);
    return Math.max(COMMON_WEIGHT_MIN, rarity);
  }

  #sum(words: readonly string[]): number {
    return words.reduce(
      (sum, word) => sum + (this.#wordWeights.get(word) ?? this.#weigh(word, 1)),
      0,
    );
  }
}

function runsOf(weights: readonly number[]): Run[] {
  const run = (from: number, to: number): Run => ({
    from,
    to,
    weight: weights.slice(from, to).reduce((sum, weight) => sum + weight, 0),
  });
  const all = run(0, weights.length);
  if (weights.length <= WORDS_LISTED_MAX) return [all];
  const parts = RUN_LENGTHS.flatMap((length) =>
    Array.from({ length: weights.length - length + 1 }, (_, from) => run(from, from + length)),
  );
  return [all, ...parts];
}

function holdersOf(names: readonly (readonly string[])[]): Map<string, number[]> {
  const holders = new Map<string, number[]>();
  for (const [name, words] of names.entries()) {
    for (const word of words) {
      const known = holders.get(word);
      if (known === undefined) holders.set(word, [name]);
      else known.push(name);
    }
  }
  return holders;
}
