import type { Model } from '../../shared/domain/catalogue.ts';
import { Fault } from '../../shared/domain/errors.ts';
import type { Route } from '../../shared/domain/inference.ts';
import { promptsOf } from '../../shared/domain/prompt.ts';
import type { TokenCounter } from '../../shared/ports/tokenizer.ts';

const PARAM: Readonly<Record<Route, string>> = {
  'chat.completions': 'messages',
  completions: 'prompt',
  embeddings: 'input',
};

/**
 * Refuses a prompt that cannot fit in the model's context window; each input of a batch must fit by itself.
 * Returns a promise only when something has to be counted, which is rare: nothing is when the whole body has no more
 * bytes than the window has tokens.
 * @throws Fault `prompt_too_long` (also as a rejection)
 */
export function checkPromptFits(
  counter: TokenCounter,
  model: Pick<Model, 'id' | 'contextWindow' | 'tokenizer'>,
  route: Route,
  body: Readonly<Record<string, unknown>>,
  rawBytes: number,
): void | Promise<void> {
  if (rawBytes <= model.contextWindow) return;
  const counts: Promise<boolean>[] = [];
  for (const prompt of promptsOf(route, body)) {
    const fits = counter.promptFits(prompt, model);
    if (fits === false) throw tooLong(model, route);
    if (fits !== true) counts.push(fits);
  }
  if (counts.length > 0) return refuseUnlessAll(counts, model, route);
}

async function refuseUnlessAll(
  counts: readonly Promise<boolean>[],
  model: Pick<Model, 'id' | 'contextWindow'>,
  route: Route,
): Promise<void> {
  if (!(await Promise.all(counts)).every(Boolean)) throw tooLong(model, route);
}

function tooLong(model: Pick<Model, 'id' | 'contextWindow'>, route: Route): Fault {
  const message = `The prompt is longer than the context window of ${model.id}, ${model.contextWindow} tokens.`;
  return new Fault('prompt_too_long', message, { param: PARAM[route] });
}
