import { BUDGET_MEASURES, type BudgetMeasure } from '#shared/kernel/budget-measures.ts';
import { html, type Html } from '#api/html.ts';
import {
  type Budget,
  BUDGET_PERIODS,
  type BudgetMode,
  BUDGETS_MAX,
  SHARES_BY_DEFAULT,
  sharesReached,
  spanOf,
} from '#shared/budgets/budget.ts';
import type { UsedBudget } from '#shared/budgets/postgres/budgets.ts';
import { amountWords, paceWords } from '#shared/budgets/words.ts';
import { counted } from '#shared/methodology/readable.ts';
import { may } from '#shared/persons/roles.ts';
import { percent, shareBar } from '../parts/figures.ts';
import { type Frame, token } from '../parts/layout.ts';
import { badge, field, moment, told, type Told } from '../parts/elements.ts';

/** What a form was sent with that was not taken. */
interface Typed {
  /** The id of the budget whose form it was; empty for a new one. */
  form: string;
  name: (field: string) => string;
}

export interface BudgetsParts extends Told {
  budgets: readonly UsedBudget[];
  /** Names of keys by id, and ids of models, that a budget can be of. */
  keys: ReadonlyMap<string, string>;
  models: readonly string[];
  /** The tags that the organisation has declared. */
  tags: readonly string[];
  /** Of the gateway's prices; null where it has none. */
  currency: string | null;
  typed?: Typed;
}

/** How each measure is called, and the unit in which its limit is typed. */
const MEASURE_WORDS: Readonly<Record<BudgetMeasure, readonly [name: string, unit: string]>> = {
  requests: ['Requests', 'requests'],
  tokens: ['Tokens', 'tokens, input and output together'],
  energy: ['Energy', 'kWh'],
  gwp: ['Greenhouse gas', 'kg CO₂e'],
  money: ['Money', 'the currency of the price list'],
};

const base = (frame: Frame): string => `/dashboard/${frame.membership!.orgId}/budgets`;

/** What an organisation means to use at most, and how far it is. */
export function budgetsPage(frame: Frame, parts: BudgetsParts): Html {
  const { budgets } = parts;
  const sets = may(frame.membership!, 'set budgets');
  return html`<div class="head"><h1>Budgets</h1></div>
    ${told(parts)}
    <p class="prose">
      A budget sets the most that the organisation, a key, a model or requests with a tag should use
      in a day or a month (UTC). Use is counted from receipts, a moment after each answer.
    </p>
    ${
      budgets.length === 0
        ? html`<div class="empty">
            <h2>No budgets</h2>
            <p class="prose">
              Budgets stand here with what is used of each, and when it will be reached at the pace
              of its period.
              ${sets ? 'Make the first one below.' : 'Owners and admins of the organisation make them.'}
            </p>
          </div>`
        : budgets.map((budget) => section(frame, parts, budget, sets))
    }
    ${
      sets
        ? budgets.length < BUDGETS_MAX
          ? making(frame, parts)
          : html`<p class="soft">
              An organisation has at most ${BUDGETS_MAX} budgets. End one that is not needed.
            </p>`
        : budgets.length === 0
          ? undefined
          : html`<p class="soft">Owners and admins of the organisation set budgets.</p>`
    }`;
}

function section(frame: Frame, parts: BudgetsParts, budget: UsedBudget, sets: boolean): Html {
  const { id, name, used, limit, shares } = budget;
  const share = used / limit;
  const reached = sharesReached(budget, used);
  const marks = shares.map((each) => `${each} %${reached.includes(each) ? ' (reached)' : ''}`);
  return html`<section class="stack tight" id="${id}">
    <div class="row">
      <h2>${name}</h2>
      ${share >= 1 ? badge('bad', 'reached') : undefined}
      ${budget.mode === 'hard' ? badge('warn', 'refuses at 100 %') : undefined}
      ${shares.length === 0 ? undefined : badge('plain', `tells at ${marks.join(', ')}`)}
    </div>
    <p class="soft">
      ${scopeWords(parts, budget)}, ${budget.period === 'day' ? 'this day' : 'this month'} (UTC)
    </p>
    <div class="prose stack tight">
      <p>${amountWords(budget)}, ${percent(share)}</p>
      ${shareBar(share)}
    </div>
    <p>${paceWords(budget, spanOf(budget.period, frame.now), frame.now)}</p>
    ${toldWords(frame, budget)}
    ${sets ? html`${changing(frame, parts, budget)} ${ending(frame, budget)}` : undefined}
  </section>`;
}

/** Whose use it is of. */
function scopeWords({ keys }: Pick<BudgetsParts, 'keys'>, budget: UsedBudget): Html {
  const { scope, target, keyName } = budget;
  if (scope === 'organisation') return html`The whole organisation`;
  if (scope === 'model') return html`Model <code>${target ?? ''}</code>`;
  if (scope === 'tag') return html`Requests with the tag <code>${target ?? ''}</code>`;
  return html`Key
  ${keys.get(target!) ?? keyName ?? html`<code>${target ?? ''}</code>, which is deleted`}`;
}

/** What was told in this period, and how. */
function toldWords({ now }: Pick<Frame, 'now'>, { told: each }: UsedBudget): Html | undefined {
  if (each.length === 0) return undefined;
  return html`<p class="soft">
    Told:
    ${each.map(
      ({ share, at, letters }, i) =>
        html`${i === 0 ? '' : '; '}${share} % ${moment(at, now)}
        (${letters === 0 ? 'no e-mail: no one is there to receive it' : counted(letters, 'e-mail')})`,
    )}
  </p>`;
}

