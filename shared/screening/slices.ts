/**
 * Merging byte pairs takes quadratic time in the length of a word, and a hostile "word" may be megabytes long.
 * A slice of this many characters takes about a millisecond at worst.
 */
export const SLICE_CHARS = 1_024;

/**
 * The text in slices of at most `SLICE_CHARS`, cut before a space where there is one. Tokens never span a space that
 * follows a word, so such cuts do not change the count; a cut through a longer word changes it by about one token.
 */
export function* slicesOf(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > SLICE_CHARS) {
    const end = cutBefore(text, start, start + SLICE_CHARS);
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

function cutBefore(text: string, start: number, limit: number): number {
  let space = text.lastIndexOf(' ', limit);
  // In a run of white space the tokens are longer than one character.
  while (space > start && isSpace(text.charCodeAt(space - 1)))
    space = text.lastIndexOf(' ', space - 1);
  if (space > start) return space;
  const isLowSurrogate = (text.charCodeAt(limit) & 0xfc00) === 0xdc00;
  return isLowSurrogate ? limit - 1 : limit;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}
