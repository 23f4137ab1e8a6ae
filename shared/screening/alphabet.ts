import { foldCodePoint, isLetterLike, LEET_DIGITS, LEET_MARKS } from './fold.ts';

/*
 * A pack's alphabet: every UTF-16 unit becomes a symbol below 256, the letters that the pack's terms do not use all
 * being the same symbol. The order of the classes is what the reader's comparisons rely on.
 */

/** White space, and the boundary of a word inside the automaton. */
export const SPACE = 0;
/** Separates words, but not chunks: `b.o.m.b` is four words in one chunk. */
export const MARK = 1;
/** Invisible: reads as if it were not there. */
export const DROP = 2;
/** Not one symbol: a ligature, an ideograph, a surrogate, or a unit that no text has had yet. */
export const EXPAND = 3;
/** An ideograph that no term uses: a word by itself that leads nowhere. */
export const IDEOGRAPH = 4;
const FIRST_LEET_MARK = 5;
const LEET_MARK_NAMES = Object.keys(LEET_MARKS);
/** From here on a symbol is part of a word. Digits come first. */
export const FIRST_DIGIT = FIRST_LEET_MARK + LEET_MARK_NAMES.length;
/** Any letter that no term of the pack uses. */
export const OTHER = FIRST_DIGIT + 10;
const FIRST_LETTER = OTHER + 1;
/** Symbols are bytes. */
const SYMBOLS_MAX = 256;

export interface Alphabet {
  /** The number of symbols: the width of the automaton's table. */
  readonly size: number;
  /** UTF-16 unit → symbol or class. Units that no text has had yet are `EXPAND` until `expand` has been asked for them. */
  readonly ofUnit: Uint8Array;
  /** Symbol → the symbol it stands for in leetspeak; itself for everything else. */
  readonly leetOf: Uint8Array;
  /** Symbols of a code point that `ofUnit` calls `EXPAND`. */
  expand(codePoint: number): Uint8Array;
  /** Symbols of text that is already folded to words and single spaces. */
  encode(folded: string): Uint8Array;
}

/** The alphabet of a set of folded terms. Throws `RangeError` when they use more letters than symbols exist. */
export function alphabetOf(foldedTerms: Iterable<string>): Alphabet {
  const symbolOf = numberLetters(foldedTerms);
  const ofUnit = new Uint8Array(65_536).fill(EXPAND);
  for (let code = 0; code < 128; code += 1) {
    const folded = foldCodePoint(code);
    ofUnit[code] = folded === '' ? DROP : symbolOfFolded(folded);
  }
  // Bounded by the first plane and some small blocks; equal expansions (most ideographs) are one array.
  const expansions = new Map<number, Uint8Array>();
  const shared = new Map<string, Uint8Array>();

  function symbolOfFolded(part: string): number {
    if (part === ' ') return SPACE;
    if (part === '.') return MARK;
    return symbolOf.get(part) ?? OTHER;
  }

  function expand(codePoint: number): Uint8Array {
    if (codePoint > 0xffff && !isLetterLike(codePoint)) {
      return foldCodePoint(codePoint) === '' ? NOTHING : ONE_MARK;
    }
    const known = expansions.get(codePoint);
    if (known !== undefined) return known;
    const fresh = shorten(Array.from(foldCodePoint(codePoint), symbolOfFolded));
    if (codePoint <= 0xffff && fresh.length <= 1) {
      ofUnit[codePoint] = fresh[0] ?? DROP;
      return fresh;
    }
    const symbols = shared.get(String(fresh)) ?? fresh;
    shared.set(String(fresh), symbols);
    expansions.set(codePoint, symbols);
    return symbols;
  }

  return {
    size: FIRST_LETTER + [...symbolOf.values()].filter((symbol) => symbol >= FIRST_LETTER).length,
    ofUnit,
    leetOf: leetTable(symbolOf),
    expand,
    encode: (folded) => {
      const symbols = new Uint8Array(folded.length);
      let length = 0;
      for (const letter of folded) symbols[length++] = symbolOfFolded(letter);
      return symbols.subarray(0, length);
    },
  };
}

function numberLetters(foldedTerms: Iterable<string>): Map<string, number> {
  const symbolOf = new Map<string, number>();
  LEET_MARK_NAMES.forEach((mark, i) => symbolOf.set(mark, FIRST_LEET_MARK + i));
  for (let digit = 0; digit < 10; digit += 1) symbolOf.set(String(digit), FIRST_DIGIT + digit);
  let next = FIRST_LETTER;
  const number = (letter: string): void => {
    if (letter === ' ' || symbolOf.has(letter)) return;
    if (next >= SYMBOLS_MAX) throw new RangeError('the terms use more letters than a pack may');
    symbolOf.set(letter, next);
    next += 1;
  };
  // The Latin letters always have symbols, since leetspeak stands for them.
  for (const letter of 'abcdefghijkmnopqrstuvwxyz') number(letter);
  for (const term of foldedTerms) for (const letter of term) number(letter);
  return symbolOf;
}

function leetTable(symbolOf: ReadonlyMap<string, number>): Uint8Array {
  const table = Uint8Array.from({ length: SYMBOLS_MAX }, (_, symbol) => symbol);
  for (const [from, to] of Object.entries({ ...LEET_MARKS, ...LEET_DIGITS })) {
    table[symbolOf.get(from)!] = symbolOf.get(to)!;
  }
  return table;
}

/** Letters that no term uses become one symbol: all of a Hangul syllable, or an ideograph. */
function shorten(symbols: readonly number[]): Uint8Array {
  if (String(symbols) === String([SPACE, OTHER, SPACE])) return Uint8Array.of(IDEOGRAPH);
  const unknown = symbols.length > 1 && symbols.every((symbol) => symbol === OTHER);
  return Uint8Array.from(unknown ? [OTHER] : symbols);
}

const NOTHING = new Uint8Array(0);
const ONE_MARK = Uint8Array.of(MARK);
