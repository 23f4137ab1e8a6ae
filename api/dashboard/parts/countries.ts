import { COUNTRIES } from '#shared/accounts/checks.ts';

const NAMES = new Intl.DisplayNames(['en'], { type: 'region' });

/** `France (FR)` */
export function countryName(code: string): string {
  return COUNTRIES.includes(code) ? `${NAMES.of(code) ?? code} (${code})` : code;
}

const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/[^\p{L}]/gu, '')
    .toLowerCase();

/** Names and codes as a person types them, without marks and white space. Made for the first: most processes are never asked. */
let codes: ReadonlyMap<string, string> | undefined;

const readCodes = (): ReadonlyMap<string, string> =>
  new Map(
    COUNTRIES.flatMap((code) => [
      [folded(code), code],
      [folded(NAMES.of(code) ?? code), code],
      [folded(countryName(code)), code],
    ]),
  );

/** The code of a country that was typed by its name or its code; what is none stays as it is, to be refused. */
export function countryCode(typed: string): string {
  codes ??= readCodes();
  return codes.get(folded(typed)) ?? typed;
}
