import type { Alphabet } from './alphabet.ts';
import type { Automaton } from './automaton.ts';

/** What a reader needs: the alphabet and two automata over the same terms. */
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
export type Found = (term: number, start: number, end: number) => void;

/** Told where words lie in the text, for `explain`. */
export interface Trace {
  word(number: number, from: number): void;
  wordEnd(number: number, to: number): void;
}
