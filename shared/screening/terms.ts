import { normalise } from './fold.ts';

/** A phrase as the automaton takes it. */
export interface Term {
  /** As the pack writes it, alternatives resolved: what `explain` shows. */
  text: string;
  /** Folded words with single spaces. */
  folded: string;
  /** Matches words that go on (`synthes*` finds `synthesis`). */
  open: boolean;
  /** Number of words. */
  words: number;
}

/** Longer phrases say nothing that a shorter one would not; the histories hold 32 words, which this leaves room in. */
export const TERM_WORDS_MAX = 7;
/** A term of one or two letters would be found everywhere. */
const TERM_LETTERS_MIN = 3;
/** An open term shorter than this would be the beginning of too many words. */
const OPEN_LETTERS_MIN = 4;
/** The most alternatives of one written term. More is a mistake of the author's. */
const ALTERNATIVES_MAX = 512;

/**
 * Resolves a written term: `(a|b)` are alternatives (one may be empty: `bomb(|s)`), a final `*` leaves the last
 * word open. Throws `SyntaxError` with a sentence that says what is wrong.
 */
export function parseTerm(written: string): Term[] {
  const variants = resolve(written);
  const unique = new Map<string, Term>();
  for (const variant of variants) {
    const open = variant.endsWith('*');
    const text = (open ? variant.slice(0, -1) : variant).trim().replaceAll(/\s+/g, ' ');
    if (/[*()|]/.test(text))
      throw new SyntaxError('"*" may only end a term, and "( | )" must be paired');
    const folded = normalise(text);
    const letters = Array.from(folded.replaceAll(' ', '')).length;
    const ideographs = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}/u.test(folded);
    if (letters < (ideographs ? 2 : open ? OPEN_LETTERS_MIN : TERM_LETTERS_MIN)) {
      throw new SyntaxError(`"${variant}" is too short to mean anything by itself`);
    }
    const words = folded.split(' ').length;
    if (words > TERM_WORDS_MAX)
      throw new SyntaxError(`"${variant}" has over ${TERM_WORDS_MAX} words`);
    unique.set(`${folded}${open ? '*' : ''}`, {
      text: open ? `${text}*` : text,
      folded,
      open,
      words,
    });
  }
  return [...unique.values()];
}

/** Innermost alternatives first, until none is left. */
function resolve(written: string): string[] {
  let variants = [written];
  for (;;) {
    const found = /\(([^()]*)\)/.exec(variants[0]!);
    if (found === null) return variants;
    variants = variants.flatMap((variant) => {
      const group = /\(([^()]*)\)/.exec(variant)!;
      const [before, after] = [
        variant.slice(0, group.index),
        variant.slice(group.index + group[0].length),
      ];
      return group[1]!.split('|').map((choice) => before + choice + after);
    });
    if (variants.length > ALTERNATIVES_MAX) {
      throw new SyntaxError(`more than ${ALTERNATIVES_MAX} alternatives in one term`);
    }
  }
}
