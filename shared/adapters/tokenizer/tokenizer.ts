import { setImmediate } from 'node:timers/promises';
import type { Prompt } from '../../domain/prompt.ts';
import type { ContextWindow, Tokenizer } from '../../ports/tokenizer.ts';
import { isKnownFamily, loadEncoding } from './encodings.ts';
import type { Encoding } from './encodings.ts';
import { slicesOf } from './slices.ts';

/** No token of the common families is longer (128 spaces in o200k_base and cl100k_base). */
const TOKEN_BYTES_MAX = 128;
/** No writing has more characters per token on average; a longer count would only serve who sends spaces to keep us busy. */
const COUNTED_CHARS_PER_TOKEN = 16;
/** Other requests get their turn after this many characters: 2 ms of text, 20 ms of the worst nonsense. */
const CHARS_PER_TURN = 16_384;
/** Used for families that are not known: of the public vocabularies the one nearest to current models. */
const NEAREST_FAMILY = 'o200k_base';
/**
 * What OpenAI's chat format adds: three tokens around each message and one for its role, three before the answer
 * (OpenAI cookbook, "How to count tokens with tiktoken"). Other templates differ by a few tokens per message.
 */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_BEFORE_ANSWER = 3;

/** A tokenizer over the public vocabularies of OpenAI. */
export function createTokenizer(): Tokenizer {
  return {
    promptFits,
    countTokens: async (text, family) =>
      (await countTexts([text], await encodingFor(family), Infinity, Infinity)).tokens,
    async countPrompt(prompt, family) {
      const { tokens } = await countTexts(
        prompt.texts,
        await encodingFor(family),
        Infinity,
        Infinity,
      );
      const around =
        prompt.messages === 0 ? 0 : prompt.messages * TOKENS_PER_MESSAGE + TOKENS_BEFORE_ANSWER;
      return tokens + prompt.tokens + around;
    },
    async decoder(family) {
      return isKnownFamily(family) ? (await loadEncoding(family)).decode : undefined;
    },
  };
}

function promptFits(
  prompt: Prompt,
  { contextWindow, tokenizer }: ContextWindow,
): boolean | Promise<boolean> {
  const room = contextWindow - prompt.tokens;
  if (room < 0) return false;
  let bytes = 0;
  for (const text of prompt.texts) bytes += Buffer.byteLength(text);
  // Every token is at least one byte and at most TOKEN_BYTES_MAX, whatever the family.
  if (bytes <= room) return true;
  if (bytes > room * TOKEN_BYTES_MAX) return false;
  return isKnownFamily(tokenizer) ? countFits(prompt.texts, tokenizer, room) : true;
}

async function countFits(texts: readonly string[], family: string, room: number): Promise<boolean> {
  const { tokens } = await countTexts(
    texts,
    await loadEncoding(family),
    room,
    room * COUNTED_CHARS_PER_TOKEN,
  );
  return tokens <= room;
}

function encodingFor(family: string | undefined): Promise<Encoding> {
  return loadEncoding(isKnownFamily(family) ? family : NEAREST_FAMILY);
}

/** Counts until there are more than `tokensMax` tokens or `charsMax` characters have been read. */
async function countTexts(
  texts: readonly string[],
  encoding: Encoding,
  tokensMax: number,
  charsMax: number,
): Promise<{ tokens: number }> {
  let tokens = 0;
  let chars = 0;
  let turn = 0;
  for (const text of texts) {
    for (const slice of slicesOf(text)) {
      tokens += encoding.count(slice);
      chars += slice.length;
      turn += slice.length;
      if (tokens > tokensMax || chars > charsMax) return { tokens };
      if (turn < CHARS_PER_TURN) continue;
      turn = 0;
      await setImmediate();
    }
  }
  return { tokens };
}
