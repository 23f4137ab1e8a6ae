import { isSeen, madeSeen, SEEN_PATTERN } from './characters.ts';

/** Control characters, line and paragraph separators, and what turns the direction of text or shows nothing. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Text of others, on one line and without what could move the cursor, turn the direction, or look like a line of ours:
 * such characters are shown as `\u{…}`.
 */
export function plain(foreign: string): string {
  return foreign.replace(
    UNPRINTABLE,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

/** Marks that look like the end of a quotation. */
const QUOTES = /["“”„‟″〝〞〟＂]/gu;

/** Text of others as {@link plain} shows it, in quotes that it cannot close: what stands behind them is ours. */
export function quoted(foreign: string, end = ''): string {
  return `“${plain(foreign).replaceAll(QUOTES, "'")}${end}”`;
}

/** A document of JSON that says the same, in which such characters are escaped as JSON escapes them. Its line ends stay. */
export function plainJson(document: string): string {
  return document.replace(UNPRINTABLE, (character) =>
    character === '\n' ? character : escapedInJson(character),
  );
}

function escapedInJson(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Texts on one line, as schemas say them: they hold nothing that no text of a receipt holds. */
export const ONE_LINE = SEEN_PATTERN;

/** Whether people can give this as a name, or as another text that stands on one line. */
export function isPrintable(text: string, lengthMax: number): boolean {
  return text.length <= lengthMax && isSeen(text);
}

/** What can be shown on one line of what a person, a browser or an issuer says, where nothing is refused; empty when there is none. */
export function printable(said: string): string {
  return madeSeen(said);
}

/**
 * What shows nothing, but for joiners between letters whose scripts need them: words in Latin, Greek and Cyrillic letters
 * they would only part unseen.
 */
const UNSEEN =
  /(?!(?<=(?![\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])[\p{L}\p{M}])[\u200c\u200d](?![\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])[\p{L}\p{M}])[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/** What mail programs make links of: `https://`, the dots of a domain, the @ of an address. */
const LINK_MARKS = /:(?=\/\/)|[.。](?=[\p{L}\p{N}][\p{L}\p{N}\p{M}])|@/gu;

/** A character that stands for one of a link, as that: `．`, `․` and `﹒` are full stops, and `…` is none. */
function withoutLikenesses(text: string): string {
  return text.replaceAll(/[^\p{ASCII}\p{L}\p{M}…‥]/gu, (character) => {
    const folded = character.normalize('NFKC');
    return /[.。:/@]/.test(folded) ? folded : character;
  });
}

/** Text of others as an e-mail shows it: on one line, of so many characters at most, and with nothing that becomes a link. */
export function inert(foreign: string, lengthMax: number): string {
  const seen = foreign.replaceAll(/\s+/g, ' ').replaceAll(UNSEEN, '').trim();
  // Cut at last, so that nothing that was made longer is longer than that.
  const characters = Array.from(withoutLikenesses(seen).replaceAll(LINK_MARKS, '[$&]'));
  return characters.slice(0, lengthMax).join('') + (characters.length > lengthMax ? '…' : '');
}

/** A name is no place for an e-mail of its own. */
const NAME_SHOWN_MAX = 80;

/** Quotation marks of every script and kind, and what looks like one: primes, brackets of titles, ornaments, marks of repetition. */
const QUOTATION_MARKS =
  /[\p{Quotation_Mark}\p{Pi}\p{Pf}ʺ˝ˮ˵˶״′-‷⁗〃≪≫〈-》⟨-⟫❛-❠❮-❱\u{1f676}-\u{1f678}]/gu;
/** Apostrophes in a row, and marks that stand on no letter, which look like one quotation mark. */
const APOSTROPHES = /(?:['`´ʹʻʼʽˈˊˋ]\p{M}*|(?<![\p{L}\p{M}\p{N}\u200c\u200d])\p{M}+)+/gu;

/** A name that others have given, as an e-mail shows it: in quotes that it cannot close. */
export function named(name: string): string {
  const shown = inert(name, NAME_SHOWN_MAX).replaceAll(QUOTATION_MARKS, "'");
  // One alone may be a letter of its language.
  const single = shown.replaceAll(APOSTROPHES, (found) => (/^\P{M}$/u.test(found) ? found : "'"));
  return `“${single}”`;
}

/** A text that begins as a sentence or a heading does. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The message of an error on one line. A connection refused at several addresses has its reason inside. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const reason = error instanceof Error ? error.message || error.name : String(error);
  const lines = reason.split('\n').map((line) => line.trim());
  return plain(lines.filter((line) => line !== '').join(' · '));
}
