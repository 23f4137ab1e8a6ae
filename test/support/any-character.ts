import fc from 'fast-check';

const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;
const LAST = 0x10ffff;

/** A unit of `fc.string`: any code point but surrogates, like `binary`, for which fast-check first writes down all of them. */
export const anyCharacter = fc
  .nat(LAST - SURROGATES)
  .map((n) => String.fromCodePoint(n < SURROGATES_FROM ? n : n + SURROGATES));
