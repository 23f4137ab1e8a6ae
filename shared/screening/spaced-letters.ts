import type { Automaton } from './automaton.ts';

/** Single letters in a row that make a spaced word; two are common in prose ("a I", initials). */
const LETTERS_MIN = 3;
/** Letters that count as one word: long words are common among those that people hide, and a gap should fit them. */
const LETTERS_PER_WORD = 8;

/** Words of one letter, read as the letters of longer words (`b o m b`). Where those end is unknown, so terms may begin and end anywhere. */
export class SpacedLetters {
  /** Terms that end with the letter last added. */
  found: readonly number[] = [];
  /** True when they begin after the end of those that were found before: they follow them as a word follows a word. */
  apart = false;
  readonly #automaton: Automaton;
  readonly #lettersOf: Uint16Array;
  #count = 0;
  #waiting: number[] = [];
  #state = 0;
  /** Place of the last letter of the terms that were found and stood apart. */
  #lastEnd = 0;

  constructor(automaton: Automaton, lettersOf: Uint16Array) {
    this.#automaton = automaton;
    this.#lettersOf = lettersOf;
  }

  /** Something else than a single letter has come. */
  end(): void {
    this.#count = 0;
  }

  /** Takes a letter. Returns whether it counts as the beginning of a word. */
  add(symbol: number): boolean {
    if (this.#count === 0) {
      this.#state = 0;
      this.#waiting = [];
      this.#lastEnd = 0;
    }
    this.#count += 1;
    this.found = NONE;
    if (this.#count < LETTERS_MIN) {
      this.#waiting.push(symbol);
      return true;
    }
    // No term is shorter than the letters that were waiting, so only the last step can find one.
    if (this.#count === LETTERS_MIN) for (const letter of this.#waiting) this.#step(letter);
    this.#step(symbol);
    this.#look();
    return this.#count % LETTERS_PER_WORD === 0;
  }

  #step(symbol: number): void {
    this.#state = this.#automaton.next[this.#state * this.#automaton.width + symbol]!;
  }

  #look(): void {
    const { outputs, outputsAt } = this.#automaton;
    const [from, to] = [outputsAt[this.#state]!, outputsAt[this.#state + 1]!];
    if (from === to) return;
    this.found = Array.from(outputs.subarray(from, to));
    const longest = Math.max(...this.found.map((term) => this.#lettersOf[term]!));
    this.apart = this.#count - longest >= this.#lastEnd;
    if (this.apart) this.#lastEnd = this.#count;
  }
}

const NONE: readonly number[] = [];
