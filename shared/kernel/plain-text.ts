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

/** What would end the line in which a name is shown, or turn its direction. What joins letters is part of some scripts. */
const NOT_IN_NAMES = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Whether people can give this as a name, or as another text that stands on one line. */
export function isPrintable(text: string, lengthMax: number): boolean {
  return text !== '' && text.length <= lengthMax && text.search(NOT_IN_NAMES) === -1;
}

/** The name in what a browser or an issuer says, which refuses nothing; empty when there is none in it. */
export function printable(said: string): string {
  return said.replaceAll(NOT_IN_NAMES, ' ').trim();
}

/** What mail programs make links of: `https://`, the dots of a domain, the @ of an address. */
const LINK_MARKS = /[:：](?=\/\/)|[.．。｡](?=[\p{L}\p{N}]{2})|[@＠]/gu;

/** Text of others as a letter shows it: on one line, of so many characters at most, and with nothing that becomes a link. */
export function inert(foreign: string, lengthMax: number): string {
  const characters = Array.from(foreign.trim().replaceAll(/\s+/g, ' '));
  const isLong = characters.length > lengthMax;
  const short = characters.slice(0, lengthMax).join('') + (isLong ? '…' : '');
  return plain(short).replaceAll(LINK_MARKS, '[$&]');
}

/** A name is no place for a letter of its own. */
const NAME_SHOWN_MAX = 80;

/** A name that others have given, as a letter shows it: in quotes that it cannot close. */
export function named(name: string): string {
  return `“${inert(name, NAME_SHOWN_MAX).replaceAll(/["“”„«»]/g, "'")}”`;
}

/** The message of an error on one line. A connection refused at several addresses has its reason inside. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const reason = error instanceof Error ? error.message || error.name : String(error);
  return plain(reason.replaceAll(/\s*\n\s*/g, ' · '));
}
