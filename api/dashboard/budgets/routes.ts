import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  BUDGET_MEASURES,
  BUDGET_MODES,
  BUDGET_PERIODS,
  BUDGET_SCOPES,
  type BudgetTerms,
  type NewBudget,
} from '#shared/budgets/budget.ts';
import type { UsedBudget } from '#shared/budgets/postgres/budgets.ts';
import { isOpenTo } from '#shared/catalogue/routing.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { confirmedForm } from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf, type Form } from '../forms.ts';
import {
  actorOf,
  demandRight,
  type PageExchange,
  seeOther,
  sendFramed,
  sessionForm,
} from '../guard.ts';
import { keyNames } from '../keys/names.ts';
import { BUDGET_DONE, budgetsPage, type BudgetsParts } from './page.ts';

const SESSION = { config: { scope: 'session' } } as const;

type OfBudget = { Params: { org: string; id: string } };

/** What an organisation means to use at most: seen by its members, set by its owners and admins. */
export function budgetRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const { budgets } = deps;
  app.get('/budgets', SESSION, (request, reply) =>
    show(deps, [request, reply], doneOf(request, BUDGET_DONE)),
  );
  const save = (
    path: string,
    done: keyof typeof BUDGET_DONE,
    perform: (request: FastifyRequest, form: Form) => Promise<unknown>,
  ): void => {
    app.post(`/budgets/${path}`, SESSION, async (request, reply) => {
      demandRight(request.membership, 'set budgets');
      const form = await sessionForm(deps, request);
      try {
        await perform(request, form);
      } catch (error) {
        if (!(error instanceof Fault) || error.status >= 500) throw error;
        const { id = '' } = request.params as Partial<OfBudget['Params']>;
        const typed = { form: id, name: (field: string) => form.text(field) };
        const problem = `Nothing was saved. ${error.message}`;
        return show(deps, [request, reply], { problem, typed }, error.status);
      }
      return seeOther(reply, `/dashboard/${request.membership.orgId}/budgets?done=${done}`);
    });
  };
  save('make', 'made', async (request, form) =>
    budgets.make(request.membership.orgId, budgetFrom(form), actorOf(request)),
  );
  save(':id/change', 'changed', async (request, form) => {
    const { id } = request.params as OfBudget['Params'];
    const { orgId } = request.membership;
    const terms = termsFrom(form);
    const before = await hardBudget(deps, orgId, id);
    if (before !== undefined && loosens(before, terms)) await confirmedForm(deps, request);
    return budgets.change(orgId, id, terms, actorOf(request));
  });
  save(':id/end', 'ended', async (request) => {
    const { id } = request.params as OfBudget['Params'];
    const { orgId } = request.membership;
    if ((await hardBudget(deps, orgId, id)) !== undefined) await confirmedForm(deps, request);
    return budgets.end(orgId, id, actorOf(request));
  });
}

/** A budget that refuses; who loosens or ends one lets others use more, and shows who they are. */
async function hardBudget(
  { budgets }: DashboardDeps,
  orgId: string,
  id: string,
): Promise<UsedBudget | undefined> {
  return (await budgets.list(orgId)).find((budget) => budget.id === id && budget.mode === 'hard');
}

const loosens = (before: BudgetTerms, { mode, limit }: BudgetTerms): boolean =>
  mode === 'soft' || limit > before.limit;

function budgetFrom(form: Form): NewBudget {
  const of = form.text('of');
  const space = of.indexOf(' ');
  const target = space === -1 ? null : of.slice(space + 1);
  return {
    scope: oneOf(BUDGET_SCOPES, 'of', space === -1 ? of : of.slice(0, space)),
    target,
    measure: oneOf(BUDGET_MEASURES, 'measure', form.text('measure')),
    period: oneOf(BUDGET_PERIODS, 'period', form.text('period')),
    ...termsFrom(form),
  };
}

function oneOf<T extends string>(known: readonly T[], param: string, text: string): T {
  const found = known.find((each) => each === text);
  if (found === undefined) throw invalidParam(param, `Choose one of ${known.join(', ')}.`);
  return found;
}

function termsFrom(form: Form): BudgetTerms {
  return {
    name: form.text('name'),
    limit: numberIn(form.text('amount')),
    mode: oneOf(BUDGET_MODES, 'mode', form.text('mode')),
    shares: form
      .text('shares')
      .split(',')
      .map((share) => share.replace('%', '').trim())
      .filter((share) => share !== '')
      .map(numberIn),
  };
}

/** A number as people type it, with spaces or commas between thousands; NaN for what is none, which is refused with its field. */
function numberIn(text: string): number {
  const plain = text.replaceAll(/(?<=\d)[\s,](?=\d{3}(?!\d))/gu, '');
  return /^\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : Number.NaN;
}

async function show(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  said: Pick<BudgetsParts, 'problem' | 'done' | 'typed'>,
  status = 200,
): Promise<FastifyReply> {
  const { orgId } = request.membership;
  const [budgets, keys, { plan }] = await Promise.all([
    deps.budgets.list(orgId),
    keyNames(deps, orgId),
    deps.accounts.get(orgId),
  ]);
  const models = [...deps.index().models.values()]
    .filter(({ model }) => isOpenTo(model, { orgId, plan }))
    .map(({ model }) => model.id);
  return sendFramed(deps, [request, reply], {
    title: 'Budgets',
    section: 'budgets',
    status,
    body: (frame) => budgetsPage(frame, { budgets, keys, models, ...said }),
  });
}
