import type { Catalogue, Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Usage } from '#shared/kernel/inference.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { TokenCounter } from '#shared/screening/files/token-counter.ts';
import { promptsOf } from '#shared/screening/prompt.ts';

export type JsonObject = Record<string, unknown>;

/** No request uses more tokens than this; a larger figure is a fault of the upstream. */
const TOKENS_MAX = 1_000_000_000;

/** The upstream's own counts, or undefined when it gave none that can be used. Zero is a count. */
export function readUsage(usage: unknown, energy?: Endpoint['energy']): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const input = count(usage['prompt_tokens']) ?? count(usage['input_tokens']);
  if (input === undefined) return undefined;
  const output = count(usage['completion_tokens']) ?? count(usage['output_tokens']) ?? 0;
  const read: Usage = {
    inputTokens: input,
    cachedInputTokens: Math.min(input, cachedTokens(usage)),
    outputTokens: output,
    source: 'upstream',
  };
  const joules = energy?.usageField === undefined ? undefined : usage[energy.usageField];
  if (typeof joules === 'number' && Number.isFinite(joules) && joules >= 0)
    read.measuredJoules = joules;
  return read;
}

/** Where the several families of servers write the part of the prompt that came from their prefix cache. */
function cachedTokens(usage: JsonObject): number {
  const details = usage['prompt_tokens_details'] ?? usage['input_tokens_details'];
  const inDetails = isObject(details) ? count(details['cached_tokens']) : undefined;
  return inDetails ?? count(usage['prompt_cache_hit_tokens']) ?? 0;
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX
    ? (value as number)
    : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The generated text of one choice, whole (`message`, `text`) or a piece of it (`delta`), for counting. */
export function textOfChoice(choice: unknown): string {
  if (!isObject(choice)) return '';
  if (typeof choice['text'] === 'string') return choice['text'];
  const part = choice['delta'] ?? choice['message'];
  if (!isObject(part)) return '';
  let text = '';
  for (const field of ['content', 'reasoning_content', 'reasoning', 'refusal']) {
    const value = part[field];
    if (typeof value === 'string') text += value;
  }
  const calls = part['tool_calls'];
  if (Array.isArray(calls)) for (const call of calls) text += textOfCall(call);
  return text;
}

function textOfCall(call: unknown): string {
  const called = isObject(call) ? call['function'] : undefined;
  if (!isObject(called)) return '';
  const name = typeof called['name'] === 'string' ? called['name'] : '';
  return name + (typeof called['arguments'] === 'string' ? called['arguments'] : '');
}

/** Counts what an upstream did not: the prompt of a request with this body, and the text that was generated. */
export function usageCounter(
  tokens: TokenCounter,
  catalogue: () => Catalogue,
): (entry: InferenceEntry, body: string, generated: string) => Promise<Usage> {
  return async (entry, body, generated) => {
    const family = catalogue().models.find(({ id }) => id === entry.model)?.tokenizer;
    const prompts = promptsOf(entry.route, JSON.parse(body) as JsonObject);
    return {
      inputTokens: await tokens.countPrompts(prompts, family),
      cachedInputTokens: 0,
      outputTokens: generated === '' ? 0 : await tokens.countTokens(generated, family),
      source: 'counted',
    };
  };
}
