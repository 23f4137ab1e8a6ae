import { END, START, type Candidates, type TextModel } from './ngram.ts';
import type { Random } from './random.ts';
import { textOf } from './tokens.ts';

/** The sampler parameters of a request, with their defaults filled in. */
export interface SamplerSettings {
  temperature: number;
  topP: number;
  topK: number;
  minP: number;
  presencePenalty: number;
  frequencyPenalty: number;
  logitBias: ReadonlyMap<number, number>;
  /** Tokens of the prompt: they weigh more, so that an answer keeps to its question. */
  topic: ReadonlySet<number>;
  /** Number of alternatives to report with each token; `undefined` where no log probabilities are wanted. */
  topLogprobs: number | undefined;
  /** Go on after the end of a paragraph (as vLLM's `ignore_eos`), so that exactly `max_tokens` come. */
  ignoreEnd: boolean;
}

export interface Alternative {
  text: string;
  logprob: number;
}

/** One token of an answer. */
export interface TokenStep {
  text: string;
  /** Number of tokens: one, unless a character is spread over several. */
  tokens: number;
  logprob: number;
  top: readonly Alternative[];
}

/** A word that occurs in the prompt is this many times as likely as the text alone makes it. */
const TOPIC_WEIGHT = 6;
/** A pair of words already written is this power of its number of times less likely: no endless circles. */
const REPEAT_POWER = 3;
const PARAGRAPH_BREAK = '\n\n';

/** A bias of -100 leaves less than this of any count: then nothing of a context is allowed, and it backs off. */
const FORBIDDEN_BELOW = 1e-30;

/** The tokens of an answer so far, each with its count. */
interface Said {
  words: Map<number, number>;
  /** The same, of pairs: first word, then the word after it. */
  pairs: Map<number, Map<number, number>>;
}

function say(said: Said, last: number, token: number): void {
  said.words.set(token, (said.words.get(token) ?? 0) + 1);
  let row = said.pairs.get(last);
  if (row === undefined) said.pairs.set(last, (row = new Map()));
  row.set(token, (row.get(token) ?? 0) + 1);
}

/** Weights of the candidates before temperature: counts, topic, repetition, bias and penalties. */
function weigh(
  candidates: Candidates,
  last: number,
  model: TextModel,
  settings: SamplerSettings,
  said: Said,
): number[] {
  const { topic, logitBias, presencePenalty, frequencyPenalty } = settings;
  const pairs = said.pairs.get(last);
  const shifted = logitBias.size > 0 || presencePenalty !== 0 || frequencyPenalty !== 0;
  return candidates.counts.map((count, index) => {
    const token = candidates.tokens[index] as number;
    let weight = topic.has(token) && !model.common.has(token) ? count * TOPIC_WEIGHT : count;
    const repeats = pairs?.get(token);
    if (repeats !== undefined) weight /= (1 + repeats) ** REPEAT_POWER;
    if (!shifted) return weight;
    const times = said.words.get(token) ?? 0;
    const shift =
      (logitBias.get(token) ?? 0) - (times > 0 ? presencePenalty : 0) - times * frequencyPenalty;
    return weight * Math.exp(shift);
  });
}

/** Indexes into `weights`, heaviest first, and only those that top_k, min_p and top_p leave. */
function nucleus(weights: readonly number[], settings: SamplerSettings): number[] {
  const { temperature, topP, topK, minP } = settings;
  const order = weights
    .map((_, index) => index)
    .toSorted((a, b) => at(weights, b) - at(weights, a) || a - b);
  if (topK > 0) order.length = Math.min(order.length, topK);
  if (topP >= 1 && minP <= 0) return order;
  const sharp = order.map((index) => at(weights, index) ** (1 / temperature));
  const total = sharp.reduce((sum, weight) => sum + weight, 0);
  let kept = 0;
  let mass = 0;
  for (const weight of sharp) {
    if (kept > 0 && (mass >= topP * total || weight < minP * at(sharp, 0))) break;
    mass += weight;
    kept += 1;
  }
  order.length = kept;
  return order;
}

