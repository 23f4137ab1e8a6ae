import { createRequire } from 'node:module';

type Vocabulary = typeof import('gpt-tokenizer/encoding/o200k_base');
type Ranks = typeof import('gpt-tokenizer/bpeRanks/o200k_base');

// 60 MB that a sandbox without a request does not need: not an import, which would load it at the start.
const require = createRequire(import.meta.url);
let vocabularyLoaded: Vocabulary | undefined;
let ranksLoaded: Ranks | undefined;

function vocabulary(): Vocabulary {
  return (vocabularyLoaded ??= require('gpt-tokenizer/encoding/o200k_base') as Vocabulary);
}

function ranks(): Ranks['default'] {
  return (ranksLoaded ??= require('gpt-tokenizer/bpeRanks/o200k_base') as Ranks).default;
}

/** Text that merely looks like a control token is ordinary text here, never an error. */
const PLAIN = { disallowedSpecial: new Set<string>() };

/** Under load the same few prompts come again and again; 4,096 of them are a few MB at most. */
const CACHE_ENTRIES_MAX = 4096;
/** Longer texts are rare and would make the cache heavy. */
const CACHED_CHARS_MAX = 16_384;
/** Byte-pair merging is quadratic in an unbroken run: a run of 2,048 costs 15 ms, one of 100,000 costs 4 s. */
const RUN_CHARS_MAX = 2048;
const LONG_RUN = new RegExp(`\\S{${RUN_CHARS_MAX}}|\\s{${RUN_CHARS_MAX}}`);
const SLICES = new RegExp(`[\\s\\S]{1,${RUN_CHARS_MAX}}`, 'g');

const counts = new Map<string, number>();

function remember(text: string, count: number): void {
  if (counts.size >= CACHE_ENTRIES_MAX) {
    for (const oldest of counts.keys()) {
      counts.delete(oldest);
      break;
    }
  }
  counts.set(text, count);
}

/** Number of o200k_base tokens. Exact, except that unbroken runs over 2,048 characters are counted in slices. */
export function countTokens(text: string): number {
  const known = counts.get(text);
  if (known !== undefined) return known;
  let total = 0;
  if (text.length > RUN_CHARS_MAX && LONG_RUN.test(text)) {
    for (const slice of text.match(SLICES) ?? []) total += vocabulary().countTokens(slice, PLAIN);
  } else {
    total = vocabulary().countTokens(text, PLAIN);
  }
  if (text.length <= CACHED_CHARS_MAX) remember(text, total);
  return total;
}

/** The o200k_base token ids of a text. */
export function encode(text: string): number[] {
  return vocabulary().encode(text, PLAIN);
}

/**
 * The bytes of one token. From the table and not by the library's `decode`, whose decoder is shared:
 * half a character left in it appears at the front of the next text of any caller.
 */
function bytesOf(token: number): Buffer {
  const entry = ranks()[token] ?? '';
  return typeof entry === 'string' ? Buffer.from(entry) : Buffer.from(entry);
}

/** The text of token ids. */
export function textOf(tokens: readonly number[]): string {
  return Buffer.concat(tokens.map(bytesOf)).toString('utf8');
}

/** A piece of a text as a stream shows it. */
export interface Piece {
  text: string;
  /** Number of tokens: one, unless a character is spread over several. */
  tokens: number;
}

/**
 * Splits a text into the pieces that a stream of its tokens would show: one token each, except that
 * tokens which are only part of a character wait for the rest of it.
 */
export function* piecesOf(text: string): Generator<Piece, void> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let tokens = 0;
  for (const token of encode(text)) {
    tokens += 1;
    const piece = decoder.decode(bytesOf(token), { stream: true });
    if (piece === '') continue;
    yield { text: piece, tokens };
    tokens = 0;
  }
}
