import { type Alphabet, DROP, EXPAND, FIRST_DIGIT, MARK, OTHER, SPACE } from './alphabet.ts';
import type { Automaton } from './automaton.ts';

/** What a reader needs: the alphabet and two automata over the same terms. */
export interface ReadingTables {
  alphabet: Alphabet;
  /** Terms with their word boundaries. */
  words: Automaton;
  /** Terms with the spaces taken out, for letters that stand apart (`b o m b`). */
  squeezed: Automaton;
  /** Per state of `words`: 1 when the last thing read is a boundary. */
  atBoundary: Uint8Array;
  /** Per term: its number of words. */
  wordsOf: Uint8Array;
}

/** Told of each term found; `start` and `end` are numbers of words, and `end` never decreases. */
export type Found = (term: number, start: number, end: number) => void;

/** Told where words lie in the text, for `explain`. */
export interface Trace {
  word(number: number, from: number): void;
  wordEnd(number: number, to: number): void;
}

/** A lane that agrees with the literal reading and is not run. */
const IDLE = -1;
/** Single letters in a row that make a spaced word; two are common in prose ("a I", initials). */
const SPACED_LETTERS_MIN = 3;
/** Letters of a spaced word that count as one word, so that gaps keep about the size they have in plain text. */
const SPACED_LETTERS_PER_WORD = 4;

/**
 * Reads text once, left to right, in up to four readings at a time:
 * literal; leet (`b0mb`); joined (`b-o-m-b`, marks inside a chunk dropped); squeezed (`b o m b`).
 * The other readings start where they begin to differ from the literal one and end where they agree with it again,
 * so plain text costs one table look-up per character.
 */
export class Reader {
  /** Work done so far: one per character, and one per step of a further reading and per term found. */
  steps = 0;
  /** Number of the word being read. */
  word = 0;
  readonly #tables: ReadingTables;
  readonly #found: Found;
  readonly #trace: Trace | undefined;
  readonly #start: number;
  #literal: number;
  #leet = IDLE;
  #joined = IDLE;
  /** Letters of the current word of the literal reading. */
  #letters = 0;
  /** Its first symbol, as leetspeak reads it. */
  #first = 0;
  /** True from the first letter of a chunk to the white space after it. */
  #inChunk = false;
  /** The single letters before this one, up to `SPACED_LETTERS_MIN`. */
  #spaced: number[] = [];
  #spacedCount = 0;
  #squeezed = 0;
  #lastEnd = 0;

  constructor(tables: ReadingTables, found: Found, trace?: Trace) {
    this.#tables = tables;
    this.#found = found;
    this.#trace = trace;
    this.#start = tables.words.next[SPACE]!;
    this.#literal = this.#start;
  }

  /** Begins anew, with word numbers that go on `apart` words later. */
  restart(apart: number): void {
    this.word += apart;
    this.#lastEnd = this.word;
    this.#literal = this.#start;
    this.#leet = IDLE;
    this.#joined = IDLE;
    this.#letters = 0;
    this.#inChunk = false;
    this.#spacedCount = 0;
  }

  /**
   * Reads `text` from unit `from` to about `to`; a word may continue in the next call.
   * Returns where to go on: `to`, or one further where a surrogate pair would have been cut.
   */
  read(text: string, from: number, to: number): number {
    const { ofUnit } = this.#tables.alphabet;
    const { next, width, outputsAt } = this.#tables.words;
    this.steps += to - from;
    let i = from;
    for (; i < to; i += 1) {
      const symbol = ofUnit[text.charCodeAt(i)]!;
      if (symbol >= OTHER && this.#leet + this.#joined === IDLE + IDLE) {
        if (this.#letters === 0) this.#beginWord(symbol, i);
        this.#letters += 1;
        const state = next[this.#literal * width + symbol]!;
        this.#literal = state;
        if (outputsAt[state] !== outputsAt[state + 1]) this.#report(state);
      } else if (symbol !== EXPAND) this.#step(symbol, i);
      else i += this.#expand(text, i) - 1;
    }
    return i;
  }

  /** The end of a text separates words as a space does. `at` is the text's length. */
  endText(at: number): void {
    this.#space(at);
  }

  #beginWord(symbol: number, at: number): void {
    this.word += 1;
    this.#first = this.#tables.alphabet.leetOf[symbol]!;
    this.#inChunk = true;
    this.#trace?.word(this.word, at);
  }

  /** Returns how many units the code point takes. */
  #expand(text: string, at: number): number {
    const codePoint = text.codePointAt(at)!;
    const symbols = this.#tables.alphabet.expand(codePoint);
    this.steps += symbols.length;
    for (const symbol of symbols) this.#step(symbol, at);
    return codePoint > 0xffff ? 2 : 1;
  }

