import { nextTurn } from '#shared/kernel/turns.ts';
import { type Budget, fittingBudget, type Prompt } from '../prompt.ts';
import type { DecodeTokens } from '../texts.ts';
import {
  type Encoding,
  encodingOf,
  isKnownFamily,
  loadEncoding,
  NEAREST_FAMILY,
  vocabularyOf,
} from './encodings.ts';
import { NOTHING, type PartCount, TOKEN_BYTES_MAX } from '../byte-pairs.ts';

/** No writing has more bytes per token on average; reading further would only serve who sends spaces to keep us busy. */
const BYTES_PER_TOKEN_MAX = 32;
/** Other requests get their turn after this much work, about 1 ms. */
const STEPS_PER_TURN = 16_384;
/** A text up to this many bytes is counted without waiting for a turn. */
const SHORT_BYTES = 1_024;
/** Of what one request brings beyond this the tokens are estimated: half a second of text (10 MB), a second of the worst nonsense. */
const COUNTING_STEPS_MAX = 10_485_760;
/** Of prose; only where nothing at all was counted. */
const BYTES_PER_TOKEN = 4;
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

/** How many tokens, and between what the true count lies: the same, unless a part was counted and the rest estimated. */
interface TokenCount {
  tokens: number;
  lower: number;
  upper: number;
}

export type TokenCounter = ReturnType<typeof createTokenCounter>;

/**
 * Counts what models read and write, by the public vocabularies of OpenAI. Each is loaded when it is first needed, which
 * takes 0.1 s once, in turns, and 25 MB: most processes never need one.
 * @param stepsMax work after which the rest of one request's texts is estimated
 */
export function createTokenCounter(stepsMax = COUNTING_STEPS_MAX) {
  return {
    promptFits,
    vocabularyOf,
    /**
     * Tokens of all prompts of a request, or of an answer, with what a chat adds around its messages; for an unknown family
     * what `o200k_base` would make of them. They are counted like one text, and other work has its turns meanwhile.
     */
    async countPrompts(
      prompts: readonly Prompt[],
      family: string | undefined,
    ): Promise<TokenCount> {
      const texts = prompts.flatMap((prompt) => prompt.texts);
      const { tokens, lower, upper } = await countTexts(texts, family, stepsMax);
      let more = 0;
      for (const { tokens: ids, messages } of prompts) {
        more += ids + (messages === 0 ? 0 : messages * TOKENS_PER_MESSAGE + TOKENS_BEFORE_ANSWER);
      }
      return { tokens: tokens + more, lower: lower + more, upper: upper + more };
    },
    /**
     * Turns token ids into text, for screening; undefined when the family is unknown. It is asked for with every
     * request and used by few, so the vocabulary is loaded by the first token array.
     */
    decoder: (family: string | undefined): DecodeTokens | undefined =>
      isKnownFamily(family)
        ? (tokens, charsMax = Infinity) => loadEncoding(family).decode(tokens, charsMax)
        : undefined,
  };
}

/**
 * False only when the prompt cannot fit in the window; what may fit is left to the upstream, which knows its own chat
 * template. Answers at once for prompts with no more UTF-8 bytes than the window has tokens, and lets other work have
 * its turns while it counts a longer one, as far as the budget goes.
 */
function promptFits(
  prompt: Prompt,
  { contextWindow, tokenizer }: ContextWindow,
  budget: Budget = fittingBudget(),
): boolean | Promise<boolean> {
  const room = contextWindow - prompt.tokens;
  if (room < 0) return false;
  let bytes = 0;
  for (const text of prompt.texts) bytes += Buffer.byteLength(text);
  // Every token is at least one byte and at most TOKEN_BYTES_MAX, in every family.
  if (bytes <= room) return true;
  if (bytes > room * TOKEN_BYTES_MAX) return false;
  if (!isKnownFamily(tokenizer) || budget.steps <= 0) return true;
  return fitsByCount(prompt.texts, encodingOf(tokenizer), room, budget);
}

/** Reads until the room or the budget is used up, and no further than could ever fit. */
async function fitsByCount(
  texts: readonly string[],
  loading: Encoding | Promise<Encoding>,
  room: number,
  budget: Budget,
): Promise<boolean> {
  const encoding = await loading;
  const given = budget.steps;
  let turnAt = STEPS_PER_TURN;
  for (const { lower, bytes, steps } of encoding.count(texts)) {
    budget.steps = given - steps;
    if (lower > room) return false;
    if (budget.steps <= 0 || bytes > room * BYTES_PER_TOKEN_MAX) return true;
    if (steps < turnAt) continue;
    turnAt = steps + STEPS_PER_TURN;
    await nextTurn();
  }
  return true;
}

async function countTexts(
  texts: readonly string[],
  family: string | undefined,
  stepsMax: number,
): Promise<TokenCount> {
  // A prompt of token ids alone needs no vocabulary.
  if (texts.length === 0) return NOTHING;
  const encoding = await encodingOf(isKnownFamily(family) ? family : NEAREST_FAMILY);
  // A text that came in pieces is put together by the first look at its bytes.
  if (texts.reduce((sum, { length }) => sum + length, 0) >= SHORT_BYTES) await nextTurn();
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  let counted = NOTHING;
  let turnAt = 0;
  for (const part of encoding.count(texts)) {
    counted = part;
    if (part.steps >= stepsMax) break;
    // Many requests may be counted at once, when a connection with many of them breaks.
    if (part.steps < turnAt || bytes < SHORT_BYTES) continue;
    turnAt = part.steps + STEPS_PER_TURN;
    await nextTurn();
  }
  return extrapolated(counted, bytes);
}

/**
 * A count of the beginning, scaled up to all bytes. What comes behind the beginning may be as dense as a text can be, or as
 * thin.
 */
function extrapolated({ tokens, lower, upper, bytes }: PartCount, all: number): TokenCount {
  const rest = all - bytes;
  if (rest === 0) return { tokens, lower, upper };
  const least = lower + Math.ceil(rest / TOKEN_BYTES_MAX);
  const most = upper + rest;
  const scaled = Math.round(bytes === 0 ? all / BYTES_PER_TOKEN : (tokens / bytes) * all);
  return { tokens: Math.min(Math.max(scaled, least), most), lower: least, upper: most };
}
