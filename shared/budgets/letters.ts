import { draft, type Draft } from '#shared/accounts/letters.ts';
import { inert, named } from '#shared/kernel/plain-text.ts';
import { TAG_LENGTH_MAX } from '#shared/kernel/tags.ts';
import { dateTime } from '#shared/kernel/time.ts';
import { type Budget, spanOf } from './budget.ts';
import { amountWords, paceWords } from './words.ts';

/** A budget of which a share is reached, as an e-mail tells of it. */
export interface ReachedBudget extends Pick<
  Budget,
  'name' | 'scope' | 'target' | 'measure' | 'period' | 'limit' | 'mode'
> {
  used: number;
  /** In which costs are counted. */
  currency: string | null;
  /** Of the key that it is of, where that is there. */
  keyName: string | null;
}

/** As long as the id of a model is shown. */
const MODEL_SHOWN_MAX = 100;

/** The e-mail about a share of a budget that is reached, in the words of the page. */
export function draftOfReached(budget: ReachedBudget, share: number, now: number): Draft {
  const span = spanOf(budget.period, now);
  return draft(`Budget ${named(budget.name)}: ${share} % is reached`, [
    `${amountWords(budget)} are used of the budget ${named(budget.name)} of ${whose(budget)}, in the ${budget.period} that ends on ${dateTime(span.end)}: ${share} % is reached.`,
    budget.used >= budget.limit ? '' : paceWords(budget, span, now),
    budget.mode === 'soft'
      ? 'Nothing is refused by it.'
      : `Requests that could exceed it are refused with budget_exceeded until then, unless it is raised.`,
  ]);
}

function whose({ scope, target, keyName }: ReachedBudget): string {
  if (scope === 'organisation') return 'the whole organisation';
  if (scope === 'model') return `the model ${inert(target ?? '', MODEL_SHOWN_MAX)}`;
  if (scope === 'tag') return `requests with the tag ${inert(target ?? '', TAG_LENGTH_MAX)}`;
  return `the key ${keyName === null ? 'that was deleted' : named(keyName)}`;
}
