import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DeclarationDraft, DeclaredParty } from '#shared/accounts/account.ts';
import { checkApplicant, COUNTRIES } from '#shared/accounts/checks.ts';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor, type Form } from '../forms.ts';
import {
  actorOf,
  demandRight,
  type PageExchange,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
} from '../guard.ts';
import { PageError } from '../page-error.ts';
import { countryCode } from '../parts/countries.ts';
import {
  applyPage,
  type ApplyParts,
  onboardingPage,
  type OnboardingParts,
  type Problem,
} from './page.ts';

/** Organisations that one person founds: some for those who found for others, and then one a day. */
const FOUNDED: Attempts = { burst: 3, intervalMs: DAY_MS };
/** As many rows as there may be owners and directors. */
const ROWS_MAX = 100;

/** The first step of an application, by a person who need not be in any organisation. */
export function applyRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const showForm = async (
    request: FastifyRequest,
    reply: FastifyReply,
    parts: ApplyParts,
    status = 200,
  ): Promise<FastifyReply> => {
    return sendFramed(deps, [request, reply], {
      title: 'Apply',
      status,
      body: (frame) => applyPage(frame, parts),
    });
  };
  app.get('/apply', SESSION, (request, reply) => showForm(request, reply, { typed: {} }));
  app.post('/apply', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const names = ['name', 'plan', 'billing', 'billing-name', 'technical', 'technical-name'];
    const typed = Object.fromEntries(names.map((name) => [name, form.text(name)]));
    try {
      const { person } = request.visit;
      const plan = PLANS.find((known) => known === form.text('plan'));
      if (plan === undefined) throw new Fault('invalid_plan', { message: 'Choose a plan.' });
      const account = {
        name: form.text('name'),
        plan,
        billing: { name: form.text('billing-name'), email: form.text('billing') },
        technical: { name: form.text('technical-name'), email: form.text('technical') },
      };
      if ((await deps.takeAttempt(`organisations of ${person.id}`, FOUNDED)) > 0) {
        const message =
          'You have applied for several organisations. Wait a day, or write to support.';
        return await showForm(request, reply, { typed, problem: { field: null, message } }, 429);
      }
      const { id } = await deps.persons.found(person, account, actorOf(request));
      return seeOther(reply, `/dashboard/${id}/onboarding`);
    } catch (error) {
      return showForm(request, reply, { typed, problem: problemOf(error, names) }, 400);
    }
  });
}

/** The steps of an organisation's application, up to its first key. */
export function onboardingRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/onboarding', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const draft = await deps.drafts.read(orgId);
    const part = askedFor(request, 'part') === 'owners' ? ({ part: 'owners' } as const) : {};
    const rows = Math.min(ROWS_MAX, Number(askedFor(request, 'rows')) || 0);
    return show(deps, [request, reply], { draft, rows, ...part });
  });
  app.post('/onboarding/owners', SESSION, async (request, reply) => {
    const form = await formOfApplicant(deps, request);
    const { orgId } = request.membership;
    const { draft, wrong } = draftFrom(form);
    const more = Math.min(ROWS_MAX, Number(form.text('more')) || 0);
    if (more > 0) {
      // Nothing is checked yet: what was typed comes back, with more rows.
      return show(deps, [request, reply], { draft, part: 'owners', rows: more });
    }
    try {
      if (wrong !== undefined) throw new Fault('invalid_parties', { message: wrong.message });
      await deps.drafts.write(orgId, checkApplicant(draft));
    } catch (error) {
      const problem =
        wrong ?? problemOf(error, ['country', 'industry', 'trading_names', 'parties']);
      return show(deps, [request, reply], { draft, part: 'owners', problem }, 400);
    }
    return seeOther(reply, `/dashboard/${orgId}/onboarding`);
  });
  app.post('/onboarding/declaration', SESSION, async (request, reply) => {
    const form = await formOfApplicant(deps, request);
    const { orgId } = request.membership;
    const draft = await deps.drafts.read(orgId);
    if (draft === null) return seeOther(reply, `/dashboard/${orgId}/onboarding`);
    const [answers, declaredBy] = [answersFrom(form), form.text('declared_by')];
    try {
      if (form.text('version') !== DECLARATION_VERSION) throw changedMeanwhile();
      const declaration = {
        ...draft,
        version: DECLARATION_VERSION,
        statements: answers,
        declaredBy,
      };
      await deps.accounts.declare(orgId, declaration, actorOf(request));
    } catch (error) {
      const problem = problemOf(error, ['statements', 'declared_by']);
      return show(deps, [request, reply], { draft, answers, declaredBy, problem }, 400);
    }
    return seeOther(reply, `/dashboard/${orgId}/onboarding`);
  });
}