function at(values: readonly number[], index: number): number {
  return values[index] as number;
}

/** Below this a temperature means "the likeliest token": powers beyond 100 only overflow. */
const GREEDY_BELOW = 0.01;

function pick(weights: readonly number[], settings: SamplerSettings, random: Random): number {
  const { temperature } = settings;
  if (temperature < GREEDY_BELOW) {
    let best = 0;
    for (let index = 1; index < weights.length; index += 1) {
      if (at(weights, index) > at(weights, best)) best = index;
    }
    return best;
  }
  if (settings.topP >= 1 && settings.topK <= 0 && settings.minP <= 0) {
    return pickAny(weights, temperature, random);
  }
  const order = nucleus(weights, settings);
  // Relative to the heaviest, so that no power leaves the range of a double.
  const heaviest = at(weights, order[0] as number) || 1;
  const sharp = order.map((index) => (at(weights, index) / heaviest) ** (1 / temperature));
  let left = random() * sharp.reduce((sum, weight) => sum + weight, 0);
  for (let rank = 0; rank < order.length; rank += 1) {
    left -= at(sharp, rank);
    if (left < 0) return order[rank] as number;
  }
  return order.at(-1) as number;
}

/** The common case, all candidates in play: no order is needed, so none is made. */
function pickAny(weights: readonly number[], temperature: number, random: Random): number {
  let heaviest = 0;
  for (const weight of weights) if (weight > heaviest) heaviest = weight;
  const sharp = weights.map((weight) => (weight / (heaviest || 1)) ** (1 / temperature));
  let total = 0;
  for (const weight of sharp) total += weight;
  let left = random() * total;
  for (let index = 0; index < sharp.length; index += 1) {
    left -= at(sharp, index);
    if (left < 0) return index;
  }
  return sharp.length - 1;
}

function alternatives(
  candidates: Candidates,
  weights: readonly number[],
  total: number,
  wanted: number,
): Alternative[] {
  const order = weights
    .map((_, index) => index)
    .toSorted((a, b) => at(weights, b) - at(weights, a) || a - b);
  return order.slice(0, wanted).map((index) => ({
    text: wordOf(candidates.tokens[index] as number),
    logprob: Math.log(at(weights, index) / total),
  }));
}

const words = new Map<number, string>();

/** The text of a token of the model; kept, because the same few thousand come all the time. */
function wordOf(token: number): string {
  let word = words.get(token);
  if (word === undefined) words.set(token, (word = token === END ? '' : textOf([token])));
  return word;
}

/**
 * Writes text from the model until a paragraph ends (then it returns) or the caller asks for no more.
 * Log probabilities are those of the model's distribution before temperature and top_p.
 */
export function* sampleText(
  model: TextModel,
  settings: SamplerSettings,
  random: Random,
): Generator<TokenStep, void> {
  const said: Said = { words: new Map(), pairs: new Map() };
  let [before, last] = [START, START];
  for (;;) {
    let candidates = model.after(before, last);
    let weights = weigh(candidates, last, model, settings, said);
    if (settings.logitBias.size > 0 && weights.every((weight) => weight < FORBIDDEN_BELOW)) {
      candidates = model.anywhere;
      weights = weigh(candidates, last, model, settings, said);
    }
    const index = pick(weights, settings, random);
    const token = candidates.tokens[index] as number;
    if (token === END && !settings.ignoreEnd) return;
    const step: TokenStep = {
      text: token === END ? PARAGRAPH_BREAK : wordOf(token),
      tokens: 1,
      logprob: 0,
      top: [],
    };
    if (settings.topLogprobs !== undefined) {
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      step.logprob = Math.log(at(weights, index) / total);
      step.top = alternatives(candidates, weights, total, settings.topLogprobs);
    }
    say(said, last, token);
    yield step;
    [before, last] = token === END ? [START, START] : [last, token];
  }
}