  /** One symbol of any class but `EXPAND`, in every reading that is being run. */
  #step(symbol: number, at: number): void {
    if (symbol === DROP) return;
    if (symbol === SPACE) this.#space(at);
    else if (symbol === MARK) this.#mark(at);
    else this.#letter(symbol, at);
  }

  #space(at: number): void {
    this.#endWord(at);
    if (this.#leet !== IDLE) this.#leet = this.#boundary(this.#leet);
    if (this.#joined !== IDLE) this.#joined = this.#boundary(this.#joined);
    if (this.#joined === this.#literal || this.#joined === this.#leet) this.#joined = IDLE;
    if (this.#leet === this.#literal) this.#leet = IDLE;
    this.#inChunk = false;
  }

  /** A mark ends the word, but the joined reading goes on as if it were not there. */
  #mark(at: number): void {
    if (this.#joined === IDLE && this.#inChunk) {
      this.#joined = this.#leet === IDLE ? this.#literal : this.#leet;
    }
    this.#endWord(at);
    if (this.#leet !== IDLE) this.#leet = this.#boundary(this.#leet);
  }

  /** A letter, a digit, or a leet mark (which the literal reading takes for a mark). */
  #letter(symbol: number, at: number): void {
    const alike = this.#tables.alphabet.leetOf[symbol]!;
    if (alike !== symbol && this.#leet === IDLE) this.#leet = this.#literal;
    if (symbol < FIRST_DIGIT) this.#endWord(at);
    else {
      if (this.#letters === 0) this.#beginWord(symbol, at);
      this.#letters += 1;
      this.#literal = this.#advance(this.#literal, symbol);
    }
    if (this.#leet !== IDLE) this.#leet = this.#advance(this.#leet, alike);
    if (this.#joined !== IDLE) this.#joined = this.#advance(this.#joined, alike);
  }

  /** Ends the literal reading's word, if it is in one. */
  #endWord(at: number): void {
    if (this.#letters === 0) return;
    this.#trace?.wordEnd(this.word, at);
    this.#literal = this.#boundary(this.#literal);
    if (this.#letters === 1) this.#spacedLetter(at);
    else this.#spacedCount = 0;
    this.#letters = 0;
  }

  #boundary(state: number): number {
    return this.#tables.atBoundary[state] === 1 ? state : this.#advance(state, SPACE);
  }

  #advance(state: number, symbol: number): number {
    const { next, width, outputsAt } = this.#tables.words;
    this.steps += 1;
    const after = next[state * width + symbol]!;
    if (outputsAt[after] !== outputsAt[after + 1]) this.#report(after);
    return after;
  }

  #report(state: number): void {
    const { outputs, outputsAt } = this.#tables.words;
    const to = outputsAt[state + 1]!;
    // Spaced letters take back part of a word's number; what was reported before them keeps its place.
    this.#lastEnd = Math.max(this.#lastEnd, this.word);
    for (let i = outputsAt[state]!; i < to; i += 1) {
      const term = outputs[i]!;
      this.steps += 1;
      this.#found(term, this.#lastEnd - this.#tables.wordsOf[term]! + 1, this.#lastEnd);
    }
  }

  /** A word of one letter: after a few of them in a row they are read as the letters of spaced words. */
  #spacedLetter(at: number): void {
    if (this.#spacedCount === 0) {
      this.#squeezed = 0;
      this.#spaced = [];
    }
    this.#spacedCount += 1;
    this.#spaced.push(this.#first);
    if (this.#spacedCount < SPACED_LETTERS_MIN) return;
    if (this.#spacedCount % SPACED_LETTERS_PER_WORD !== 0) this.word -= 1;
    for (const symbol of this.#spaced) this.#squeeze(symbol, at);
    this.#spaced = [];
  }

  /** Terms found among spaced letters each take a place of their own, so that they never overlap. */
  #squeeze(symbol: number, at: number): void {
    const { next, width, outputs, outputsAt } = this.#tables.squeezed;
    this.steps += 1;
    const state = next[this.#squeezed * width + symbol]!;
    this.#squeezed = state;
    const to = outputsAt[state + 1]!;
    if (outputsAt[state] === to) return;
    this.word += 1;
    this.#lastEnd = Math.max(this.#lastEnd, this.word);
    this.#trace?.word(this.word, at - 1);
    this.#trace?.wordEnd(this.word, at);
    for (let i = outputsAt[state]!; i < to; i += 1) {
      this.steps += 1;
      this.#found(outputs[i]!, this.#lastEnd, this.#lastEnd);
    }
  }
}