function form(
  frame: Frame,
  {
    action,
    button,
    tone = 'primary',
  }: { action: string; button: string; tone?: 'primary' | 'danger' },
  fields: Html | undefined,
): Html {
  return html`<form class="form" method="post" action="${base(frame)}/${action}">
    ${token(frame)} ${fields}
    <div><button class="${tone}" type="submit">${button}</button></div>
  </form>`;
}

/** The fields that can be changed later, with what was typed in them or what is so. */
function terms(
  { typed, currency }: Pick<BudgetsParts, 'typed' | 'currency'>,
  is: Budget | undefined,
): Html {
  const id = is?.id ?? 'new';
  const was = typed?.form === (is?.id ?? '') ? typed.name : undefined;
  const limitHelp =
    is === undefined
      ? `In requests, in tokens (input and output together), in kWh${currency === null ? '' : `, in ${currency}`} or in kg CO₂e.`
      : `In ${MEASURE_WORDS[is.measure][1]}.`;
  return html`${field({ name: 'name', id: `name-${id}`, label: 'Name', value: was?.('name') ?? is?.name ?? '', required: true, max: '100' })}
  ${field({ name: 'amount', id: `amount-${id}`, label: 'Limit', value: was?.('amount') ?? String(is?.limit ?? ''), required: true, max: '20', help: limitHelp })}
  ${modeField(id, was?.('mode') ?? is?.mode ?? 'soft')}
  ${field({ name: 'shares', id: `shares-${id}`, label: 'Alert at, % of the limit', value: was?.('shares') ?? (is?.shares ?? SHARES_BY_DEFAULT).join(', '), max: '40', help: 'Up to five whole numbers, separated by commas. Owners and the technical contact get one e-mail for each in every period.' })}`;
}

/** Whether it refuses. */
function modeField(id: string, chosen: string): Html {
  const option = (mode: BudgetMode, words: string): Html =>
    html`<option value="${mode}" ${mode === chosen ? html`selected` : undefined}>${words}</option>`;
  return html`<div class="field">
    <label for="mode-${id}">At the limit</label>
    <select id="mode-${id}" name="mode" aria-describedby="mode-${id}-help">
      ${option('soft', 'Refuse nothing')} ${option('hard', 'Refuse requests that could exceed it')}
    </select>
    <p class="help" id="mode-${id}-help">
      Refused with <code>budget_exceeded</code>, within a second of the change. A request holds what
      it may use until it ends: its body’s bytes as tokens, and <code>max_tokens</code>, or 4,096
      where it has none; of money what these cost, of energy and greenhouse gas the estimate of as
      many.
    </p>
  </div>`;
}

function changing(frame: Frame, parts: BudgetsParts, budget: UsedBudget): Html {
  const isOpen = parts.typed?.form === budget.id;
  return html`<details class="act" ${isOpen ? html`open` : undefined}>
    <summary>Change…</summary>
    ${form(frame, { action: `${budget.id}/change`, button: 'Save budget' }, terms(parts, budget))}
  </details>`;
}

function ending(frame: Frame, { id }: UsedBudget): Html {
  return html`<details class="act">
    <summary>End…</summary>
    <p class="prose">
      The budget ends at once: it refuses nothing and sends no more alerts. The audit log keeps what
      it was.
    </p>
    ${form(frame, { action: `${id}/end`, button: 'End budget', tone: 'danger' }, undefined)}
  </details>`;
}

function making(frame: Frame, parts: BudgetsParts): Html {
  const was = parts.typed?.form === '' ? parts.typed.name : undefined;
  const options = (name: string, each: Iterable<readonly [value: string, label: string]>): Html[] =>
    [...each].map(
      ([value, label]) =>
        html`<option value="${value}" ${value === was?.(name) ? html`selected` : undefined}>
          ${label}
        </option>`,
    );
  return html`<section class="stack tight" id="new">
    <h2>Make a budget</h2>
    ${form(
      frame,
      { action: 'make', button: 'Make budget' },
      html`<div class="field">
          <label for="of">Of</label>
          <select id="of" name="of">
            <option value="organisation">The whole organisation</option>
            <optgroup label="One key">
              ${options(
                'of',
                [...parts.keys].map(([id, name]) => [`key ${id}`, name] as const),
              )}
            </optgroup>
            <optgroup label="One model">
              ${options(
                'of',
                parts.models.map((id) => [`model ${id}`, id] as const),
              )}
            </optgroup>
            ${
              parts.tags.length === 0
                ? undefined
                : html`<optgroup label="One value of a tag">
                    ${options(
                      'of',
                      parts.tags.map(
                        (key) => [`tag ${key}`, `${key}, with the value below`] as const,
                      ),
                    )}
                  </optgroup>`
            }
          </select>
        </div>
        ${
          parts.tags.length === 0
            ? undefined
            : field({
                name: 'value',
                label: 'Value of the tag',
                value: was?.('value') ?? '',
                max: '64',
                help: 'Only for a tag. Callers set tags, so a caller who leaves the tag out is not held by its budget. On a day with very many values, a new value is counted from the next day on.',
              })
        }
        <div class="field">
          <label for="measure">Of what</label>
          <select id="measure" name="measure">
            ${options(
              'measure',
              BUDGET_MEASURES.filter((each) => each !== 'money' || parts.currency !== null).map(
                (each) => [each, MEASURE_WORDS[each][0]] as const,
              ),
            )}
          </select>
        </div>
        <div class="field">
          <label for="period">In each</label>
          <select id="period" name="period">
            ${options(
              'period',
              BUDGET_PERIODS.map((each) => [each, `${each} (UTC)`] as const),
            )}
          </select>
        </div>
        ${terms(parts, undefined)}`,
    )}
  </section>`;
}

/** What the page after an act says. */
export const BUDGET_DONE = {
  made: 'Budget added.',
  changed: 'Budget saved.',
  ended: 'Budget ended.',
} as const;