function changedMeanwhile(): Fault {
  return new Fault('invalid_statements', {
    message: 'The statements have changed since you opened the page. Please read them again.',
  });
}

/** The form of a person who may apply for the organisation, while it has not declared. */
async function formOfApplicant(deps: DashboardDeps, request: FastifyRequest): Promise<Form> {
  demandRight(request.membership, 'apply for the organisation');
  const form = await sessionForm(deps, request);
  if (request.membership.orgState !== 'onboarding') {
    throw new PageError(
      409,
      'The organisation has already made its declaration',
      'Nothing was changed. Support can correct a declaration while a person is reviewing it.',
    );
  }
  return form;
}

async function show(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  parts: Omit<OnboardingParts, 'account' | 'hasKeys'>,
  status = 200,
): Promise<FastifyReply> {
  const { orgId } = request.membership;
  const [account, keys] = await Promise.all([
    deps.accounts.get(orgId),
    deps.keys.list({ orgId, limit: 1, order: 'asc' }),
  ]);
  const shown = { account, hasKeys: keys.items.length > 0, ...parts };
  return sendFramed(deps, [request, reply], {
    title: 'Onboarding',
    section: 'onboarding',
    status,
    body: (frame) => onboardingPage(frame, shown),
  });
}

/** A refusal as the form shows it, at the field that its parameter names. What is none is thrown on. */
function problemOf(error: unknown, fields: readonly string[]): Problem {
  if (!(error instanceof Fault) || error.status >= 500) throw error;
  const named = error.code.replace(/^invalid_/, '');
  return { field: fields.includes(named) ? named : null, message: error.message };
}

/** What was typed of an applicant; `wrong` says which country is none, where one can be told from it. */
function draftFrom(form: Form): { draft: DeclarationDraft; wrong?: Problem } {
  const parties: DeclaredParty[] = [];
  let wrong: Problem | undefined;
  for (let row = 0; row < ROWS_MAX; row += 1) {
    const name = form.text(`party-${row}`);
    if (name === '') continue;
    const country = countryCode(form.text(`country-${row}`));
    if (!COUNTRIES.includes(country)) {
      const message = `Choose the country of ${name} from the list.`;
      wrong ??= { field: `country-${parties.length}`, message };
    }
    parties.push({
      role: form.text(`role-${row}`) === 'owner' ? 'owner' : 'director',
      name,
      country,
    });
  }
  const draft = {
    country: countryCode(form.text('country')),
    industry: form.text('industry'),
    tradingNames: form
      .text('trading_names')
      .split(/\r?\n/)
      .flatMap((line) => line.trim() || []),
    parties,
  };
  return wrong === undefined ? { draft } : { draft, wrong };
}

/** Answers to the statements; those that were not answered are not there. */
function answersFrom(form: Form): Record<string, boolean> {
  const ids = STATEMENTS[DECLARATION_VERSION]!.map(({ id }) => id);
  return Object.fromEntries(
    ids.flatMap((id) => {
      const answer = form.text(`answer-${id}`);
      return answer === 'yes' || answer === 'no' ? [[id, answer === 'yes']] : [];
    }),
  );
}
