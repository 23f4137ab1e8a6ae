import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import type { Model } from '#shared/catalogue/catalogue.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { inTurns } from '#shared/kernel/turns.ts';
import { receiptEntryOf } from '#shared/lanes/receipt-entry.ts';
import type { TokenCounter } from '#shared/screening/files/token-counter.ts';
import type { Moderator } from '#shared/screening/http/moderation.ts';
import {
  BESIDE_TEXTS_MAX,
  besideTextsOf,
  type DecodeTokens,
  fittingBudget,
  promptsOf,
  textsOf,
} from '#shared/screening/prompt.ts';
import type { Screen, Verdict } from '#shared/screening/screen.ts';
import type { ApiEvents } from '#api/events.ts';
import { type AdmitDeps, recordRefusal } from './admit.ts';
import type { Prepared } from './prepare.ts';

export interface GuardDeps extends Pick<AdmitDeps, 'admissions'> {
  screen: Screen;
  tokens: TokenCounter;
  /** The second stage, for what the rules let through; none when it is not configured. */
  moderator?: Pick<Moderator, 'judge'> | undefined;
  supportEmail: string;
  events: Pick<ApiEvents, 'unjudged' | 'storeFailed'>;
  /** Epoch milliseconds. */
  now: () => number;
}

/** Texts up to this length are screened in one go (a millisecond, four of the densest); longer ones in turns. */
const ONE_GO_CHARS = 32 * 1024;
/** No writing has more characters per token; ids of long runs of spaces would be a small body with 128 times its text. */
const CHARS_PER_ID_MAX = 16;
/** A few ids may stand for long runs all the same. */
const CHARS_OF_FEW_IDS = 4_096;

/** The name of a field as interfaces have them: any other is not repeated to the caller. */
const PASSED_THROUGH = /^[a-z][a-z0-9_]{0,63}$/;

/** The parameter that holds what the model reads. */
const PARAMS: Record<Route, string> = {
  'chat.completions': 'messages',
  completions: 'prompt',
  embeddings: 'input',
};

/** The part of a request that costs time in proportion to its body; it goes through the turnstile, what waits does not. */
export interface Read {
  /** The rule that the request breaks. */
  verdict: Verdict | null;
  texts: string[];
}

/**
 * Reads what the model would read: by the rules of the policy, and whether the model can hold it.
 * Synchronous for bodies of ordinary size.
 * @throws Fault when it cannot
 */
export function readPrompt(deps: GuardDeps, prepared: Prepared): Read | Promise<Read> {
  const { parsed, resolution, entry } = prepared;
  const decode = deps.tokens.decoder(resolution.model.tokenizer);
  checkTokens(prepared, decode);
  const texts = textsOf(entry.route, parsed, decode && bounded(decode, prepared));
  addBeside(texts, prepared);
  let chars = 0;
  for (const text of texts) chars += text.length;
  const isLong = chars > ONE_GO_CHARS;
  if (isLong || prepared.bytes > resolution.model.contextWindow)
    return readLong(deps, prepared, texts, isLong);
  return { verdict: deps.screen.check(texts), texts };
}

async function readLong(
  { screen, tokens }: GuardDeps,
  prepared: Prepared,
  texts: string[],
  isLong: boolean,
): Promise<Read> {
  const verdict = isLong ? await inTurns(screen.checkInTurns(texts)) : screen.check(texts);
  if (verdict === null) await checkLength(tokens, prepared);
  return { verdict, texts };
}

/**
 * Lets a request pass whose texts the policy allows.
 * @throws Fault when it must not pass, and when a second stage that must judge cannot be asked
 */
export async function guard(
  deps: GuardDeps,
  prepared: Prepared,
  { verdict, texts }: Read,
): Promise<void> {
  const found = verdict ?? (await secondStage(deps, prepared.entry.route, texts));
  if (found !== null) throw await refuse(deps, prepared, found);
}

