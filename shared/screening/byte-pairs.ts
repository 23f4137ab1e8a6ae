/** No token of the common vocabularies is longer (128 spaces in o200k_base and cl100k_base). */
export const TOKEN_BYTES_MAX = 128;
/** Merging takes quadratic time in the length of a word, and a hostile "word" may be megabytes long. */
const MERGED_BYTES_MAX = 256;
/** Before the first token of a word. */
const NONE = -1;
/** Holds the last `TOKEN_BYTES_MAX` places of a word, and is a power of two. */
const RING = 256;
/** So much work is done between two reports on a long word. */
const STEPS_PER_REPORT = 4_096;

/** How many tokens bytes make; between two bounds where it is the beginning of a word that goes on. */
export interface PartCount {
  tokens: number;
  lower: number;
  upper: number;
  bytes: number;
  /** Work so far: the same for the same text on any machine. A step takes 0.1 µs at most. */
  steps: number;
}

export const NOTHING: PartCount = { tokens: 0, lower: 0, upper: 0, bytes: 0, steps: 0 };

/**
 * The byte pairs of a vocabulary: of a word those two neighbours become one that have the lowest rank together, until no
 * two have one. Bytes are written as the characters of their codes (latin1).
 */
export class BytePairs {
  readonly #texts: string[] = [];
  readonly #ranks = new Map<string, number>();
  /** By the last three bytes of tokens, how long those may be that end so, longest first. */
  #lengths: Map<string, readonly number[]> | undefined;
  /** The two tokens that a token is merged from; null for single bytes, and for those that are never merged. */
  readonly #halves = new Map<number, readonly [number, number] | null>();

  /** Adds the token of the next rank, by its bytes. */
  add(text: string): void {
    this.#ranks.set(text, this.#texts.push(text) - 1);
  }

  has(word: string): boolean {
    return this.#ranks.has(word);
  }

  /** Counts the tokens of a word that is none itself; of a long one it reports how far it is, and last the whole. */
  *count(word: string): Generator<PartCount> {
    const bytes = word.length;
    if (bytes > MERGED_BYTES_MAX) yield* this.#countLong(word);
    else {
      const tokens = this.#merged(word).length - 1;
      yield counted(tokens, bytes, 4 * bytes + Math.ceil(bytes ** 2 / 256));
    }
  }

  /** Where the tokens of a word begin, and where the last of them ends, when only ranks below this are merged. */
  #merged(word: string, below = Infinity): number[] {
    const starts = Array.from({ length: word.length + 1 }, (_, at) => at);
    const rankAt = (at: number): number => {
      const end = starts[at + 2];
      return (end === undefined ? end : this.#ranks.get(word.slice(starts[at], end))) ?? Infinity;
    };
    const ranks = starts.map((_, at) => rankAt(at));
    for (;;) {
      let lowest = below;
      let place = -1;
      for (let at = 0; at < ranks.length; at += 1) {
        if (ranks[at]! >= lowest) continue;
        lowest = ranks[at]!;
        place = at;
      }
      if (place === -1) return starts;
      starts.splice(place + 1, 1);
      ranks.splice(place + 1, 1);
      ranks[place] = rankAt(place);
      if (place > 0) ranks[place - 1] = rankAt(place - 1);
    }
  }

  /**
   * Counts a word from its first byte to its last. What a word is merged to up to the end of one of its tokens is what its
   * beginning up to there is merged to; so the last token of each beginning, and there is only one that the token before
   * it allows, follows from those of shorter beginnings. Takes time in proportion to the word.
   */
  *#countLong(word: string): Generator<PartCount> {
    const counts = new Int32Array(RING);
    const lasts = new Int32Array(RING);
    const allowed = new Map<number, boolean>();
    let steps = 0;
    let reported = 0;
    if (this.#lengths === undefined) {
      const making = lengthsByEnd(this.#texts);
      let made = making.next();
      for (; made.done !== true; made = making.next()) yield { ...NOTHING };
      this.#lengths = made.value;
    }
    const lengthsAt = this.#lengths;
    for (let end = 1; end <= word.length; end += 1) {
      for (const length of lengthsAt.get(word.slice(Math.max(0, end - 3), end)) ?? SHORT) {
        const begin = end - length;
        if (begin < 0) continue;
        steps += LOOK_STEPS;
        const token = this.#ranks.get(word.slice(begin, end));
        if (token === undefined) continue;
        const before = begin === 0 ? NONE : lasts[begin % RING]!;
        const pair = before * this.#texts.length + token;
        let isAllowed = allowed.get(pair);
        if (isAllowed === undefined) {
          steps += PAIR_STEPS;
          isAllowed = this.#isMade(token) && (before === NONE || this.#mayFollow(before, token));
          allowed.set(pair, isAllowed);
        }
        if (!isAllowed) continue;
        counts[end % RING] = (before === NONE ? 0 : counts[begin % RING]!) + 1;
        lasts[end % RING] = token;
        break;
      }
      if (end === word.length) yield counted(counts[end % RING]!, end, steps);
      else if (steps - reported > STEPS_PER_REPORT) {
        reported = steps;
        yield { ...boundsAt(end, counts), bytes: end, steps };
      }
    }
  }

