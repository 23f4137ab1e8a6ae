import { BadRequest, type Input } from './input.ts';
import { hashOf } from './random.ts';

/** The part of a request that chat and legacy completions have in common. */
export interface TextRequest {
  model: string;
  stream: boolean;
  includeUsage: boolean;
  choices: number;
  maxTokens: number;
  stops: readonly string[];
  seed: number;
  /** Where in the almanac the answer begins. */
  place: number;
  /** Go on after the end of a paragraph (as vLLM's `ignore_eos`), so that exactly `max_tokens` come. */
  goesOn: boolean;
  /** Number of alternatives to report with each token; `undefined` where no log probabilities are wanted. */
  topLogprobs: number | undefined;
}

/** The end of an answer that goes on and that nothing else limits: a paragraph has about 80 tokens. */
const MAX_TOKENS_DEFAULT = 256;
/** A bound for every model; the models of the default catalogue have at most 131,072. */
const MAX_TOKENS_LIMIT = 200_000;
const SEED_LIMIT = Number.MAX_SAFE_INTEGER;

/** What a text that is drawn would heed. Wrong ones are refused, right ones change nothing. */
const SAMPLER_RULES = {
  top_p: { low: 0, high: 1 },
  top_k: { low: -1, high: 1000, whole: true },
  min_p: { low: 0, high: 1 },
  presence_penalty: { low: -2, high: 2 },
  frequency_penalty: { low: -2, high: 2 },
};

function checkSampler(input: Input): void {
  for (const [name, rule] of Object.entries(SAMPLER_RULES)) input.number(name, rule);
  for (const [token, bias] of Object.entries(input.object('logit_bias'))) {
    if (typeof bias !== 'number' || bias < -100 || bias > 100 || !/^\d{1,6}$/.test(token)) {
      throw new BadRequest('logit_bias maps token ids to numbers from -100 to 100.', 'logit_bias');
    }
  }
}

/** Only the end of a prompt decides about the answer: the question is there, and a prompt may have megabytes. */
const PROMPT_CHARS_MAX = 2000;

/**
 * Reads a request for text.
 * @param prompt what is answered
 * @param topLogprobs alternatives to report with each token, `undefined` for no log probabilities
 */
export function readTextRequest(
  input: Input,
  prompt: string,
  topLogprobs: number | undefined,
  { tokensMin = 1 }: { tokensMin?: number } = {},
): TextRequest {
  checkSampler(input);
  const tokens = { low: tokensMin, high: MAX_TOKENS_LIMIT, whole: true };
  const stream = input.flag('stream');
  const seed =
    input.number('seed', { low: -SEED_LIMIT, high: SEED_LIMIT, whole: true }) ??
    Math.floor(Math.random() * 2 ** 32);
  const isGreedy = input.number('temperature', { low: 0, high: 2 }) === 0;
  return {
    model: input.text('model'),
    stream,
    includeUsage: stream && input.object('stream_options')['include_usage'] === true,
    choices: input.number('n', { low: 1, high: 128, whole: true }, 1),
    maxTokens:
      input.number('max_completion_tokens', tokens) ??
      input.number('max_tokens', tokens, MAX_TOKENS_DEFAULT),
    stops: input.stops(),
    seed,
    place: hashOf(`${isGreedy ? '' : seed}/${prompt.slice(-PROMPT_CHARS_MAX)}`),
    goesOn: input.flag('ignore_eos'),
    topLogprobs,
  };
}

/** True for `[1, 2, 3]`: token ids of o200k_base. */
export function isTokenArray(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((id) => Number.isSafeInteger(id) && id >= 0 && id < 200_000)
  );
}
