import {
  type Alphabet,
  DROP,
  EXPAND,
  FIRST_DIGIT,
  IDEOGRAPH,
  MARK,
  OTHER,
  SPACE,
} from './alphabet.ts';
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
/** No word in leetspeak begins with more digits; a longer number is read as letters too. */
const NUMBER_DIGITS_MAX = 32;
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
  // What every step looks at, one load away instead of three.
  readonly #next: Uint16Array;
  readonly #width: number;
  readonly #outputsAt: Uint32Array;
  readonly #atBoundary: Uint8Array;
  readonly #leetOf: Uint8Array;
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
  /** The digits that the current word begins with, as leetspeak reads them: a number until a letter follows. */
  #number: number[] = [];
  /** The literal state before them. */
  #beforeNumber = 0;
  /** True from the first letter (not digit) of a chunk to the white space after it. */
  #inChunk = false;
  /** The single letters before this one, up to `SPACED_LETTERS_MIN`. */
  #spaced: number[] = [];
  #spacedCount = 0;
  #squeezed = 0;
  #lastEnd = 0;

  constructor(tables: ReadingTables, found: Found, trace?: Trace) {
    this.#tables = tables;
    this.#next = tables.words.next;
    this.#width = tables.words.width;
    this.#outputsAt = tables.words.outputsAt;
    this.#atBoundary = tables.atBoundary;
    this.#leetOf = tables.alphabet.leetOf;
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
    this.#number = [];
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
    while (i < to) {
      // Plain words, with the state in a local variable: nearly all text passes through this loop alone.
      if (this.#leet + this.#joined === IDLE + IDLE && this.#number.length === 0) {
        let state = this.#literal;
        let letters = this.#letters;
        for (; i < to; i += 1) {
          const symbol = ofUnit[text.charCodeAt(i)]!;
          if (symbol >= OTHER) {
            if (letters === 0) this.#beginWord(symbol, i);
            letters += 1;
            state = next[state * width + symbol]!;
          } else if (symbol === SPACE && letters > 1) {
            this.#trace?.wordEnd(this.word, i);
            this.#spacedCount = 0;
            this.#inChunk = false;
            letters = 0;
            state = next[state * width]!;
          } else break;
          if (outputsAt[state] !== outputsAt[state + 1]) this.#report(state);
        }
        this.#literal = state;
        this.#letters = letters;
      }
      if (i < to) i += this.#unit(text, i, ofUnit[text.charCodeAt(i)]!);
    }
    return i;
  }

  /** The end of a text separates words as a space does. `at` is the text's length. */
  endText(at: number): void {
    this.#space(at);
  }

  #beginWord(symbol: number, at: number): void {
    this.word += 1;
    this.#first = this.#leetOf[symbol]!;
    if (symbol >= OTHER) this.#inChunk = true;
    this.#trace?.word(this.word, at);
  }

  /** Takes whatever stands at `at`, in every reading; returns how many units it is long. */
  #unit(text: string, at: number, symbol: number): number {
    if (symbol !== EXPAND) {
      this.#step(symbol, at);
      return 1;
    }
    const codePoint = text.codePointAt(at)!;
    const symbols = this.#tables.alphabet.expand(codePoint);
    this.steps += symbols.length;
    for (const each of symbols) this.#step(each, at);
    return codePoint > 0xffff ? 2 : 1;
  }

  /** One symbol of any class but `EXPAND`, in every reading that is being run. */
  #step(symbol: number, at: number): void {
    if (symbol === DROP) return;
    if (symbol === SPACE) this.#space(at);
    else if (symbol === MARK) this.#mark(at);
    else if (symbol === IDEOGRAPH) this.#ideograph(at);
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

  #ideograph(at: number): void {
    this.#space(at);
    this.word += 1;
    this.#spacedCount = 0;
    this.#literal = this.#start;
    this.#leet = IDLE;
    this.#joined = IDLE;
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
    const alike = this.#leetOf[symbol]!;
    if (this.#leet === IDLE) this.#beginLeet(symbol, alike);
    if (symbol < FIRST_DIGIT) this.#endWord(at);
    else {
      if (this.#letters === 0) this.#beginWord(symbol, at);
      else if (symbol >= OTHER) this.#inChunk = true;
      this.#letters += 1;
      this.#literal = this.#advance(this.#literal, symbol);
    }
    if (this.#leet !== IDLE) this.#leet = this.#advance(this.#leet, alike);
    if (this.#joined !== IDLE) this.#joined = this.#advance(this.#joined, alike);
  }

  /** A number is left alone: leetspeak mixes digits with letters. */
  #beginLeet(symbol: number, alike: number): void {
    const digits = this.#number;
    const isDigit = symbol >= FIRST_DIGIT && symbol < OTHER;
    if (
      isDigit &&
      (this.#letters === 0 || digits.length > 0) &&
      digits.length < NUMBER_DIGITS_MAX
    ) {
      if (digits.length === 0) this.#beforeNumber = this.#literal;
      digits.push(alike);
    } else if (digits.length > 0) {
      this.#leet = this.#beforeNumber;
      for (const digit of digits) this.#leet = this.#advance(this.#leet, digit);
      this.#number = [];
    } else if (alike !== symbol) this.#leet = this.#literal;
  }

  /** A single digit may stand for a word of one letter (`how do 1`); a longer number stays a number. */
  #endNumber(): void {
    const [digit, ...more] = this.#number;
    if (more.length === 0) this.#leet = this.#advance(this.#beforeNumber, digit!);
    this.#number = [];
  }

  /** Ends the literal reading's word, if it is in one. */
  #endWord(at: number): void {
    if (this.#letters === 0) return;
    if (this.#number.length > 0) this.#endNumber();
    this.#trace?.wordEnd(this.word, at);
    this.#literal = this.#boundary(this.#literal);
    if (this.#letters === 1) this.#spacedLetter(at);
    else this.#spacedCount = 0;
    this.#letters = 0;
  }

  #boundary(state: number): number {
    return this.#atBoundary[state] === 1 ? state : this.#advance(state, SPACE);
  }

  #advance(state: number, symbol: number): number {
    this.steps += 1;
    const after = this.#next[state * this.#width + symbol]!;
    if (this.#outputsAt[after] !== this.#outputsAt[after + 1]) this.#report(after);
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
