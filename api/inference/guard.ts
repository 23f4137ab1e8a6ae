import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Model } from '#shared/catalogue/catalogue.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { promptsOf, textsOf } from '#shared/screening/prompt.ts';
import type { Screen, Verdict } from '#shared/screening/screen.ts';
import type { TokenCounter } from '#shared/screening/files/token-counter.ts';
import type { Moderator } from '#shared/screening/http/moderation.ts';

export interface GuardDeps {
  screen: Screen;
  tokens: TokenCounter;
  /** The second stage, for what the rules let through; none when it is not configured. */
  moderator?: Moderator | undefined;
  /** Told of requests that passed because the second stage could not be asked. */
  onUnjudged: () => void;
}

type Body = Readonly<Record<string, unknown>>;

/** Bodies below this are screened in one go (about a millisecond); larger ones give way to other requests between turns. */
const ONE_GO_BYTES = 256 * 1024;

/**
 * The rule that a request breaks, or null. Synchronous for bodies of ordinary size when there is no second stage.
 * @throws Fault for token arrays that nobody here can read, and when a second stage that must judge cannot be asked
 */
export function screenBody(
  deps: GuardDeps,
  route: Route,
  body: Body,
  bytes: number,
  model: Model,
): Verdict | null | Promise<Verdict | null> {
  const decode = deps.tokens.decoder(model.tokenizer);
  if (decode === undefined) refuseTokens(route, body);
  const texts = textsOf(route, body, decode);
  const found = bytes <= ONE_GO_BYTES ? deps.screen.check(texts) : inTurns(deps.screen, texts);
  return deps.moderator === undefined ? found : inTwoStages(found, texts, deps);
}

/** Token ids of an unknown vocabulary cannot be screened, so they would be a way around every rule. */
function refuseTokens(route: Route, body: Body): void {
  if (route === 'chat.completions') return;
  if (!promptsOf(route, body).some(({ tokens }) => tokens > 0)) return;
  const param = PARAMS[route];
  throw invalidParam(param, 'This model takes text; its token ids cannot be read by the gateway.');
}

async function inTwoStages(
  first: Verdict | null | Promise<Verdict | null>,
  texts: string[],
  { moderator, onUnjudged }: GuardDeps,
): Promise<Verdict | null> {
  const found = await first;
  if (found !== null) return found;
  const moderation = await moderator!.judge(texts);
  if (moderation.outcome === 'flagged') return moderation.verdict;
  if (moderation.outcome === 'unavailable') {
    throw new Fault('internal_error', 'The request could not be screened. Try again shortly.', {
      retryAfterMs: 1_000,
    });
  }
  if (moderation.outcome === 'skipped') onUnjudged();
  return null;
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
