import { BadRequest, type Input } from './input.ts';
import type { SamplerSettings } from './sampling.ts';
import { topicTokens } from './tokens.ts';

/** The part of a request that chat and legacy completions have in common. */
export interface TextRequest {
  model: string;
  stream: boolean;
  includeUsage: boolean;
  choices: number;
  maxTokens: number;
  stops: readonly string[];
  seed: number;
  settings: SamplerSettings;
}

/** The end of an answer that nothing else limits: a paragraph has about 90 tokens. */
const MAX_TOKENS_DEFAULT = 256;
/** A bound for everybody; the models of the default catalogue have at most 131,072. */
const MAX_TOKENS_LIMIT = 200_000;
const SEED_LIMIT = Number.MAX_SAFE_INTEGER;

function readLogitBias(input: Input): ReadonlyMap<number, number> {
  const biases = new Map<number, number>();
  for (const [token, bias] of Object.entries(input.object('logit_bias'))) {
    if (typeof bias !== 'number' || bias < -100 || bias > 100 || !/^\d{1,6}$/.test(token)) {
      throw new BadRequest('logit_bias maps token ids to numbers from -100 to 100.', 'logit_bias');
    }
    biases.set(Number(token), bias);
  }
  return biases;
}

/**
 * Reads a request for text.
 * @param topic the text that the answer should keep to
 * @param topLogprobs alternatives to report with each token, `undefined` for no log probabilities
 */
export function readTextRequest(
  input: Input,
  topic: string,
  topLogprobs: number | undefined,
  { tokensMin = 1 }: { tokensMin?: number } = {},
): TextRequest {
  const tokens = { low: tokensMin, high: MAX_TOKENS_LIMIT, whole: true };
  const penalty = { low: -2, high: 2 };
  const stream = input.flag('stream');
  return {
    model: input.text('model'),
    stream,
    includeUsage: stream && input.object('stream_options')['include_usage'] === true,
    choices: input.number('n', { low: 1, high: 128, whole: true }, 1),
    maxTokens:
      input.number('max_completion_tokens', tokens) ??
      input.number('max_tokens', tokens, MAX_TOKENS_DEFAULT),
    stops: input.stops(),
    seed:
      input.number('seed', { low: -SEED_LIMIT, high: SEED_LIMIT, whole: true }) ??
      Math.floor(Math.random() * 2 ** 32),
    settings: {
      temperature: input.number('temperature', { low: 0, high: 2 }, 1),
      topP: input.number('top_p', { low: 0, high: 1 }, 1),
      topK: input.number('top_k', { low: -1, high: 1000, whole: true }, 0),
      minP: input.number('min_p', { low: 0, high: 1 }, 0),
      presencePenalty: input.number('presence_penalty', penalty, 0),
      frequencyPenalty: input.number('frequency_penalty', penalty, 0),
      logitBias: readLogitBias(input),
      topic: topicTokens(topic),
      topLogprobs,
      ignoreEnd: input.flag('ignore_eos'),
    },
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
