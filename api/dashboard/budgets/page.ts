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
import { act, form, type Frame } from '../parts/layout.ts';
import {
  badge,
  choice,
  empty,
  field,
  moment,
  type Option,
  optionList,
  told,
  type Told,
} from '../parts/elements.ts';

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
        ? empty(
            'No budgets',
            html`Budgets stand here with what is used of each, and when it will be reached at the
            pace of its period.
            ${sets ? 'Make the first one below.' : 'Owners and admins of the organisation make them.'}`,
          )
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
  ${modeField(id, was?.('mode') ?? is?.mode ?? 'soft', currency)}
  ${field({ name: 'shares', id: `shares-${id}`, label: 'Alert at, % of the limit', value: was?.('shares') ?? (is?.shares ?? SHARES_BY_DEFAULT).join(', '), max: '40', help: 'Up to five whole numbers, separated by commas. Owners and the technical contact get one e-mail for each in every period.' })}`;
}

/** Whether it refuses. */
const modeField = (id: string, chosen: string, currency: string | null): Html =>
  choice(
    {
      name: 'mode',
      id: `mode-${id}`,
      label: 'At the limit',
      help: html`Refused with <code>budget_exceeded</code>, within a second of the change. A request
        holds what it may use until it ends: its body’s bytes as tokens, and
        <code>max_tokens</code>, or 4,096 where it has
        none;${currency === null ? '' : ' of money what these cost,'} of energy and greenhouse gas
        the estimate of as many.`,
    },
    chosen,
    [
      ['soft', 'Refuse nothing'],
      ['hard', 'Refuse requests that could exceed it'],
    ] satisfies readonly (readonly [BudgetMode, string])[],
  );

const changing = (frame: Frame, parts: BudgetsParts, budget: UsedBudget): Html =>
  act(
    frame,
    {
      summary: 'Change…',
      isOpen: parts.typed?.form === budget.id,
      action: `${base(frame)}/${budget.id}/change`,
      button: 'Save budget',
      tone: 'primary',
    },
    terms(parts, budget),
  );

const ending = (frame: Frame, { id }: UsedBudget): Html =>
  act(
    frame,
    { summary: 'End…', action: `${base(frame)}/${id}/end`, button: 'End budget', tone: 'danger' },
    html`<p class="prose">
      The budget ends at once: it refuses nothing and sends no more alerts. The audit log keeps what
      it was.
    </p>`,
  );

function making(frame: Frame, parts: BudgetsParts): Html {
  const was = parts.typed?.form === '' ? parts.typed.name : undefined;
  const group = (label: string, options: readonly Option[]): Html =>
    html`<optgroup label="${label}">${optionList(options, was?.('of'))}</optgroup>`;
  return html`<section class="stack tight" id="new">
    <h2>Make a budget</h2>
    ${form(
      frame,
      { action: `${base(frame)}/make`, button: 'Make budget', tone: 'primary' },
      html`<div class="field">
          <label for="of">Of</label>
          <select id="of" name="of">
            <option value="organisation">The whole organisation</option>
            ${group(
              'One key',
              [...parts.keys].map(([id, name]) => [`key ${id}`, name]),
            )}
            ${group(
              'One model',
              parts.models.map((id) => [`model ${id}`, id]),
            )}
            ${
              parts.tags.length === 0
                ? undefined
                : group(
                    'One value of a tag',
                    parts.tags.map((key) => [`tag ${key}`, `${key}, with the value below`]),
                  )
            }
          </select>
        </div>
        ${
          parts.tags.length === 0
            ? html`<p class="help">
                To budget requests with a tag, first name it in the
                <a href="/dashboard/${frame.membership!.orgId}/settings#tags">settings</a>.
              </p>`
            : field({
                name: 'value',
                label: 'Value of the tag',
                value: was?.('value') ?? '',
                max: '64',
                help: 'Only for a tag. Callers set tags, so a caller who leaves the tag out is not held by its budget. On a day with very many values, a new value is counted from the next day on.',
              })
        }
        ${choice(
          { name: 'measure', label: 'Of what' },
          was?.('measure'),
          BUDGET_MEASURES.filter((each) => each !== 'money' || parts.currency !== null).map(
            (each) => [each, MEASURE_WORDS[each][0]],
          ),
        )}
        ${choice(
          { name: 'period', label: 'In each' },
          was?.('period'),
          BUDGET_PERIODS.map((each) => [each, `${each} (UTC)`]),
        )}
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
