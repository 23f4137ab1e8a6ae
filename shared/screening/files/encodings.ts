import { createRequire } from 'node:module';

/** The vocabulary of a tokenizer family, loaded. */
export interface Encoding {
  /** Tokens of a text of at most `SLICE_CHARS`, and the work it was; names of special tokens in it are ordinary text. */
  count(slice: string): Counted;
  /** The text of token ids; no more of it than is needed to see that it has over `charsMax` characters. */
  decode(tokens: readonly number[], charsMax: number): string;
}

interface Counted {
  tokens: number;
  /** The same for the same text on any machine. A step takes 0.1 µs at most, and a character of prose is little more than one. */
  steps: number;
}

type EncodingModule = typeof import('gpt-tokenizer/encoding/o200k_base');
type RanksModule = typeof import('gpt-tokenizer/bpeRanks/o200k_base');

/** Family → name of its vocabulary. Harmony adds special tokens to o200k_base. */
const VOCABULARIES: Readonly<Record<string, string>> = {
  o200k_base: 'o200k_base',
  o200k_harmony: 'o200k_base',
  cl100k_base: 'cl100k_base',
};

/** Special tokens have the ids after a vocabulary's texts: o200k_harmony has the most of them, 1,090. */
const SPECIAL_IDS_MAX = 2_048;

// A vocabulary takes 25 MB and 0.1 s, and most processes never need one: not an import, which would load it at the start.
const require = createRequire(import.meta.url);
const loaded = new Map<string, Encoding>();

/** True when the family's tokens are counted exactly. */
export function isKnownFamily(family: string | undefined): family is string {
  return family !== undefined && Object.hasOwn(VOCABULARIES, family);
}

/** Used for families that are not known: of the public vocabularies the one nearest to current models. */
export const NEAREST_FAMILY = 'o200k_base';

/** The vocabulary that a family is counted with, and whether it is its own. */
export function vocabularyOf(family: string | undefined): { name: string; isOwn: boolean } {
  const isOwn = isKnownFamily(family);
  return { name: VOCABULARIES[isOwn ? family : NEAREST_FAMILY]!, isOwn };
}

/** The encoding of a known family, loaded once per process. */
export function loadEncoding(family: string): Encoding {
  const name = VOCABULARIES[family]!;
  let encoding = loaded.get(name);
  if (encoding === undefined) {
    const module = require(`gpt-tokenizer/encoding/${name}`) as EncodingModule;
    const ranks = require(`gpt-tokenizer/bpeRanks/${name}`) as RanksModule;
    encoding = encodingFrom(module, ranks.default);
    loaded.set(name, encoding);
  }
  return encoding;
}

function encodingFrom(module: EncodingModule, ranks: RanksModule['default']): Encoding {
  // The library would keep the words it has merged: pieces of prompts, in memory for as long as the process lives.
  module.setMergeCacheSize(0);
  const options = { disallowedSpecial: new Set<string>() };
  return {
    count(slice) {
      const counted = { tokens: 0, steps: slice.length };
      for (const word of module.encodeGenerator(slice, options)) {
        counted.tokens += word.length;
        if (word.length > 1) counted.steps += stepsOfMerging(bytesOf(word, ranks));
      }
      return counted;
    },
    decode: (tokens, charsMax) => textOf(tokens, charsMax, ranks),
  };
}

/** A word that is no token is put together from its bytes: each is looked up, and after each merge all are passed over. */
function stepsOfMerging(bytes: number): number {
  return 4 * bytes + Math.ceil(bytes ** 2 / 256);
}

function bytesOf(tokens: readonly number[], ranks: RanksModule['default']): number {
  let bytes = 0;
  for (const token of tokens) {
    const entry = ranks[token]!;
    bytes += typeof entry === 'string' ? Buffer.byteLength(entry) : entry.length;
  }
  return bytes;
}

/**
 * The text of token ids. Not by the library's `decode`: it throws for ids between the texts and the special tokens
 * (100256 of cl100k_base), and its decoder is shared, so half a character that one request ends with would stand in
 * front of the next request's text.
 */
function textOf(
  tokens: readonly number[],
  charsMax: number,
  ranks: RanksModule['default'],
): string {
  let text = '';
  // Bytes of tokens that are parts of characters.
  let bytes: number[] = [];
  for (const token of tokens) {
    if (text.length > charsMax) break;
    const entry = ranks[token];
    if (typeof entry === 'object') {
      for (const byte of entry) bytes.push(byte);
      continue;
    }
    if (bytes.length > 0) {
      text += Buffer.from(bytes).toString('utf8');
      bytes = [];
    }
    if (entry !== undefined) text += entry;
    // A special token separates words. Ids beyond are a client's invention; the upstream will refuse them.
    else if (token >= ranks.length && token < ranks.length + SPECIAL_IDS_MAX) text += ' ';
  }
  return bytes.length === 0 ? text : text + Buffer.from(bytes).toString('utf8');
}
