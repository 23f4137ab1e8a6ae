import { setImmediate as nextTurn } from 'node:timers/promises';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { ReceiptEntry } from '#shared/lanes/messages.ts';
import { receiptEntryOf } from '#shared/lanes/receipt-entry.ts';
import type { TokenCounter } from '#shared/screening/files/token-counter.ts';
import type { Moderator } from '#shared/screening/http/moderation.ts';
import { promptsOf, textsOf } from '#shared/screening/prompt.ts';
import type { Screen, Verdict } from '#shared/screening/screen.ts';
import type { ApiEvents } from '#api/events.ts';
import type { Prepared } from './prepare.ts';

export interface GuardDeps {
  screen: Screen;
  tokens: TokenCounter;
  /** The second stage, for what the rules let through; none when it is not configured. */
  moderator?: Pick<Moderator, 'judge'> | undefined;
  /** Hands an outcome to the receipts lane of a shard; rejects when Redis cannot be reached. */
  handOutcome: (shard: number, outcome: ReceiptEntry) => Promise<void>;
  supportEmail: string;
  events: Pick<ApiEvents, 'unjudged' | 'storeFailed'>;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Bodies below this are screened in one go (about a millisecond); larger ones give way to other requests between turns. */
const ONE_GO_BYTES = 256 * 1024;

/** The parameter that holds what the model reads. */
const PARAMS: Record<Route, string> = {
  'chat.completions': 'messages',
  completions: 'prompt',
  embeddings: 'input',
};

/**
 * Lets a request pass whose texts the policy allows and whose prompt the model can hold.
 * @throws Fault when it must not pass, and when a second stage that must judge cannot be asked
 */
export async function guard(deps: GuardDeps, prepared: Prepared): Promise<void> {
  const verdict = await screenPrompt(deps, prepared);
  if (verdict !== null) throw await refuse(deps, prepared, verdict);
  await checkLength(deps.tokens, prepared);
}

/** The rule that a request breaks, or null. Synchronous for bodies of ordinary size when there is no second stage. */
function screenPrompt(
  deps: GuardDeps,
  prepared: Prepared,
): Verdict | null | Promise<Verdict | null> {
  const { route } = prepared.entry;
  const decode = deps.tokens.decoder(prepared.resolution.model.tokenizer);
  if (decode === undefined) refuseTokens(prepared);
  const texts = textsOf(route, prepared.parsed, decode);
  const found =
    prepared.bytes <= ONE_GO_BYTES ? deps.screen.check(texts) : inTurns(deps.screen, texts);
  return deps.moderator === undefined ? found : inTwoStages(found, texts, deps.moderator, deps);
}

/** Token ids of an unknown vocabulary cannot be screened, so they would be a way around every rule. */
function refuseTokens({ entry: { route }, parsed }: Prepared): void {
  if (route === 'chat.completions') return;
  if (!promptsOf(route, parsed).some(({ tokens }) => tokens > 0)) return;
  throw invalidParam(
    PARAMS[route],
    'This model takes text; its token ids cannot be read by the gateway.',
  );
}

async function inTwoStages(
  first: Verdict | null | Promise<Verdict | null>,
  texts: string[],
  moderator: Pick<Moderator, 'judge'>,
  { events }: GuardDeps,
): Promise<Verdict | null> {
  const found = await first;
  if (found !== null) return found;
  const moderation = await moderator.judge(texts);
  if (moderation.outcome === 'flagged') return moderation.verdict;
  if (moderation.outcome === 'unavailable') {
    throw new Fault('internal_error', {
      message: 'The request could not be screened. Try again shortly.',
      retryAfterMs: 1_000,
    });
  }
  if (moderation.outcome === 'skipped') events.unjudged();
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

/**
 * Records a request that screening has blocked and says what its caller is told: a `refused` receipt with the policy's
 * version and salted digests, never the text, and a message that says whom to write to. The rule goes with the record to
 * where operators look it up; nothing that the caller gets names it. The refusal stands even when it cannot be recorded.
 */
async function refuse(deps: GuardDeps, { entry }: Prepared, verdict: Verdict): Promise<Fault> {
  const outcome = receiptEntryOf(entry, 1, {
    outcome: 'refused',
    endedAt: deps.now(),
    usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, source: 'counted' },
    calls: 0,
    policy: { version: verdict.policyVersion, rule: verdict.rule },
  });
  await deps.handOutcome(entry.shard, outcome).catch(deps.events.storeFailed);
  return new Fault(verdict.code, {
    values: { supportEmail: deps.supportEmail, requestId: entry.id },
    headers: { 'x-receipt-id': receiptIdOf(entry.id) },
  });
}

/** Refuses a prompt that cannot fit the model's context window. A body with no more bytes than that has tokens fits unread. */
function checkLength(tokens: TokenCounter, prepared: Prepared): void | Promise<void> {
  if (prepared.bytes > prepared.resolution.model.contextWindow) return checkEach(tokens, prepared);
}

async function checkEach(
  tokens: TokenCounter,
  { entry: { route }, parsed, resolution: { model } }: Prepared,
): Promise<void> {
  const window = {
    contextWindow: model.contextWindow,
    ...(model.tokenizer === undefined ? {} : { tokenizer: model.tokenizer }),
  };
  for (const prompt of promptsOf(route, parsed)) {
    if (await tokens.promptFits(prompt, window)) continue;
    throw new Fault('prompt_too_long', {
      values: { model: model.id, tokens: model.contextWindow },
      param: PARAMS[route],
    });
  }
}