/** What stands beside the prompt may reach the model as well: it is read after the prompt, by the same rules. */
function addBeside(texts: string[], { entry: { route }, parsed }: Prepared): void {
  const beside = besideTextsOf(route, parsed);
  if ('tooMany' in beside) {
    const { tooMany } = beside;
    throw invalidParam(
      PASSED_THROUGH.test(tooMany) ? tooMany : 'body',
      `Names and texts beside the prompt must be at most ${BESIDE_TEXTS_MAX.toLocaleString('en-US')}.`,
    );
  }
  for (const text of beside.texts) texts.push(text);
}

/** Refuses token ids before they are decoded: those that cannot be, and more than the model can hold. */
function checkTokens(
  { entry: { route }, parsed, resolution: { model } }: Prepared,
  decode: DecodeTokens | undefined,
): void {
  if (route === 'chat.completions') return;
  for (const { tokens } of promptsOf(route, parsed)) {
    if (tokens === 0) continue;
    if (tokens > model.contextWindow) throw tooLong(model, route);
    // What cannot be read cannot be screened, so it would be a way around every rule.
    if (decode !== undefined) continue;
    throw invalidParam(
      PARAMS[route],
      'This model takes text; its token ids cannot be read by the gateway.',
    );
  }
}

function bounded(decode: DecodeTokens, { entry: { route } }: Prepared): DecodeTokens {
  return (tokens) => {
    const charsMax = CHARS_OF_FEW_IDS + tokens.length * CHARS_PER_ID_MAX;
    const text = decode(tokens, charsMax);
    if (text.length <= charsMax) return text;
    throw invalidParam(
      PARAMS[route],
      `The token ids stand for more text than writing has: over ${CHARS_PER_ID_MAX} characters each.`,
    );
  };
}

async function secondStage(
  { moderator, events }: GuardDeps,
  route: Route,
  texts: string[],
): Promise<Verdict | null> {
  if (moderator === undefined) return null;
  const moderation = await moderator.judge(texts);
  if (moderation.outcome === 'flagged') return moderation.verdict;
  if (moderation.outcome === 'too_long')
    throw invalidParam(PARAMS[route], 'The texts are longer than the gateway can have judged.');
  if (moderation.outcome === 'unavailable') {
    throw new Fault('internal_error', {
      message: 'The request could not be screened. Try again shortly.',
      retryAfterMs: 1_000,
    });
  }
  if (moderation.outcome === 'skipped') events.unjudged();
  return null;
}

/**
 * Records a request that screening has blocked and says what its caller is told: a `refused` receipt with the policy's
 * version and salted digests, never the text, and a message that says whom to write to. The rule goes with the record to
 * where operators look it up; nothing that the caller gets names it. The refusal stands even when it cannot be recorded,
 * but for a caller over its rate: that is refused as any request would be.
 */
async function refuse(deps: GuardDeps, prepared: Prepared, verdict: Verdict): Promise<Fault> {
  const { entry } = prepared;
  const outcome = receiptEntryOf(entry, 1, {
    outcome: 'refused',
    endedAt: deps.now(),
    usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, source: 'counted' },
    calls: 0,
    policy: { version: verdict.policyVersion, rule: verdict.rule },
  });
  const limits = await recordRefusal(deps, prepared, outcome);
  return new Fault(verdict.code, {
    values: { supportEmail: deps.supportEmail, requestId: entry.id },
    headers: { ...limits, 'x-receipt-id': receiptIdOf(entry.id) },
  });
}

/** Refuses a prompt that cannot fit the model's context window. A body with no more bytes than that has tokens fits unread. */
async function checkLength(
  tokens: TokenCounter,
  { entry: { route }, parsed, bytes, resolution: { model } }: Prepared,
): Promise<void> {
  if (bytes <= model.contextWindow) return;
  const window = {
    contextWindow: model.contextWindow,
    ...(model.tokenizer === undefined ? {} : { tokenizer: model.tokenizer }),
  };
  const budget = fittingBudget();
  for (const prompt of promptsOf(route, parsed)) {
    if (!(await tokens.promptFits(prompt, window, budget))) throw tooLong(model, route);
  }
}

function tooLong({ id, contextWindow }: Model, route: Route): Fault {
  return new Fault('prompt_too_long', {
    values: { model: id, tokens: contextWindow },
    param: PARAMS[route],
  });
}
