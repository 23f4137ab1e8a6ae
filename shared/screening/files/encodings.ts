import { createRequire } from 'node:module';

/** The vocabulary of a tokenizer family, loaded. */
export interface Encoding {
  /** Tokens of a text of at most `SLICE_CHARS`; names of special tokens in it are ordinary text. */
  count(slice: string): number;
  decode(tokens: readonly number[]): string;
}

type EncodingModule = typeof import('gpt-tokenizer/encoding/o200k_base');

/** Harmony adds special tokens to the vocabulary of o200k_base. */
const MODULES: Readonly<Record<string, string>> = {
  o200k_base: 'gpt-tokenizer/encoding/o200k_base',
  o200k_harmony: 'gpt-tokenizer/encoding/o200k_base',
  cl100k_base: 'gpt-tokenizer/encoding/cl100k_base',
};

// A vocabulary takes 25 MB and 0.1 s, and most processes never need one: not an import, which would load it at the start.
const require = createRequire(import.meta.url);
const loaded = new Map<string, Encoding>();

/** True when the family's tokens are counted exactly. */
export function isKnownFamily(family: string | undefined): family is string {
  return family !== undefined && Object.hasOwn(MODULES, family);
}

/** The encoding of a known family, loaded once per process. */
export function loadEncoding(family: string): Encoding {
  const name = MODULES[family]!;
  let encoding = loaded.get(name);
  if (encoding === undefined) {
    encoding = encodingFrom(require(name) as EncodingModule);
    loaded.set(name, encoding);
  }
  return encoding;
}

function encodingFrom(module: EncodingModule): Encoding {
  // The library would keep the words it has merged: pieces of prompts, in memory for as long as the process lives.
  module.setMergeCacheSize(0);
  const options = { disallowedSpecial: new Set<string>() };
  return {
    count: (slice) => module.countTokens(slice, options),
    // Ids beyond the vocabulary are a client's invention; the upstream will refuse them.
    decode: (tokens) => module.decode(tokens.filter((token) => token < module.vocabularySize)),
  };
}
