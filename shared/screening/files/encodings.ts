import { createRequire } from 'node:module';
import { inTurns } from '#shared/kernel/turns.ts';
import { BytePairs, NOTHING, type PartCount } from '../byte-pairs.ts';
import { wordsOf } from '../words.ts';

/** The vocabulary of a tokenizer family, loaded. */
export interface Encoding {
  /**
   * Counts the tokens of texts, and reports some milliseconds of work at most after the report before, what there is so
   * far; names of special tokens are ordinary text. Texts are read no further than to a word of a million characters.
   */
  count(texts: Iterable<string>): Generator<PartCount>;
  /** The text of token ids; no more of it than is needed to see that it has over `charsMax` characters. */
  decode(tokens: readonly number[], charsMax: number): string;
}

type Ranks = (typeof import('gpt-tokenizer/bpeRanks/o200k_base'))['default'];
type Splits = typeof import('gpt-tokenizer/encodingParams/constants');

/** Family → name of its vocabulary. Harmony adds special tokens to o200k_base. */
const VOCABULARIES: Readonly<Record<string, string>> = {
  o200k_base: 'o200k_base',
  o200k_harmony: 'o200k_base',
  cl100k_base: 'cl100k_base',
};

/** Added between turns of other work, in about a millisecond. */
const TOKENS_PER_TURN = 4_096;

/** Special tokens have the ids after a vocabulary's texts: o200k_harmony has the most of them, 1,090. */
const SPECIAL_IDS_MAX = 2_048;

// A vocabulary takes 25 MB and 0.1 s, and most processes never need one: not an import, which would load it at the start.
const require = createRequire(import.meta.url);
const loaded = new Map<string, Encoding>();
/** Those that are being loaded in turns: many may ask for one at once, when a connection with many streams breaks. */
const loading = new Map<string, Promise<Encoding>>();

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

/** The encoding of a known family, loaded once per process: at once, where it is needed within a turn. */
export function loadEncoding(family: string): Encoding {
  const name = VOCABULARIES[family]!;
  const encoding = loaded.get(name);
  if (encoding !== undefined) return encoding;
  const parts = loadFrom(name);
  for (;;) {
    const { done, value } = parts.next();
    if (done === true) return value;
  }
}

/** The same, loaded in turns: what a process does meanwhile waits for a part of it. */
export function encodingOf(family: string): Encoding | Promise<Encoding> {
  const name = VOCABULARIES[family]!;
  const encoding = loaded.get(name);
  if (encoding !== undefined) return encoding;
  let coming = loading.get(name);
  if (coming === undefined) {
    coming = inTurns(loadFrom(name)).finally(() => loading.delete(name));
    loading.set(name, coming);
  }
  return coming;
}

function* loadFrom(name: string): Generator<void, Encoding, void> {
  const ranks = (require(`gpt-tokenizer/bpeRanks/${name}`) as { default: Ranks }).default;
  const splits = require('gpt-tokenizer/encodingParams/constants') as Splits;
  const split =
    name === 'cl100k_base' ? splits.CL100K_TOKEN_SPLIT_REGEX : splits.O200K_TOKEN_SPLIT_REGEX;
  const pairs = new BytePairs();
  for (const [rank, entry] of ranks.entries()) {
    pairs.add(typeof entry === 'string' ? bytesOf(entry) : String.fromCharCode(...entry));
    if (rank % TOKENS_PER_TURN === 0) yield;
  }
  const words = inUnicode(split);
  // It may have been loaded at once meanwhile.
  const encoding: Encoding = loaded.get(name) ?? {
    count: (texts) => countWith(pairs, words, texts),
    decode: (tokens, charsMax) => textOf(tokens, charsMax, ranks),
  };
  loaded.set(name, encoding);
  return encoding;
}

/**
 * What white space is to the makers of the vocabularies, whose expressions are Rust's: with U+0085, without U+FEFF. In
 * JavaScript it is the other way around.
 */
function inUnicode({ source, flags }: RegExp): RegExp {
  const text = source.replaceAll(String.raw`\s`, String.raw`\p{White_Space}`);
  return new RegExp(text.replaceAll(String.raw`\S`, String.raw`\P{White_Space}`), flags);
}

/** Less than a turn of other work is short. */
const STEPS_PER_REPORT = 1_024;

/** Not by the library's own count: that merges words in quadratic time and in one go, and keeps them. */
function* countWith(
  pairs: BytePairs,
  split: RegExp,
  texts: Iterable<string>,
): Generator<PartCount> {
  let tokens = 0;
  let bytes = 0;
  let steps = 0;
  let reported = 0;
  const withPart = (part: PartCount): PartCount => {
    reported = steps + part.steps;
    return {
      tokens: tokens + part.tokens,
      lower: tokens + part.lower,
      upper: tokens + part.upper,
      bytes: bytes + part.bytes,
      steps: reported,
    };
  };
  for (const text of texts) {
    for (const word of wordsOf(text, split)) {
      const key = bytesOf(word);
      steps += word.length;
      if (pairs.has(key)) tokens += 1;
      else {
        let whole = NOTHING;
        for (const part of pairs.count(key)) {
          if (whole !== NOTHING) yield withPart(whole);
          whole = part;
        }
        tokens += whole.tokens;
        steps += whole.steps;
      }
      bytes += key.length;
      if (steps - reported >= STEPS_PER_REPORT) yield withPart(NOTHING);
    }
  }
  yield withPart(NOTHING);
}

const scratch = Buffer.allocUnsafe(1_024);

/** A text as `BytePairs` reads it, a character for each byte. */
function bytesOf(text: string): string {
  if (!/[^\0-\x7f]/.test(text)) return text;
  if (text.length * 3 > scratch.length) return Buffer.from(text).toString('latin1');
  return scratch.toString('latin1', 0, scratch.write(text));
}

/**
 * The text of token ids. Not by the library's `decode`: it throws for ids between the texts and the special tokens
 * (100256 of cl100k_base), and its decoder is shared, so half a character that one request ends with would stand in
 * front of the next request's text.
 */
function textOf(tokens: readonly number[], charsMax: number, ranks: Ranks): string {
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
