/*
 * Folding works one code point at a time, so that a scan needs no normalised copy of the text. Decomposing (NFKD)
 * and dropping the marks gives the same letters whether the text came composed or not; what NFKC would unify
 * (full width, circled, mathematical letters, ligatures) is unified here as well.
 */

/** Marks that stand for letters in leetspeak. In the literal reading they separate words like any other mark. */
export const LEET_MARKS: Readonly<Record<string, string>> = {
  '@': 'a',
  $: 's',
  '!': 'i',
  '|': 'i',
  '+': 't',
};

/** Digits that stand for letters in leetspeak; 2 has no settled reading and stays a digit. */
export const LEET_DIGITS: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '6': 'g',
  '7': 't',
  '8': 'b',
  '9': 'g',
};

/**
 * Letters of other alphabets that are drawn like Latin ones, and Latin letters that Unicode does not decompose.
 * Upper and lower case are listed apart because they resemble different letters (Greek Ν is drawn N, ν is drawn v).
 * Each row: what it stands for, then the characters that stand for it.
 */
const LOOKALIKE_ROWS: readonly (readonly [string, string])[] = [
  ['a', 'АаΑαɑᴀ⍺ꓮᗅꭺ'],
  ['b', 'ВвЬьΒβʙƄɓᏴꓐ♭'],
  ['c', 'СсϹϲᴄⅽꓚƈ'],
  ['d', 'ԁԀᴅđĐðÐꓓɗɖⅾ'],
  ['e', 'ЕеΕεҽᴇəɛєЄꓰ℮€'],
  ['f', 'ꜰƒϝꓝẝ'],
  ['g', 'ɡɢԌԍցꓖɠ'],
  ['h', 'НнҺһΗʜհꓧħĦɦ'],
  ['i', 'ІіΙιıɪӀӏɩꓲʟꓡłŁǀɫⅼⅰ'],
  ['j', 'ЈјϳᴊȷꓙʝɈɉ'],
  ['k', 'КкΚκᴋꓗƙ'],
  ['m', 'МмΜᴍꓟɱⅿ'],
  ['n', 'ΝηɴПпոռꓠɲŋŊƞ'],
  ['o', 'ОоΟοσᴏօꓳøØөѳⲟɵ'],
  ['p', 'РрΡρᴘꓑþÞƥ'],
  ['q', 'ԛԚզɋ'],
  ['r', 'ʀгГɼꓣɽ'],
  ['s', 'ЅѕƽꜱꓢʂՏ'],
  ['t', 'ТтΤτᴛꓔŧŦƭ'],
  ['u', 'υᴜսИиμꓴʋʉ'],
  ['v', 'νѴѵᴠꓦⅴ'],
  ['w', 'ԜԝωᴡѡꓪɯшШ'],
  ['x', 'ХхΧχꓫⅹ'],
  ['y', 'УуΥγʏүҮꓬƴ'],
  ['z', 'ΖᴢꓜƶƵʐ'],
  ['ae', 'æÆ'],
  ['oe', 'œŒ'],
  ['ss', 'ßẞ'],
  ['!', '¡ǃ'],
  ['|', '¦∣'],
];

/** Character → the Latin letters it stands for. Marks of money and the like are handled as leetspeak, not here. */
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  LOOKALIKE_ROWS.flatMap(([letters, characters]) =>
    Array.from(characters, (c) => [c, letters] as const),
  ),
);

const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{M}\p{Cf}]/u;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
/** Scripts written without spaces: each character is taken as a word, so phrases are sequences of them. */
const IDEOGRAPH = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
/** Chains such as Ǆ → DŽ → dž → d + z end after four rounds; eight leaves room. */
const ROUNDS_MAX = 8;

/**
 * The reading of a code point: `''` when it is invisible, `' '` when it is white space, `'.'` when it only separates,
 * a leet mark as itself, otherwise lower-case letters and digits (several for a ligature; an ideograph stands
 * between spaces). `l` reads as `i`, because capital I, l, 1 and | are drawn alike. Folding twice changes nothing.
 */
