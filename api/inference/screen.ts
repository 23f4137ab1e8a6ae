import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { PROMPT_PARAMS } from '#shared/kernel/inference.ts';
import { type Ending, receiptEntryOf } from '#shared/lanes/receipt-entry.ts';
import type { Moderator } from '#shared/screening/http/moderation.ts';
import type { Screen, Verdict } from '#shared/screening/screen.ts';
import type { ApiEvents } from '#api/events.ts';
import type { Credential } from '#shared/keys/credential.ts';
import { type ArrivalDeps, takeArrival } from './admit/arrival.ts';
import { type RecordDeps, recordRefusal } from './admit/refusals.ts';
import type { Routed } from './route.ts';
import type { Read } from './read-prompt.ts';
import type { FairQueue } from '#api/plugins/fair-queue.ts';

export interface ScreenDeps extends Pick<ArrivalDeps, 'roomIn' | 'estimate'> {
  admissions: ArrivalDeps['admissions'] & RecordDeps['admissions'];
  screen: Screen;
  /** The second stage, for what the rules let through; none when it is not configured. */
  moderator?: Pick<Moderator, 'judge'> | undefined;
  /** How many it judges at once, and of one organisation. */
  judging: Pick<FairQueue, 'run'>;
  supportEmail: string;
  /** The receipt of a refusal is to be in the trace of its request. */
  isTraced?: boolean;
  events: Pick<ApiEvents, 'unjudged' | 'storeFailed'>;
  /** Epoch milliseconds. */
  now: () => number;
}

/**
 * Lets a request pass whose texts the policy allows.
 * @throws Fault when it must not pass, and when a second stage that must judge cannot be asked
 */
export async function screened(
  deps: ScreenDeps,
  request: Routed,
  { verdict, texts }: Pick<Read, 'verdict' | 'texts'>,
  credential: Credential,
): Promise<Routed> {
  if (verdict !== null) throw await refuse(deps, request, verdict, credential);
  const { moderator } = deps;
  if (moderator === undefined) return request;
  const arrived = await takeArrival(deps, request, credential);
  const found = await secondStage(deps, moderator, arrived.entry, texts);
  if (found !== null) throw await refuse(deps, arrived, found, credential);
  return arrived;
}

async function secondStage(
  deps: ScreenDeps,
  moderator: NonNullable<ScreenDeps['moderator']>,
  { route, orgId }: Routed['entry'],
  texts: string[],
): Promise<Verdict | null> {
  const moderation = await deps.judging.run(orgId, () => moderator.judge(texts));
  if (moderation.outcome === 'flagged') return moderation.verdict;
  if (moderation.outcome === 'too_long')
    throw invalidParam(
      PROMPT_PARAMS[route],
      'The texts are longer than the gateway can have judged.',
    );
  if (moderation.outcome === 'unavailable') {
    throw new Fault('internal_error', {
      message: 'The request could not be screened. Try again shortly.',
      retryAfterMs: 1_000,
    });
  }
  if (moderation.outcome === 'skipped') deps.events.unjudged();
  return null;
}

/**
 * Records a request that screening has blocked and says what its caller is told: a `refused` receipt with the policy's
 * version and salted digests, never the text, and a message that says whom to write to. The rule, or the category and
 * model of the second stage, goes with the record to where operators look it up; nothing that the caller gets names it, or
 * tells which stage has blocked. The refusal stands even when it cannot be recorded,
 * but for a caller over its rate: that is refused as any request would be.
 */
async function refuse(
  deps: ScreenDeps,
  request: Routed,
  verdict: Verdict,
  credential: Credential,
): Promise<Fault> {
  const { entry } = request;
  const ending: Ending = {
    outcome: 'refused',
    endedAt: deps.now(),
    usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, source: 'counted' },
    calls: 0,
    policy: { version: deps.screen.policyVersion, rule: verdict.rule },
  };
  const outcome = receiptEntryOf(entry, 1, ending, deps.isTraced);
  const headers = await recordRefusal(deps, request, credential, outcome);
  return new Fault(verdict.code, {
    values: { supportEmail: deps.supportEmail, requestId: entry.id },
    headers,
  });
}
