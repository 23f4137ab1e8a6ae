import { spanOf } from '#shared/budgets/budget.ts';
import type { Model } from '#shared/catalogue/catalogue.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import type { HardBudget } from '#shared/keys/credential.ts';
import type { InferenceEntry, Reserve } from '#shared/lanes/messages.ts';
import type { BudgetPart } from '#shared/lanes/redis/budget-counters.ts';
import { FairQueue } from '#api/plugins/fair-queue.ts';

/**
 * The tokens of an answer to a request that does not say how many it takes. Most answers are shorter; what a longer one takes
 * beyond that is counted when it has ended.
 */
export const ANSWER_TOKENS_ASSUMED = 4_096;

/** What bounds the tokens that a request may use, beside its model. */
export interface Extent {
  /** Answers that it asks for: choices, of each of its prompts. */
  answers: number;
  /** Tokens of one of them, as it says; null where it does not. */
  answerTokensMax: number | null;
  /** Its bytes do not bound what is read: of images and files, and of items that its server keeps. */
  readsMore: boolean;
  /** Of the body for its upstream, where a budget was known when that was read. */
  bodyBytes?: number | undefined;
}

/**
 * The tokens that a request may use: those of its prompt, of which there are no more than bytes of its body or places in its
 * model's window, and those of its answers.
 */
export function tokensBound(
  { answers, answerTokensMax, readsMore, bodyBytes }: Extent,
  { contextWindow }: Pick<Model, 'contextWindow'>,
): number {
  const prompt = readsMore ? contextWindow : Math.min(bodyBytes ?? contextWindow, contextWindow);
  return prompt + answers * Math.min(answerTokensMax ?? ANSWER_TOKENS_ASSUMED, contextWindow);
}

/** What a request may use of the budgets that it falls under. Its period is that of its receipt: the time in its id. */
export function partsOf(
  budgets: readonly HardBudget[],
  { id, model, tags }: Pick<InferenceEntry, 'id' | 'model' | 'tags'>,
  tokens: () => number,
): BudgetPart[] {
  const at = timeOfId(id);
  return budgets
    .filter(
      (budget) =>
        (budget.model === null || budget.model === model) &&
        (budget.tag === null || tags?.includes(budget.tag) === true),
    )
    .map(({ id: budget, name, period, measure, limit }) => {
      const { start: since, end: until } = spanOf(period, at);
      const amount = measure === 'requests' ? 1 : tokens();
      return { budget, name, since, until, measure, limit, amount };
    });
}

/**
 * Sums of usage that a process reads at once for counters of budgets, each of another organisation. One with many keys and
 * budgets has many long sums a minute, for which it would hold all connections.
 */
const SUMS_AT_ONCE = 2;

/** What reads the sum of a budget, so that each organisation waits for its own. */
export function inTurns<B extends { orgId: string }>(
  read: (budget: B) => Promise<number>,
): (budget: B) => Promise<number> {
  const queue = new FairQueue(SUMS_AT_ONCE);
  return (budget) => queue.run(budget.orgId, () => read(budget));
}

/** The same as its worker needs to know it. */
export function reservesOf(parts: readonly BudgetPart[]): Reserve[] {
  return parts.map(({ budget, since, measure, amount }) => ({ budget, since, measure, amount }));
}
