import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Model } from '../../shared/domain/catalogue.ts';
import { Fault } from '../../shared/domain/errors.ts';
import type { Route } from '../../shared/domain/inference.ts';
import { promptsOf } from '../../shared/domain/prompt.ts';
import type { Screen, Verdict } from '../../shared/domain/screening/screen.ts';
import { textsOf } from '../../shared/domain/screening/texts.ts';
import type { TokenCounter } from '../../shared/ports/tokenizer.ts';

export interface GuardDeps {
  screen: Screen;
  tokens: TokenCounter;
}

type Body = Readonly<Record<string, unknown>>;

/** Bodies below this are screened in one go (about a millisecond); larger ones give way to other requests between turns. */
const ONE_GO_BYTES = 256 * 1024;

/** The rule that a request breaks, or null. Synchronous for bodies of ordinary size. */
export function screenBody(
  { screen, tokens }: GuardDeps,
  route: Route,
  body: Body,
  bytes: number,
  model: Model,
): Verdict | null | Promise<Verdict | null> {
  const texts = textsOf(route, body, tokens.decoder(model.tokenizer));
  return bytes <= ONE_GO_BYTES ? screen.check(texts) : inTurns(screen, texts);
}

async function inTurns(screen: Screen, texts: string[]): Promise<Verdict | null> {
  const turns = screen.checkInTurns(texts);
  for (;;) {
    const { done, value } = turns.next();
    if (done === true) return value;
    await nextTurn();
  }
}

const PARAMS: Record<Route, string> = {
  'chat.completions': 'messages',
  completions: 'prompt',
  embeddings: 'input',
};

/**
 * Refuses a prompt that cannot fit the model's context window. A body with no more bytes than the window has tokens
 * fits without being looked at.
 * @throws Fault `prompt_too_long`
 */
export function checkLength(
  { tokens }: GuardDeps,
  route: Route,
  body: Body,
  bytes: number,
  model: Model,
): void | Promise<void> {
  if (bytes <= model.contextWindow) return;
  return checkEach(tokens, route, body, model);
}

async function checkEach(
  tokens: TokenCounter,
  route: Route,
  body: Body,
  model: Model,
): Promise<void> {
  const window = {
    contextWindow: model.contextWindow,
    ...(model.tokenizer === undefined ? {} : { tokenizer: model.tokenizer }),
  };
  for (const prompt of promptsOf(route, body)) {
    if (await tokens.promptFits(prompt, window)) continue;
    throw new Fault(
      'prompt_too_long',
      `The prompt is longer than the context window of ${model.id} (${model.contextWindow} tokens).`,
      { param: PARAMS[route] },
    );
  }
}
