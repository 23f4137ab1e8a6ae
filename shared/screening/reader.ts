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
import { SpacedLetters } from './spaced-letters.ts';

/** The tables of a reader: the alphabet and two automata over the same terms. */
export interface ReadingTables {
  alphabet: Alphabet;
  /** Terms with their word boundaries. */
  words: Automaton;
  /** Terms with the spaces taken out, for letters that stand apart (`b o m b`); short ones that only excuse are left out. */
  squeezed: Automaton;
  /** Per state of `words`: 1 when the last thing read is a boundary. */
  atBoundary: Uint8Array;
  /** Per term: its number of words, and of letters. */
  wordsOf: Uint8Array;
  lettersOf: Uint16Array;
}

/** Told of each term found; `start` and `end` are numbers of words, and `end` never decreases. */
type Found = (term: number, start: number, end: number) => void;

/** Told where words lie in the text, for `explain`. */
export interface Trace {
  word(number: number, from: number): void;
  wordEnd(number: number, to: number): void;
}

/** A lane that agrees with the literal reading and is not run. */
const IDLE = -1;
/** No word in leetspeak begins with more digits; a longer number is read as letters too. */
const NUMBER_DIGITS_MAX = 32;
/** A leet mark as a separator: any symbol between `IDEOGRAPH` and `FIRST_DIGIT` will do. */
const LEET = IDEOGRAPH + 1;

/**
 * Reads text once, left to right, in up to four readings at a time:
 * literal; leet (`b0mb`); joined (`b-o-m-b`, marks inside a chunk dropped); spaced (`b o m b`).
 * The other readings start where they begin to differ from the literal one and end where they agree with it again,
 * so plain text costs one table look-up per character.
 */
export class Reader {
  /** Work done so far: one per character, and one per step of a further reading and per term found. */
  steps = 0;
  /** Number of the word being read. */
  word = 0;
  readonly #tables: ReadingTables;
  // Every step looks at these; here they are one load away instead of three.
  readonly #next: Uint16Array;
  readonly #width: number;
  readonly #outputsAt: Uint32Array;
  readonly #atBoundary: Uint8Array;
  readonly #leetOf: Uint8Array;
  readonly #found: Found;
  readonly #trace: Trace | undefined;
  readonly #start: number;
  readonly #spaced: SpacedLetters;
  #literal: number;
  #leet = IDLE;
  #joined = IDLE;
  /** Letters of the current word of the literal reading, its first symbol, and what stood before it. */
  #letters = 0;
  #first = 0;
  #before = SPACE;
  /** True when its chunk had letters before it. */
  #glued = false;
  /** The separator that the next word will have before it. */
  #separator = SPACE;
  /** The last number reported. */
  #lastEnd = 0;
  /** The digits that the current word begins with, as leetspeak reads them: a number until a letter follows. */
  #number: number[] = [];
  /** The literal state before them. */
  #beforeNumber = 0;
  /** True from the first letter (not digit) of a chunk to the white space after it. */
  #inChunk = false;

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
    this.#spaced = new SpacedLetters(tables.squeezed, tables.lettersOf);
  }

  /** Begins anew, with word numbers that go on `apart` words later. */
  restart(apart: number): void {
    this.word += apart;
    this.#lastEnd = this.word;
    this.#literal = this.#start;
    this.#leet = IDLE;
    this.#joined = IDLE;
    this.#letters = 0;
    this.#separator = SPACE;
    this.#number = [];
    this.#inChunk = false;
    this.#spaced.end();
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
          } else if (symbol === SPACE && letters > 2) {
            // Words this long end here as `#endWord` would end them.
            this.#trace?.wordEnd(this.word, i);
            this.#spaced.end();
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
    this.#before = this.#separator;
    this.#separator = SPACE;
    this.#glued = this.#inChunk;
    if (symbol >= OTHER) this.#inChunk = true;
    this.#trace?.word(this.word, at);
  }

  /** Takes the character at `at`, in every reading; returns its length in units. */
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
    this.#separator = SPACE;
  }

  #ideograph(at: number): void {
    this.#space(at);
    this.#spaced.end();
    this.word += 1;
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
    this.#separator = MARK;
  }

  /** A letter, a digit, or a leet mark (which the literal reading takes for a mark). */
  #letter(symbol: number, at: number): void {
    const alike = this.#leetOf[symbol]!;
    if (this.#leet === IDLE) this.#beginLeet(symbol, alike);
    if (symbol < FIRST_DIGIT) {
      this.#endWord(at);
      // A chunk of nothing but leet marks is a word as well.
      if (this.#separator === SPACE && !this.#inChunk) this.#beginWord(symbol, at);
      this.#separator = LEET;
    } else {
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
    const letters = this.#letters;
    if (letters === 0) return;
    if (this.#number.length > 0) this.#endNumber();
    this.#trace?.wordEnd(this.word, at);
    this.#literal = this.#boundary(this.#literal);
    this.#letters = 0;
    const whole = this.#isWhole(letters);
    if (!whole) this.#takeBack(at);
    if (letters === 1 && !this.#glued) this.#spacedLetter(at);
    else this.#spaced.end();
  }

  /** False for a fragment: a letter after a mark (`b.o.m.b`), or a few after a leet mark (`m@t3r!@l`). */
  #isWhole(letters: number): boolean {
    return letters > (this.#before === LEET ? 2 : this.#before === MARK ? 1 : 0);
  }

  /** The last word was part of the one before it. A word whose number was reported keeps it. */
  #takeBack(at: number): void {
    if (this.#lastEnd >= this.word) return;
    this.word -= 1;
    this.#trace?.wordEnd(this.word, at);
  }

  /** Spaced letters are words to the literal reading: most of their numbers are taken back. */
  #spacedLetter(at: number): void {
    const counts = this.#spaced.add(this.#first);
    if (!counts) this.#takeBack(at);
    const found = this.#spaced.found;
    this.steps += 1 + found.length;
    if (found.length === 0) return;
    if (this.#spaced.apart) this.word = Math.max(this.word, this.#lastEnd) + 1;
    this.#lastEnd = Math.max(this.#lastEnd, this.word);
    this.#trace?.word(this.#lastEnd, at - 1);
    this.#trace?.wordEnd(this.#lastEnd, at);
    for (const term of found) this.#found(term, this.#lastEnd, this.#lastEnd);
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
    // Fragments take their numbers back; what was reported before them keeps its place.
    this.#lastEnd = Math.max(this.#lastEnd, this.word);
    for (let i = outputsAt[state]!; i < to; i += 1) {
      const term = outputs[i]!;
      this.steps += 1;
      this.#found(term, this.#lastEnd - this.#tables.wordsOf[term]! + 1, this.#lastEnd);
    }
  }
}
