import { invalidParam } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import { type BudgetMeasure, fromSteps } from '#shared/kernel/budget-measures.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { TAG_WRITTEN, tagOf } from '#shared/kernel/tags.ts';
import { DAY_MS } from '#shared/kernel/time.ts';

/** Whose use a budget is of: all of the organisation's, that of one key, of one model, or of requests with one tag. */
export const BUDGET_SCOPES = ['organisation', 'key', 'model', 'tag'] as const;
type BudgetScope = (typeof BUDGET_SCOPES)[number];

/** The unit of each, as receipts state it; of money that in which costs are counted. */
export function unitOf(measure: BudgetMeasure, currency: string | null): string {
  const units: Readonly<Record<BudgetMeasure, string>> = {
    requests: 'requests',
    tokens: 'tokens',
    energy: 'kWh',
    gwp: 'kgCO2e',
    money: currency ?? 'money',
  };
  return units[measure];
}

/** A day or a month, in UTC. */
export const BUDGET_PERIODS = ['day', 'month'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** Whether a budget only tells, or refuses what would exceed it. */
export const BUDGET_MODES = ['soft', 'hard'] as const;
export type BudgetMode = (typeof BUDGET_MODES)[number];

/** What people may change about a budget; the rest of it says what it is. */
export interface BudgetTerms {
  name: string;
  /** In requests, tokens, kWh, kgCO2e or the currency. */
  limit: number;
  mode: BudgetMode;
  /** Per cent of the limit that are told when they are reached, rising. */
  shares: readonly number[];
}

/** A budget as it is asked for. */
export interface NewBudget extends BudgetTerms {
  scope: BudgetScope;
  /** The id of the key or the model, the tag as `key=value`; null for the organisation. */
  target: string | null;
  measure: BudgetMeasure;
  period: BudgetPeriod;
}

export interface Budget extends NewBudget {
  id: string;
  orgId: string;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** A period of time, in epoch milliseconds; `end` is not included. */
export interface Span {
  start: number;
  end: number;
}

/** Budgets of one organisation: a page shows all of them, and each costs a look at the sums of usage once a minute. */
export const BUDGETS_MAX = 20;
/** Each is an e-mail in each period. */
export const SHARES_MAX = 5;
const NAME_LENGTH_MAX = 100;
const TARGET_LENGTH_MAX = 300;
/** Beyond it a limit limits nothing, and counts are exact below it. */
const LIMIT_MAX = 1e15;
/** A thousandth of a mWh or of a mg: one request uses more. */
const LIMIT_MIN = 1e-9;

/** What is told where nothing else is asked for. */
export const SHARES_BY_DEFAULT: readonly number[] = [50, 80, 100];

/** Whether the measure is counted in whole numbers. */
function isCounted(measure: BudgetMeasure): boolean {
  return measure === 'requests' || measure === 'tokens';
}

/** The UTC day or month in which a moment lies. */
export function spanOf(period: BudgetPeriod, at: number): Span {
  const date = new Date(at);
  if (period === 'month') {
    const month = (offset: number): number =>
      Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1);
    return { start: month(0), end: month(1) };
  }
  const start = Math.floor(at / DAY_MS) * DAY_MS;
  return { start, end: start + DAY_MS };
}

/**
 * When the limit will be reached if use goes on as it has since the period began, in epoch milliseconds; null when that is
 * not before the period ends, and when the limit is reached already.
 */
export function reachedAt(
  { used, limit }: { used: number; limit: number },
  { start, end }: Span,
  now: number,
): number | null {
  if (used <= 0 || used >= limit || now <= start) return null;
  const at = start + ((now - start) * limit) / used;
  return at < end ? at : null;
}

/** The shares that are reached, rising. */
export function sharesReached(
  { limit, shares }: Pick<Budget, 'limit' | 'shares'>,
  used: number,
): number[] {
  // As a product, because a quotient of decimals may lie a hair below its share.
  return shares.filter((share) => used * 100 >= limit * share);
}

/** What a person may give a budget, without spaces around its name and with its shares in order. @throws Fault `invalid_<param>` */
export function checkTerms<T extends BudgetTerms>(terms: T, measure: BudgetMeasure): T {
  const name = terms.name.trim();
  if (!isPrintable(name, NAME_LENGTH_MAX))
    throw invalidParam(
      'name',
      `A budget needs a name of 1 to ${NAME_LENGTH_MAX} printable characters.`,
    );
  return {
    ...terms,
    name,
    limit: checkLimit(terms, measure),
    shares: checkShares(terms.shares),
  };
}

/** @throws Fault `invalid_<param>` */
export function checkBudget(asked: NewBudget): NewBudget {
  if (asked.scope === 'organisation') return { ...checkTerms(asked, asked.measure), target: null };
  const { target } = asked;
  const isTarget = {
    key: isId('key', target ?? ''),
    model: isPrintable(target ?? '', TARGET_LENGTH_MAX),
    tag: tagOf(target ?? '') !== undefined,
  }[asked.scope];
  if (!isTarget && asked.scope === 'tag')
    throw invalidParam('target', `The tag that a budget is of is ${TAG_WRITTEN}.`);
  if (!isTarget) throw invalidParam('target', `Choose the ${asked.scope} that the budget is of.`);
  return checkTerms(asked, asked.measure);
}

function checkLimit({ limit, mode }: BudgetTerms, measure: BudgetMeasure): number {
  const isWhole = !isCounted(measure) || Number.isInteger(limit);
  // Beyond it a counter would not be exact.
  const most =
    mode === 'soft' ? LIMIT_MAX : Math.min(LIMIT_MAX, fromSteps(measure, Number.MAX_SAFE_INTEGER));
  if (isWhole && limit >= LIMIT_MIN && limit <= most) return limit;
  throw invalidParam(
    'amount',
    isCounted(measure)
      ? `A limit of ${measure} must be a whole number from 1 to ${LIMIT_MAX.toLocaleString('en-US')}.`
      : `A limit must be a number above 0, at most ${Math.floor(most).toLocaleString('en-US')}.`,
  );
}

function checkShares(shares: readonly number[]): number[] {
  const each = [...new Set(shares)].toSorted((a, b) => a - b);
  const isGood = each.every((share) => Number.isInteger(share) && share >= 1 && share <= 100);
  if (isGood && each.length <= SHARES_MAX) return each;
  throw invalidParam(
    'shares',
    `Shares to tell are at most ${SHARES_MAX} whole numbers from 1 to 100, as in "50, 80, 100".`,
  );
}
