import { isDeepStrictEqual } from 'node:util';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { inJoules } from '#shared/catalogue/stated-energy.ts';
import {
  type Dialect,
  type Route,
  type TokenInterval,
  type UnknownUsage,
  type Usage,
  type UsageReason,
} from '#shared/kernel/inference.ts';
import type { TokenCounter } from '#shared/screening/files/token-counter.ts';
import { isCounted, type Prompt, promptsOf } from '#shared/screening/prompt.ts';
import { hasMedia } from '#shared/screening/texts.ts';
import { isObject, type JsonObject, listOf, textOf } from '#shared/kernel/json-object.ts';
import type { Asked } from './bodies.ts';
import { calledBy, reasoningIn, textIn } from './responses/output.ts';

/** No request uses more tokens than this; a larger figure is a fault of the upstream. */
const TOKENS_MAX = 1_000_000_000;

/**
 * The upstream's own counts, or undefined when it gave none that can be used: both of them, where there is something to
 * generate. Zero is a count. Whether they can be true is asked when the answer is known (`cannotBe`).
 */
export function readUsage(
  usage: unknown,
  energy?: Endpoint['energy'],
  route: Route = 'chat.completions',
): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const input = count(usage['prompt_tokens']) ?? count(usage['input_tokens']);
  const output =
    count(usage['completion_tokens']) ??
    count(usage['output_tokens']) ??
    (route === 'embeddings' ? 0 : undefined);
  if (input === undefined || output === undefined) return undefined;
  const read: Usage = {
    inputTokens: input,
    cachedInputTokens: cachedTokens(usage),
    outputTokens: output,
    source: 'upstream',
  };
  const stated = energy?.usageField === undefined ? undefined : usage[energy.usageField];
  const joules = inJoules(stated, energy);
  if (joules !== undefined) read.statedJoules = joules;
  return read;
}

/** The usage that a chunk reports, its own or that of Groq, which has a place of its own for it. */
export function usageIn({ usage, x_groq: groq }: JsonObject): unknown {
  return usage ?? (isObject(groq) ? groq['usage'] : undefined);
}

/**
 * What an upstream says last, behind what it said before. Some write zeros where they know nothing: a zero behind a count is
 * none.
 */
export function behind(known: Usage | undefined, last: Usage): Usage {
  if (known === undefined) return last;
  const { inputTokens, cachedInputTokens } = last.inputTokens === 0 ? known : last;
  return {
    ...last,
    inputTokens,
    cachedInputTokens,
    outputTokens: last.outputTokens || known.outputTokens,
  };
}

/** No published vocabulary has a token of more bytes of text; the longest are of white space. */
const TOKEN_BYTES_MAX = 128;

/** As many tokens as texts have at least, in any vocabulary. Those of vocabularies differ by a factor of four; this is far below. */
function tokensAtLeast(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / TOKEN_BYTES_MAX), 0);
}

/**
 * Whether no vocabulary makes so few tokens of what was asked and generated, or more came from a cache than there was. The
 * prompt is read only where its body is long enough for that.
 * @param bodyBytes of the request: its texts are no longer than it
 * @param readPrompt how many tokens the prompt has at least
 */
export async function cannotBe(
  { inputTokens, cachedInputTokens, outputTokens }: Usage,
  generated: readonly string[],
  bodyBytes: number,
  readPrompt: () => Promise<number>,
): Promise<boolean> {
  if (inputTokens === 0 || cachedInputTokens > inputTokens) return true;
  if (outputTokens < tokensAtLeast(generated)) return true;
  return inputTokens * TOKEN_BYTES_MAX < bodyBytes && inputTokens < (await readPrompt());
}

/** As many tokens as a prompt has at least, in any vocabulary. */
export function promptAtLeast({ route, body }: Asked): number {
  const prompts = promptsOf(route, JSON.parse(body) as JsonObject);
  return prompts.reduce(
    (sum, { texts, tokens }) => sum + tokens + tokensAtLeast([texts.join('')]),
    0,
  );
}

/** Usage in the words of this interface. Counts of ours say so. */
function usageObject(usage: Usage, route: Route): JsonObject {
  const { inputTokens, outputTokens, source, extrapolated } = usage;
  return {
    prompt_tokens: inputTokens,
    ...(route === 'embeddings' ? {} : { completion_tokens: outputTokens }),
    total_tokens: inputTokens + outputTokens,
    ...(source === 'counted' ? { source } : {}),
    ...(extrapolated === undefined ? {} : { extrapolated }),
  };
}

/**
 * Usage as a client reads it: the upstream's own words, with what the receipt says in all places where that stands, under the
 * names that clients know; null where it is not known.
 */
