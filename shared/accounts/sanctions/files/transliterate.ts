import anyAscii from 'any-ascii';

/**
 * A name of any script in ASCII letters. Accents are taken off first (NFKD), so that `é` is `e` and a
 * base letter with several marks still becomes that letter.
 */
export function transliterate(text: string): string {
  return anyAscii(text.normalize('NFKD').replaceAll(/\p{M}/gu, ''));
}
