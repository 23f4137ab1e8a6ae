import anyAscii from 'any-ascii';
import { TOKEN_LENGTH_MAX } from './jaro-winkler.ts';

/** Tokens of one name that take part: more than an applicant's 200 characters hold. */
const TOKENS_MAX = 128;

/** Forms of company, in Latin letters: every second company has one, so they tell nothing apart. */
const LEGAL_FORMS = words(
  'ab ag ao as asa bhd bv co company corp corporation dba eood fze fzc fzco gmbh group holding ' +
    'holdings inc incorporated jsc kg kk limited llc llp lp ltd ltda lda nv oao ooo oy oyj pao pjsc ' +
    'plc pllc pte pty pvt sa sarl sas sdn se sl spa srl sro the und and of for zao',
);

/** Particles and titles that come and go between spellings of a person's name. */
const PARTICLES = words(
  'al el bin ibn bint abu de del der di da dos van von la le mr mrs ms dr prof sheikh sayyid haji',
);

/** Words of trade that half of all firms share; they count little, however seldom a list has them. */
const GENERIC = words(
  'air airlines agency aviation bank center centre chemical commercial construction defence defense ' +
    'development digital electronics energy engineering enterprise enterprises export factory ' +
    'finance financial foundation gas general global heavy import industrial industries industry ' +
    'institute insurance international invest investment investments laboratory lines logistics ' +
    'machinery management manufacturing marine maritime metal metals mining ministry national oil ' +
    'organisation organization overseas petrochemical petroleum plant power production products ' +
    'research science scientific security service services shipping software solutions state steel ' +
    'systems technical technologies technology telecom trade trading transport university works world',
);

/**
 * Letters that different romanisations write differently, brought to one form. Applied in this order
 * to both sides of a comparison: `Kwantowitsch` and `Kvantovich` become the same word.
 */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/tsch|tch|cz/g, 'ch'],
  [/sch|sz/g, 'sh'],
  [/dzh|dj|zh/g, 'j'],
  [/kh|gh/g, 'h'],
  [/ck|q/g, 'k'],
  [/ph/g, 'f'],
  [/w/g, 'v'],
  [/ou|oo/g, 'u'],
  [/ee|y/g, 'i'],
  [/([a-z])\1+/g, '$1'],
];

/**
 * A name of any script in ASCII letters. Accents are taken off first (NFKD), so that `é` is `e` and a
 * base letter with several marks still becomes that letter.
 */
export function transliterate(text: string): string {
  return anyAscii(text.normalize('NFKD').replaceAll(/\p{M}/gu, ''));
}

/**
 * The telling words of a name that has been transliterated to ASCII, each once: lower case, spelt in
 * one way, without punctuation, legal forms and particles. A name of nothing else keeps them.
 */
export function tokensOf(ascii: string): readonly string[] {
  const all = split(ascii);
  const telling = all.filter((token) => !LEGAL_FORMS.has(token) && !PARTICLES.has(token));
  return [...new Set((telling.length > 0 ? telling : all).map(foldSpelling))];
}

/** A name as one word, for spellings that differ in their spaces. Particles stay, since they are written together with names. */
export function joinedOf(ascii: string): string {
  const telling = split(ascii).filter((token) => !LEGAL_FORMS.has(token));
  return foldSpelling(telling.join('')).slice(0, TOKEN_LENGTH_MAX);
}

/** True for a word of trade that says little about which party it names. The word must have been folded. */
export function isGeneric(token: string): boolean {
  return FOLDED_GENERIC.has(token);
}

function split(ascii: string): string[] {
  return (
    ascii
      .toLowerCase()
      // Apostrophes and full stops stand within a word: Sa'id, O'Neill, S.p.A.
      .replaceAll(/['`".]/g, '')
      .split(/[^a-z0-9]+/)
      .filter((token) => token !== '')
      .slice(0, TOKENS_MAX)
      .map((token) => token.slice(0, TOKEN_LENGTH_MAX))
  );
}

function foldSpelling(token: string): string {
  return SPELLINGS.reduce((text, [from, to]) => text.replaceAll(from, to), token);
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}

const FOLDED_GENERIC: ReadonlySet<string> = new Set([...GENERIC].map(foldSpelling));
