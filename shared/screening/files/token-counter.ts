import { nextTurn } from '#shared/kernel/turns.ts';
import { type Budget, type DecodeTokens, fittingBudget, type Prompt } from '../prompt.ts';
import {
  type Encoding,
  isKnownFamily,
  loadEncoding,
  NEAREST_FAMILY,
  vocabularyOf,
} from './encodings.ts';
import { SLICE_CHARS, slicesOf } from '../slices.ts';

/** No token of the common families is longer (128 spaces in o200k_base and cl100k_base). */
const TOKEN_BYTES_MAX = 128;
/** No writing has more characters per token on average; reading further would only serve who sends spaces to keep us busy. */
const CHARS_PER_TOKEN_MAX = 16;
/** Other requests get their turn after this much work, 1 ms, or 4 ms of the worst nonsense. */
const STEPS_PER_TURN = 16_384;
/** Of what one request brings beyond this the tokens are estimated: half a second of text (10 MB), a second of the worst nonsense. */
const COUNTING_STEPS_MAX = 10_485_760;
/** A cut between slices, where it is through a long word, changes the count by this at most. */
const TOKENS_PER_CUT = 2;
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
 * takes 0.1 s once and 25 MB: most processes never need one.
 * @param stepsMax work after which the rest of one request's texts is estimated
 */
export function createTokenCounter(stepsMax = COUNTING_STEPS_MAX) {
  return {
    promptFits,
    vocabularyOf,
    /**
     * Tokens of a text, for usage that an upstream did not report; for an unknown family what `o200k_base` would make of
     * it. Other work has its turns meanwhile.
     */
    countTokens: (text: string, family: string | undefined): Promise<TokenCount> =>
      countTexts([text], family, stepsMax),
    /** Tokens of all prompts of a request, with what a chat adds around its messages. They are counted like one text. */
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
  return fitsByCount(prompt.texts, loadEncoding(tokenizer), room, budget);
}

/** Reads until the room or the budget is used up, and no more characters than could ever fit. */
async function fitsByCount(
  texts: readonly string[],
  encoding: Encoding,
  room: number,
  budget: Budget,
): Promise<boolean> {
  const count = new Count(texts, encoding);
  while (!count.isWhole && budget.steps > 0) {
    if (count.chars > 0) await nextTurn();
    budget.steps -= count.turn(room);
    if (count.tokens > room) return false;
    if (count.chars > room * CHARS_PER_TOKEN_MAX) return true;
  }
  return true;
}

async function countTexts(
  texts: readonly string[],
  family: string | undefined,
  stepsMax: number,
): Promise<TokenCount> {
  // A prompt of token ids alone needs no vocabulary.
  if (texts.length === 0) return exactly(0);
  const count = new Count(texts, loadEncoding(isKnownFamily(family) ? family : NEAREST_FAMILY));
  const all = texts.reduce((sum, text) => sum + text.length, 0);
  let steps = 0;
  while (!count.isWhole && steps < stepsMax) {
    // Many requests may be counted at once, when a connection with many of them breaks.
    if (all > SLICE_CHARS) await nextTurn();
    steps += count.turn(Infinity);
  }
  return count.isWhole ? exactly(count.tokens) : extrapolated(count, texts, all);
}

function exactly(tokens: number): TokenCount {
  return { tokens, lower: tokens, upper: tokens };
}

/**
 * A count of the beginning, scaled up to `all` characters. What comes behind the beginning may be as dense as a text can be,
 * or as thin.
 */
function extrapolated(count: Count, texts: readonly string[], all: number): TokenCount {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const rest = bytes - count.bytes;
  const slack = count.slices * TOKENS_PER_CUT;
  const lower = Math.max(0, count.tokens - slack) + Math.ceil(rest / TOKEN_BYTES_MAX);
  const upper = count.tokens + slack + rest;
  const scaled = Math.round((count.tokens / count.chars) * all);
  return { tokens: Math.min(Math.max(scaled, lower), upper), lower, upper };
}

/** A count under way. */
class Count {
  tokens = 0;
  chars = 0;
  bytes = 0;
  slices = 0;
  isWhole = false;
  readonly #slices: Generator<string>;
  readonly #encoding: Encoding;

  constructor(texts: readonly string[], encoding: Encoding) {
    this.#slices = slicesOfAll(texts);
    this.#encoding = encoding;
  }

  /** Counts on for one turn, and no further than to `tokensMax`. Returns how many steps it took. */
  turn(tokensMax: number): number {
    let taken = 0;
    while (taken < STEPS_PER_TURN && this.tokens <= tokensMax) {
      const { done, value: slice } = this.#slices.next();
      if (done === true) {
        this.isWhole = true;
        break;
      }
      const { tokens, steps } = this.#encoding.count(slice);
      this.tokens += tokens;
      this.chars += slice.length;
      this.bytes += Buffer.byteLength(slice);
      this.slices += 1;
      taken += steps;
    }
    return taken;
  }
}

function* slicesOfAll(texts: readonly string[]): Generator<string> {
  for (const text of texts) yield* slicesOf(text);
}
