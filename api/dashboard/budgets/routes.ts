import { BUDGET_MEASURES } from '#shared/kernel/budget-measures.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  type Budget,
  BUDGET_MODES,
  BUDGET_PERIODS,
  BUDGET_SCOPES,
  type BudgetTerms,
  type NewBudget,
} from '#shared/budgets/budget.ts';
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
  SESSION,
  sessionForm,
} from '../guard.ts';
import { keyNames } from '../keys/names.ts';
import { notFound } from '../page-error.ts';
import { BUDGET_DONE, budgetsPage, type BudgetsParts } from './page.ts';

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
    budgets.make(
      request.membership.orgId,
      budgetFrom(form),
      actorOf(request),
      deps.index().currency,
    ),
  );
  save(':id/change', 'changed', async (request, form) => {
    const before = await find(deps, request);
    const terms = termsFrom(form);
    if (before.mode === 'hard' && loosens(before, terms)) await confirmedForm(deps, request);
    return budgets.change(before.orgId, before.id, { ...terms, seen: before }, actorOf(request));
  });
  save(':id/end', 'ended', async (request) => {
    const before = await find(deps, request);
    if (before.mode === 'hard') await confirmedForm(deps, request);
    return budgets.end(before.orgId, before.id, actorOf(request), before);
  });
}

/** The budget in the address. One of another organisation is as none. */
async function find({ budgets }: DashboardDeps, request: FastifyRequest): Promise<Budget> {
  const { id } = request.params as OfBudget['Params'];
  const all = await budgets.list(request.membership.orgId);
  const found = all.find((budget) => budget.id === id);
  if (found === undefined) throw notFound();
  return found;
}

/** Who loosens a budget that refuses lets others use more, and shows who they are. */
const loosens = (before: BudgetTerms, { mode, limit }: BudgetTerms): boolean =>
  mode === 'soft' || limit > before.limit;

function budgetFrom(form: Form): NewBudget {
  const of = form.text('of');
  const space = of.indexOf(' ');
  const scope = oneOf(BUDGET_SCOPES, 'of', space === -1 ? of : of.slice(0, space));
  const target = space === -1 ? null : of.slice(space + 1);
  return {
    scope,
    target: scope === 'tag' ? `${target ?? ''}=${form.text('value').trim()}` : target,
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
  const [budgets, keys, { plan, tags }] = await Promise.all([
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
    body: (frame) =>
      budgetsPage(frame, { budgets, keys, models, tags, currency: deps.index().currency, ...said }),
  });
}
