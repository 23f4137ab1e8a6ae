import { spanOf, unitOf } from '#shared/budgets/budget.ts';
import type { Model, Region } from '#shared/catalogue/catalogue.ts';
import { costBound } from '#shared/catalogue/prices.ts';
import { type BudgetMeasure, inSteps } from '#shared/kernel/budget-measures.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import type { HardBudget } from '#shared/keys/credential.ts';
import type { InferenceEntry, Reserve } from '#shared/lanes/messages.ts';
import type { BudgetPart } from '#shared/lanes/redis/budget-counters.ts';
import { attemptEstimate, inputOf } from '#shared/methodology/estimate-input.ts';
import type { Measurement } from '#shared/methodology/measurement.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
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

/** The most that a request may use of a measure, in its unit. */
type Most = (measure: BudgetMeasure) => number;

/**
 * The tokens that a request may use: those of its prompt, of which there are no more than bytes of its body or places in its
 * model's window, and those of its answers.
 */
export function tokensBound(
  { answers, answerTokensMax, readsMore, bodyBytes }: Extent,
  { contextWindow }: Pick<Model, 'contextWindow'>,
): { input: number; output: number } {
  const input = readsMore ? contextWindow : Math.min(bodyBytes ?? contextWindow, contextWindow);
  const output = answers * Math.min(answerTokensMax ?? ANSWER_TOKENS_ASSUMED, contextWindow);
  return { input, output };
}

/** What bounds a request's use: what it asks for, and where it may run. */
interface Asking {
  entry: Pick<InferenceEntry, 'id' | 'route'>;
  extent: Extent;
  resolution: { model: Model; candidates: readonly { region: Region }[] };
}

/**
 * What a request may use of each measure: its tokens, what they cost at the most, and the estimate of a receipt with as many in
 * that of its regions where it is the highest. Of a model without a price or a size that is nothing, as on its receipts.
 */
export function mostOf(
  { entry, extent, resolution: { model, candidates } }: Asking,
  estimate: (input: EstimateInput) => Measurement,
): Most {
  const tokens = tokensBound(extent, model);
  const estimated = (measure: 'energy' | 'gwp'): number => {
    const usage = {
      inputTokens: tokens.input,
      cachedInputTokens: 0,
      outputTokens: tokens.output,
      source: 'counted',
    } as const;
    const amounts = candidates.map(({ region }) => {
      const input = inputOf({ model, region, usage, route: entry.route, attempts: 1 });
      const found = attemptEstimate(() => estimate(input));
      if (!('measurement' in found)) return 0;
      return found.measurement.results.find(({ name }) => name === measure)?.value ?? 0;
    });
    return Math.max(0, ...amounts);
  };
  const found = new Map<BudgetMeasure, number>();
  const read: Most = (measure) => {
    if (measure === 'requests') return 1;
    if (measure === 'tokens') return tokens.input + tokens.output;
    if (measure === 'money') return costBound(model, timeOfId(entry.id), tokens);
    return estimated(measure);
  };
  // A request may fall under twenty budgets, and an estimate or a long price list takes a while.
  return (measure) => {
    const most = found.get(measure) ?? read(measure);
    found.set(measure, most);
    return most;
  };
}

/** What a request may use of the budgets that it falls under. Its period is that of its receipt: the time in its id. */
export function partsOf(
  budgets: readonly HardBudget[],
  { id, model, tags }: Pick<InferenceEntry, 'id' | 'model' | 'tags'>,
  most: Most,
): BudgetPart[] {
  const at = timeOfId(id);
  return budgets
    .filter(
      (budget) =>
        (budget.model === null || budget.model === model) &&
        (budget.tag === null || tags?.includes(budget.tag) === true),
    )
    .map(({ id: budget, name, period, measure, currency, limit: allowed }) => {
      const { start: since, end: until } = spanOf(period, at);
      const [limit, amount] = [inSteps(measure, allowed), inSteps(measure, most(measure))];
      const unit = unitOf(measure, currency);
      return { budget, name, unit, since, until, measure, limit, amount };
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
