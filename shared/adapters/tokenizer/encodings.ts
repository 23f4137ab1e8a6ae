/** The vocabulary of a tokenizer family, loaded. */
export interface Encoding {
  /** Tokens of a text of at most `SLICE_CHARS`; names of special tokens in it are ordinary text. */
  count(slice: string): number;
  decode(tokens: readonly number[]): string;
}

/** What is used of the library's modules. */
interface EncodingModule {
  countTokens(text: string, options: { disallowedSpecial: Set<string> }): number;
  decode(tokens: Iterable<number>): string;
  setMergeCacheSize(size: number): void;
  vocabularySize: number;
}

/** Vocabularies are some megabytes each and take about 0.1 s to load, so each is loaded when first needed. */
const LOADERS: Readonly<Record<string, () => Promise<EncodingModule>>> = {
  o200k_base: () => import('gpt-tokenizer/encoding/o200k_base'),
  // Harmony adds special tokens to the same vocabulary.
  o200k_harmony: () => import('gpt-tokenizer/encoding/o200k_base'),
  cl100k_base: () => import('gpt-tokenizer/encoding/cl100k_base'),
};

const loaded = new Map<string, Promise<Encoding>>();

/** True when the family's tokens are counted exactly. */
export function isKnownFamily(family: string | undefined): family is string {
  return family !== undefined && Object.hasOwn(LOADERS, family);
}

/** Loads a known family once per process. */
export function loadEncoding(family: string): Promise<Encoding> {
  let encoding = loaded.get(family);
  if (encoding === undefined) {
    encoding = LOADERS[family]!().then(encodingFrom);
    loaded.set(family, encoding);
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