export function toldUsage(
  usage: Usage | UnknownUsage,
  theirs: unknown,
  route: Route = 'chat.completions',
): unknown {
  if (usage.source === 'unknown') return null;
  const ours = usageObject(usage, route);
  if (usage.source !== 'upstream') return ours;
  if (!isObject(theirs) || theirs['prompt_tokens'] === undefined) {
    const { cachedInputTokens: cached } = usage;
    return cached === 0 ? ours : { ...ours, prompt_tokens_details: { cached_tokens: cached } };
  }
  const told: JsonObject = { ...theirs, ...elsewhere(usage, theirs), ...ours };
  // A sum that is not told contradicts nothing.
  if (theirs['total_tokens'] === undefined) delete told['total_tokens'];
  return isDeepStrictEqual(told, theirs) ? theirs : told;
}

/**
 * The further places where an upstream's usage tells what the receipt says: the cached part of the prompt, and the names of
 * responses, which some gateways write beside those of chats and leave at zero.
 */
function elsewhere(usage: Usage, theirs: JsonObject): JsonObject {
  const { inputTokens, cachedInputTokens, outputTokens } = usage;
  const told = theirs['prompt_tokens_details'];
  const details = isObject(told) ? told : {};
  return {
    ...(theirs['input_tokens'] == null ? {} : { input_tokens: inputTokens }),
    ...(theirs['output_tokens'] == null ? {} : { output_tokens: outputTokens }),
    // Where clients look for it, also of a server that tells it elsewhere alone.
    ...(details['cached_tokens'] != null || cachedInputTokens > 0
      ? { prompt_tokens_details: { ...details, cached_tokens: cachedInputTokens } }
      : {}),
    ...Object.fromEntries(
      CACHED_NAMES.filter((name) => theirs[name] != null).map((name) => [name, cachedInputTokens]),
    ),
  };
}

/** Where servers write the part of the prompt that came from their cache, beside the details: DeepSeek, and Kimi with others. */
const CACHED_NAMES = ['prompt_cache_hit_tokens', 'cached_tokens'] as const;

/** The part of the prompt that came from a server's prefix cache. */
function cachedTokens(usage: JsonObject): number {
  const details = usage['prompt_tokens_details'] ?? usage['input_tokens_details'];
  const inDetails = isObject(details) ? count(details['cached_tokens']) : undefined;
  const [beside] = CACHED_NAMES.flatMap((name) => count(usage[name]) ?? []);
  return inDetails ?? beside ?? 0;
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX
    ? (value as number)
    : undefined;
}

/** The generated text of one choice, whole (`message`, `text`) or a piece of it (`delta`), for counting. */
export function textOfChoice(choice: unknown): string {
  if (!isObject(choice)) return '';
  if (typeof choice['text'] === 'string') return choice['text'];
  const part = choice['delta'] ?? choice['message'];
  if (!isObject(part)) return '';
  let text = textIn(part, 'content') + reasoningIn(part) + textIn(part, 'refusal');
  const calls = part['tool_calls'];
  if (Array.isArray(calls)) for (const call of calls) text += textOfCall(call);
  return text;
}

function textOfCall(call: unknown): string {
  if (!isObject(call)) return '';
  const { name, input } = calledBy(call);
  return name + input;
}

/**
 * What an upstream used that was asked this, and generated these texts, choice by choice: as we count it, or as the upstream
 * `reported` it, if that can be of all choices and prompts. Some servers report one of them. Not known when the prompt
 * holds what the model or its server alone can count.
 * @param model its id in the catalogue
 */
export type CountUsage = (
  model: string,
  asked: Asked,
  generated: readonly string[],
  reported?: Usage,
) => Promise<Usage | UnknownUsage>;

/** Counts that, by the vocabulary of a family of tokenizers. */
export async function countUsed(
  tokens: TokenCounter,
  asked: Asked,
  family: string | undefined,
  generated: readonly string[],
  reported?: Usage,
): Promise<Usage | UnknownUsage> {
  const body = JSON.parse(asked.body) as JsonObject;
  const prompts = promptsOf(asked.route, body);
  const written = { texts: generated.filter((one) => one !== ''), tokens: 0, messages: 0 };
  const { name: tokenizer, isOwn } = tokens.vocabularyOf(family);
  const input = await tokens.countPrompts(prompts, family);
  const output = await tokens.countPrompts([written], family);
  const counted: Usage = {
    inputTokens: input.tokens,
    cachedInputTokens: 0,
    outputTokens: output.tokens,
    source: 'counted',
    tokenizer,
  };
  const isOfOne =
    reported === undefined ||
    isOneShare(reported.outputTokens, counted.outputTokens, generated.map(lengthOf)) ||
    isOneShare(reported.inputTokens, counted.inputTokens, prompts.map(lengthOfPrompt));
  if (!isOfOne) return reported;
  if (holdsUncounted(asked.route, body)) return { source: 'unknown', reason: 'not_counted' };
  const thoughts = thoughtsIn(asked.route, body);
  const again = await tokens.countPrompts([thoughts], family);
  const interval: TokenInterval = {
    inputLower: input.lower,
    inputUpper: input.upper + again.upper,
    outputLower: output.lower,
    outputUpper: output.upper,
  };
  const isExtrapolated = input.lower < input.upper || output.lower < output.upper;
  if (isExtrapolated) counted.extrapolated = true;
  if (!isOwn) counted.tokenInterval = ofAnother(interval, [...prompts, thoughts, written], body);
  else if (isExtrapolated || again.upper > 0) counted.tokenInterval = interval;
  return counted;
}

