import { TOKEN_LENGTH_MAX } from './jaro-winkler.ts';

/** Tokens of one name that take part; lists know names of a dozen, an applicant's text may be longer. */
const TOKENS_MAX = 16;

/** Forms of company, in Latin letters: every second company has one, so they tell nothing apart. */
const LEGAL_FORMS: ReadonlySet<string> = new Set(
  (
    'ab ag ao as asa bhd bv co company corp corporation dba eood fze fzc fzco gmbh group holding ' +
    'holdings inc incorporated international jsc kg kk limited llc llp lp ltd ltda lda nv oao ooo ' +
    'oy oyj pao pjsc plc pllc pte pty pvt sa sarl sas sdn se sl spa srl sro the und and of for zao'
  ).split(' '),
);

/** Particles and titles that come and go between spellings of a person's name. */
const PARTICLES: ReadonlySet<string> = new Set(
  'al el bin ibn bint abu de del der di da dos van von la le mr mrs ms dr prof sheikh sayyid haji'.split(
    ' ',
  ),
);

/**
 * The tokens of a name that has been transliterated to ASCII, in their order: lower case, without
 * punctuation, legal forms and particles. A name that consists of nothing else keeps them.
 */
export function tokensOf(ascii: string): readonly string[] {
  const all = ascii
    .toLowerCase()
    // Apostrophes and full stops stand within a word: Sa'id, O'Neill, S.p.A.
    .replaceAll(/['`".]/g, '')
    .split(/[^a-z0-9]+/)
    .filter((token) => token !== '')
    .slice(0, TOKENS_MAX)
    .map((token) => token.slice(0, TOKEN_LENGTH_MAX));
  const telling = all.filter((token) => !LEGAL_FORMS.has(token) && !PARTICLES.has(token));
  return telling.length > 0 ? telling : all;
}
