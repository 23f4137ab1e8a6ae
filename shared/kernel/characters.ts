/**
 * Which characters no text of a receipt or pack holds, as code points and ranges of them in hexadecimal digits. They are listed,
 * not asked of Unicode: a later version of it must not make a text bad that was good. verify.py has the same lists, which
 * `node dev/verifier-forms.ts` writes there.
 */

/**
 * What ends a line, turns its direction or shows nothing, halves of surrogate pairs, and letters that are blank: the
 * categories Cc, Cf, Cs, Zl and Zp and what is ignorable by default in Unicode 17, without what `BLANK` has, and the fillers of
 * Hangul, Khitan and music.
 */
export const UNSEEN =
  '0-1f 7f-9f ad 600-605 61c 6dd 70f 890-891 8e2 115f-1160 17b4-17b5 180e 200b 200e-200f 2028-202e 2060-206f 3164 ' +
  'd800-dfff feff ffa0 fff0-fffb 110bd 110cd 13430-1343f 16fe4 1bca0-1bca3 1d159 1d173-1d17a e0000-e00ff e01f0-e0fff';

/**
 * What is part of some writing and shows nothing by itself: spaces, joiners, and what selects the form of a letter. Words of
 * persons may have them beside others; names have U+0020 alone of them.
 */
export const BLANK =
  '20 a0 34f 1680 180b-180d 180f 2000-200a 200c-200d 202f 205f 2800 3000 fe00-fe0f e0100-e01ef';

/** The same, as what stands between the brackets of a regular expression with the flag `u`. */
function classOf(list: string): string {
  const points = list.split(' ').map((each) => each.replaceAll(/[0-9a-f]+/g, '\\u{$&}'));
  return points.join('');
}

/** Texts that hold nothing unseen, as a schema says it. */
export const SEEN_PATTERN = `^[^${classOf(UNSEEN)}]*$`;

const ANY_UNSEEN = new RegExp(`[${classOf(UNSEEN)}]`, 'gu');
const ALL_BLANK = new RegExp(`^[${classOf(BLANK)}]*$`, 'u');
const NOT_IN_NAMES = new RegExp(`(?! )[${classOf(UNSEEN)}${classOf(BLANK)}]`, 'u');

/** Whether words of persons show what they are: nothing of them is unseen, and they are not all blank. */
export function isSeen(words: string): boolean {
  return words.search(ANY_UNSEEN) === -1 && !ALL_BLANK.test(words);
}

/** The words with a space for each character that is unseen; empty where nothing would show. */
export function madeSeen(words: string): string {
  const seen = words.replaceAll(ANY_UNSEEN, ' ').trim();
  return ALL_BLANK.test(seen) ? '' : seen;
}

/** Whether a name that a program gives could be shown as another than it is. */
export function isDisguised(name: string): boolean {
  return NOT_IN_NAMES.test(name) || ALL_BLANK.test(name);
}