export function foldCodePoint(codePoint: number): string {
  if (codePoint < 128) return foldAscii(codePoint);
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) return '.';
  if (codePoint > 0xffff) return foldAstral(codePoint);
  return reduce(foldRounds(String.fromCodePoint(codePoint), 0));
}

/**
 * The literal reading of a text: folded words with one space between them.
 * For tests and for people; the scan itself never builds it.
 */
export function normalise(text: string): string {
  let out = '';
  for (const character of text) {
    const folded = foldCodePoint(character.codePointAt(0)!);
    for (const part of folded) out += part === '.' || part in LEET_MARKS ? ' ' : part;
  }
  return out.trim().replaceAll(/ +/g, ' ');
}

function foldAscii(code: number): string {
  if (code === 0x20 || (code >= 9 && code <= 13)) return ' ';
  // Control characters are invisible; dropping them keeps a word with a NUL inside it whole.
  if (code < 0x20 || code === 0x7f) return '';
  const character = String.fromCharCode(code).toLowerCase();
  if (character === 'l') return 'i';
  if ((character >= 'a' && character <= 'z') || (code >= 0x30 && code <= 0x39)) return character;
  return character in LEET_MARKS ? character : '.';
}

/** Beyond the first plane only letter-like symbols read as letters; everything else (emoji above all) separates. */
function foldAstral(codePoint: number): string {
  if (codePoint >= 0x1f200 && codePoint < 0x1fbf0) return '.';
  if (codePoint >= 0x1f1e6 && codePoint <= 0x1f1ff) return latin(codePoint - 0x1f1e6);
  if (codePoint >= 0x1f150 && codePoint <= 0x1f169) return latin(codePoint - 0x1f150);
  if (codePoint >= 0x1f170 && codePoint <= 0x1f189) return latin(codePoint - 0x1f170);
  if (codePoint >= 0x1fbf0 && codePoint <= 0x1fbf9) return String(codePoint - 0x1fbf0);
  if (isLetterLike(codePoint)) return reduce(foldRounds(String.fromCodePoint(codePoint), 0));
  return isInvisibleAstral(codePoint) ? '' : '.';
}

/**
 * Modifier letters, outlined, mathematical and enclosed alphanumerics, and compatibility ideographs: the astral blocks that
 * decompose to letters.
 */
export function isLetterLike(codePoint: number): boolean {
  return (
    (codePoint >= 0x10780 && codePoint <= 0x107bf) ||
    (codePoint >= 0x1ccd6 && codePoint <= 0x1ccf9) ||
    (codePoint >= 0x1d400 && codePoint <= 0x1d7ff) ||
    (codePoint >= 0x1f100 && codePoint <= 0x1f1ff) ||
    (codePoint >= 0x2f800 && codePoint <= 0x2fa1f)
  );
}

/** Tags, variation selectors and musical or shorthand format controls. */
function isInvisibleAstral(codePoint: number): boolean {
  return (
    (codePoint >= 0xe0000 && codePoint <= 0xe0fff) ||
    (codePoint >= 0x1d173 && codePoint <= 0x1d17a) ||
    (codePoint >= 0x1bca0 && codePoint <= 0x1bca3)
  );
}

function latin(index: number): string {
  return foldAscii(0x61 + index);
}

function foldRounds(text: string, round: number): string {
  let out = '';
  for (const character of text.normalize('NFKD')) {
    const alike = LOOKALIKES.get(character);
    const code = character.codePointAt(0)!;
    if (alike !== undefined) out += Array.from(alike, (c) => foldAscii(c.charCodeAt(0))).join('');
    else if (code < 128) out += foldAscii(code);
    else if (INVISIBLE.test(character)) continue;
    else if (/\s/u.test(character)) out += ' ';
    else if (IDEOGRAPH.test(character)) out += ` ${character} `;
    else if (!LETTER_OR_DIGIT.test(character)) out += '.';
    else {
      const lower = character.toLowerCase();
      out += lower === character || round >= ROUNDS_MAX ? character : foldRounds(lower, round + 1);
    }
  }
  return out;
}

/** Long decompositions without a Latin letter or digit (an Arabic phrase in one character) read as one separator. */
function reduce(folded: string): string {
  return folded.length > 3 && !/[a-z0-9]/.test(folded) ? '.' : folded;
}