/** What an assistant thought: some templates write it out again, and others do so of the last turn or of none. */
function thoughtsIn(route: Dialect, { messages, input }: JsonObject): Prompt {
  const all =
    route === 'responses'
      ? listOf(input).filter(isThought).flatMap(textsOfThought)
      : listOf(messages).filter(isObject).map(reasoningIn);
  return { texts: all.filter((text) => text !== ''), tokens: 0, messages: 0 };
}

const isThought = (item: unknown): item is JsonObject =>
  isObject(item) && item['type'] === 'reasoning';

function textsOfThought({ content, summary }: JsonObject): string[] {
  const parts = [...listOf(content), ...listOf(summary)].filter(isObject);
  return parts.map(({ text }) => textOf(text) ?? '');
}

/** Whether a prompt holds what no text tells: media, what a server ran, and thoughts that only it can read. */
function holdsUncounted(route: Dialect, { messages, input }: JsonObject): boolean {
  if (route !== 'responses') return hasMedia({ messages });
  return (
    hasMedia({ input }) ||
    listOf(input).some(
      (item) =>
        isObject(item) && (isThought(item) ? item['encrypted_content'] != null : !isCounted(item)),
    )
  );
}

/**
 * Whether what was asked is not known to be counted alike wherever it is sent: it holds thoughts, or what only servers of
 * responses take.
 */
export function dependsOnEndpoint({ route, body }: Asked): boolean {
  const parsed = JSON.parse(body) as JsonObject;
  return holdsUncounted(route, parsed) || thoughtsIn(route, parsed).texts.length > 0;
}

/** What is known where the answer is not: the prompt, if it was counted with the model's own vocabulary. */
export function unknownUsage(reason: UsageReason, counted: Usage | UnknownUsage): UnknownUsage {
  const { inputTokens, tokenizer } = counted;
  if (counted.source !== 'counted' || counted.tokenInterval !== undefined)
    return { source: 'unknown', reason };
  return {
    source: 'unknown',
    reason,
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(tokenizer === undefined ? {} : { tokenizer }),
  };
}

/** Other vocabularies make at least half and at most four times as many tokens of a text in any script. */
const FEWER = 2;
const MORE = 4;
/** And their templates add more around a chat and around each of its messages than ours. */
const TEMPLATE_TOKENS_MAX = 64;
const MESSAGE_TOKENS_MAX = 16;

/** Where the counts of another vocabulary lie, by those of ours. No token is less than a byte. */
function ofAnother(
  { inputLower, inputUpper, outputLower, outputUpper }: TokenInterval,
  texts: readonly Prompt[],
  { tools, functions }: JsonObject,
): TokenInterval {
  const bytes = texts.map((one) =>
    one.texts.reduce((sum, text) => sum + Buffer.byteLength(text), one.tokens),
  );
  const outputBytes = bytes.at(-1)!;
  const inputBytes = bytes.reduce((sum, one) => sum + one, 0) - outputBytes;
  const messages = texts.reduce((sum, one) => sum + one.messages, 0);
  const template = messages === 0 ? 1 : TEMPLATE_TOKENS_MAX + messages * MESSAGE_TOKENS_MAX;
  // Schemas of tools are written out by templates, and not counted here.
  const described =
    tools === undefined && functions === undefined ? 0 : JSON.stringify([tools, functions]).length;
  const upper = (tokens: number, most: number): number =>
    Math.max(tokens, Math.min(tokens * MORE, most));
  return {
    inputLower: Math.ceil(inputLower / FEWER),
    inputUpper: upper(inputUpper, inputBytes) + template + described,
    outputLower: Math.ceil(outputLower / FEWER),
    outputUpper: upper(outputUpper, outputBytes),
  };
}

/** Vocabularies differ by less than this in what they make of a text, nearly always. */
const SHARE_MAX = 0.75;

/** Whether a count is rather that of the largest share than of the whole, of which we have a count. */
function isOneShare(reported: number, whole: number, lengths: readonly number[]): boolean {
  if (lengths.length < 2) return false;
  const all = lengths.reduce((sum, length) => sum + length, 0);
  const largest = all === 0 ? 1 : Math.max(...lengths) / all;
  return reported < whole * Math.min(SHARE_MAX, Math.sqrt(largest));
}

const lengthOf = (text: string): number => text.length;

function lengthOfPrompt({ texts, tokens }: Prompt): number {
  return texts.reduce((sum, text) => sum + text.length, tokens * CHARS_PER_TOKEN);
}

/** In most writing; it is only compared with itself. */
const CHARS_PER_TOKEN = 4;
