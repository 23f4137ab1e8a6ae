import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import type { Usage } from '#shared/kernel/inference.ts';
import { promptsOf } from '#shared/screening/prompt.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { TokenCounter } from '#shared/screening/files/token-counter.ts';

/** Counts what an upstream did not: the prompt of a request, and the text it generated. */
export function usageCounter(
  tokens: TokenCounter,
  catalogue: () => Catalogue,
): (entry: InferenceEntry, body: string, generated: string) => Usage {
  return (entry, body, generated) => {
    const family = catalogue().models.find(({ id }) => id === entry.model)?.tokenizer;
    const prompts = promptsOf(entry.route, JSON.parse(body) as Record<string, unknown>);
    return {
      inputTokens: prompts.reduce((sum, prompt) => sum + tokens.countPrompt(prompt, family), 0),
      cachedInputTokens: 0,
      outputTokens: generated === '' ? 0 : tokens.countTokens(generated, family),
      source: 'counted',
    };
  };
}