  /**
   * Whether these two tokens can stand beside each other: while they are put together, in the order of ranks, nothing that
   * ends the one is merged with anything that begins the other.
   */
  #mayFollow(left: number, right: number): boolean {
    let limit = Infinity;
    for (;;) {
      const joined = this.#ranks.get(this.#texts[left]! + this.#texts[right]!);
      if (joined !== undefined && joined < limit) return false;
      // Undoes the merge that came last.
      const halves = { left: this.#halvesOf(left), right: this.#halvesOf(right) };
      if (halves.left !== null && (halves.right === null || left > right)) {
        limit = left;
        left = halves.left[1];
      } else if (halves.right !== null) {
        // At the same rank the pair on the left comes first.
        limit = right + 1;
        right = halves.right[0];
      } else return true;
    }
  }

  /** Whether a token is ever merged: of some, parts are merged with others first. */
  #isMade(token: number): boolean {
    return this.#texts[token]!.length === 1 || this.#halvesOf(token) !== null;
  }

  #halvesOf(token: number): readonly [number, number] | null {
    let halves = this.#halves.get(token);
    if (halves === undefined) {
      const text = this.#texts[token]!;
      const starts = this.#merged(text, token);
      const rank = (from: number, to?: number): number => this.#ranks.get(text.slice(from, to))!;
      halves = starts.length === 3 ? [rank(0, starts[1]), rank(starts[1]!)] : null;
      this.#halves.set(token, halves);
    }
    return halves;
  }
}

/** Lengths of tokens that have no third byte from their end. */
const SHORT: readonly number[] = [2, 1];
/** Looked through in some milliseconds. */
const TEXTS_PER_PART = 4_096;
/** A look at a vocabulary of that size, which no processor's cache holds. */
const LOOK_STEPS = 2;
/** Undoing the merges of two tokens, one after the other. */
const PAIR_STEPS = 64;

function counted(tokens: number, bytes: number, steps: number): PartCount {
  return { tokens, lower: tokens, upper: tokens, bytes, steps };
}

/** What the beginning of a word has to do with the count of the whole: one of its last places ends a token of that. */
function boundsAt(
  end: number,
  counts: Int32Array,
): { tokens: number; lower: number; upper: number } {
  const tokens = counts[end % RING]!;
  let lower = tokens;
  let upper = tokens;
  for (let back = 1; back < TOKEN_BYTES_MAX && back <= end; back += 1) {
    const count = counts[(end - back) % RING]!;
    lower = Math.min(lower, count);
    upper = Math.max(upper, count + back);
  }
  return { tokens, lower, upper };
}

/** Of a vocabulary, in parts: there are 200,000. */
function* lengthsByEnd(
  texts: readonly string[],
): Generator<void, Map<string, readonly number[]>, void> {
  const found = new Map<string, number[]>();
  for (const [token, text] of texts.entries()) {
    if (token % TEXTS_PER_PART === 0) yield;
    if (text.length < 3) continue;
    const end = text.slice(-3);
    const lengths = found.get(end);
    if (lengths === undefined) found.set(end, [text.length, ...SHORT]);
    else if (!lengths.includes(text.length)) lengths.push(text.length);
  }
  let sorted = 0;
  for (const lengths of found.values()) {
    sorted += 1;
    if (sorted % TEXTS_PER_PART === 0) yield;
    lengths.sort((a, b) => b - a);
  }
  return found;
}
