import { setImmediate } from 'node:timers/promises';
import type { DecodeTokens, Prompt } from '../prompt.ts';
import { type Encoding, isKnownFamily, loadEncoding } from './encodings.ts';
import { slicesOf } from '../slices.ts';

/** No token of the common families is longer (128 spaces in o200k_base and cl100k_base). */
const TOKEN_BYTES_MAX = 128;
/** No writing has more characters per token on average; reading further would only serve who sends spaces to keep us busy. */
const CHARS_PER_TOKEN_MAX = 16;
/** Other requests get their turn after this many characters: 2 ms of text, 20 ms of the worst nonsense. */
const CHARS_PER_TURN = 16_384;
/** Of a longer text the tokens are estimated: 30 ms of text, 0.3 s of the worst nonsense. */
const COUNTED_CHARS_MAX = 262_144;
/** Used for families that are not known: of the public vocabularies the one nearest to current models. */
const NEAREST_FAMILY = 'o200k_base';
/**
 * Tokens that OpenAI's chat format adds: three around each message and one for its role, three before the answer
 * (OpenAI cookbook, "How to count tokens with tiktoken"). Other templates differ by a few tokens per message.
 */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_BEFORE_ANSWER = 3;

/** The part of a catalogue model that says how much it reads, and in which tokens. */
interface ContextWindow {
  contextWindow: number;
  /** `o200k_base`, `o200k_harmony`, `cl100k_base`; for other families counts are approximate. */
  tokenizer?: string;
}

export type TokenCounter = ReturnType<typeof createTokenCounter>;

/**
 * Counts what models read and write, by the public vocabularies of OpenAI. They are loaded when first needed, or by
 * `load`.
 */
export function createTokenCounter() {
  return {
    /** Loads a family's vocabulary now (about 0.1 s), so that no request waits for it. Unknown families are passed over. */
    load(family: string | undefined): void {
      if (isKnownFamily(family)) loadEncoding(family);
    },
    promptFits,
    /**
     * Tokens of a text, for usage that an upstream did not report. Beyond 262,144 characters the rest is estimated from
     * them; for an unknown family it is what `o200k_base` would make of the text.
     */
    countTokens: (text: string, family: string | undefined): number =>
      countTexts([text], encodingFor(family)),
    /** Tokens of a prompt, with what a chat adds around its messages. */
    countPrompt(prompt: Prompt, family: string | undefined): number {
      const around =
        prompt.messages === 0 ? 0 : prompt.messages * TOKENS_PER_MESSAGE + TOKENS_BEFORE_ANSWER;
      // A prompt of token ids alone needs no vocabulary.
      const inTexts = prompt.texts.length === 0 ? 0 : countTexts(prompt.texts, encodingFor(family));
      return inTexts + prompt.tokens + around;
    },
    /**
     * Turns token ids into text, for screening; undefined when the family is unknown. It is asked for with every
     * request and used by few, so the vocabulary is loaded by the first token array.
     */
    decoder: (family: string | undefined): DecodeTokens | undefined =>
      isKnownFamily(family) ? (tokens) => loadEncoding(family).decode(tokens) : undefined,
  };
}

/**
 * False only when the prompt cannot fit in the window; what may fit is left to the upstream, which knows its own chat
 * template. Answers at once for prompts with no more UTF-8 bytes than the window has tokens, and lets other work have
 * its turns while it counts a longer one.
 */
function promptFits(
  prompt: Prompt,
  { contextWindow, tokenizer }: ContextWindow,
): boolean | Promise<boolean> {
  const room = contextWindow - prompt.tokens;
  if (room < 0) return false;
  let bytes = 0;
  for (const text of prompt.texts) bytes += Buffer.byteLength(text);
  // Every token is at least one byte and at most TOKEN_BYTES_MAX, in every family.
  if (bytes <= room) return true;
  if (bytes > room * TOKEN_BYTES_MAX) return false;
  return isKnownFamily(tokenizer) ? fitsByCount(prompt.texts, loadEncoding(tokenizer), room) : true;
}

/** Reads until the room is used up, and no more characters than could ever fit. */
async function fitsByCount(
  texts: readonly string[],
  encoding: Encoding,
  room: number,
): Promise<boolean> {
  let tokens = 0;
  let chars = 0;
  let turnEnds = CHARS_PER_TURN;
  for (const slice of slicesOfAll(texts)) {
    tokens += encoding.count(slice);
    chars += slice.length;
    if (tokens > room) return false;
    if (chars > room * CHARS_PER_TOKEN_MAX) return true;
    if (chars < turnEnds) continue;
    turnEnds = chars + CHARS_PER_TURN;
    await setImmediate();
  }
  return true;
}

function countTexts(texts: readonly string[], encoding: Encoding): number {
  let tokens = 0;
  let chars = 0;
  for (const slice of slicesOfAll(texts)) {
    tokens += encoding.count(slice);
    chars += slice.length;
    if (chars >= COUNTED_CHARS_MAX) break;
  }
  const all = texts.reduce((sum, text) => sum + text.length, 0);
  return chars === all ? tokens : Math.round((tokens / chars) * all);
}

function* slicesOfAll(texts: readonly string[]): Generator<string> {
  for (const text of texts) yield* slicesOf(text);
}

function encodingFor(family: string | undefined): Encoding {
  return loadEncoding(isKnownFamily(family) ? family : NEAREST_FAMILY);
}
