import { inSteps } from '#shared/kernel/budget-measures.ts';
import type { Reserve } from '../messages.ts';
import { budgetKey } from '../keys.ts';
import type { LaneScripts } from './scripts.ts';

/** A hard budget that a request falls under, and what it may use of it. */
export interface BudgetPart extends Reserve {
  /** As people call it. */
  name: string;
  /** What people count it in. */
  unit: string;
  /** In steps of the measure. */
  limit: number;
  /** When the period ends, in epoch milliseconds. */
  until: number;
}

/** A budget in one period, and whose it is. */
export interface CountedBudget {
  orgId: string;
  shard: number;
  part: Pick<BudgetPart, 'budget' | 'since' | 'until' | 'measure'>;
}

/** Longer than any period: counters of periods that are over go by themselves. */
export const BUDGET_LIFE_S = 35 * 86_400;
/** How often a process compares a counter with what PostgreSQL has, while requests fall under it. */
const COMPARED_MS = 60_000;
/** Counters whose last comparison a process remembers; beyond them it compares more often. */
const COMPARED_MAX = 10_000;

/**
 * The counters of hard budgets in Redis, as far as they are made from what PostgreSQL has: at the first request of a period,
 * after a budget was made, and when Redis came back empty. Then once a minute, so that nothing stays uncounted that ran while
 * there was no counter.
 */
export class BudgetCounters {
  readonly #scripts: Pick<LaneScripts, 'countBudget'>;
  readonly #used: (budget: CountedBudget) => Promise<number>;
  readonly #onError: (error: unknown) => void;
  readonly #monotonicNow: () => number;
  readonly #comparedAt = new Map<string, number>();
  readonly #counting = new Map<string, Promise<void>>();

  /** `used`: what PostgreSQL has of a budget in its period, in its unit. `onError`: told of comparisons that failed. */
  constructor(
    scripts: Pick<LaneScripts, 'countBudget'>,
    used: (budget: CountedBudget) => Promise<number>,
    {
      onError = () => {},
      monotonicNow = () => performance.now(),
    }: { onError?: (error: unknown) => void; monotonicNow?: () => number } = {},
  ) {
    this.#scripts = scripts;
    this.#used = used;
    this.#onError = onError;
    this.#monotonicNow = monotonicNow;
  }

  /** Makes a counter, or brings it up to what PostgreSQL has. Requests that ask at once wait for one reading. */
  count(budget: CountedBudget): Promise<void> {
    const counter = budgetKey(budget.shard, budget.orgId, budget.part);
    const underWay = this.#counting.get(counter);
    if (underWay !== undefined) return underWay;
    const counting = this.#count(counter, budget).finally(() => this.#counting.delete(counter));
    this.#counting.set(counter, counting);
    return counting;
  }

  /** The same in the background, where it has not been done for a minute. */
  compare(budget: CountedBudget): void {
    const counter = budgetKey(budget.shard, budget.orgId, budget.part);
    const comparedAt = this.#comparedAt.get(counter) ?? Number.NEGATIVE_INFINITY;
    if (this.#monotonicNow() - comparedAt < COMPARED_MS) return;
    // Also where it fails: a store that is away is not asked by each request.
    this.#compared(counter);
    this.count(budget).catch(this.#onError);
  }

  async #count(counter: string, budget: CountedBudget): Promise<void> {
    const used = inSteps(budget.part.measure, await this.#used(budget));
    await this.#scripts.countBudget({ counter, used, lifeS: BUDGET_LIFE_S });
    this.#compared(counter);
  }

  #compared(counter: string): void {
    if (this.#comparedAt.size >= COMPARED_MAX) this.#comparedAt.clear();
    this.#comparedAt.set(counter, this.#monotonicNow());
  }
}
