import type { FastifyInstance, FastifyReply } from 'fastify';
import { ACCOUNT_STATES } from '#shared/accounts/account.ts';
import { type Actor, REASON_LENGTH_MAX, TICKET_LENGTH_MAX } from '#shared/accounts/audit/entry.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { holdsWholeKey, withoutKeys } from '#shared/keys/format.ts';
import { confirmedForm } from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor, askedForDay, type Form } from '../forms.ts';
import {
  type PageExchange,
  refusalOf,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
  staffActorOf,
  whyNot,
} from '../guard.ts';
import { PageError } from '../page-error.ts';
import {
  type AccountActName,
  accountPage,
  type AccountParts,
  accountsPage,
  ASKS_REASON,
} from './page.ts';
import { WHOLE_KEY_ADDRESS } from '../look-up/routes.ts';

const PAGE_LENGTH = 50;
const HISTORY_LENGTH = 25;
const KEYS_SHOWN = 25;

type OfAccount = { Params: { id: string } };
type OfAct = { Params: { id: string; act: string } };

/** An act of an operator on an account, with the fields of its form. */
type Perform = (deps: DashboardDeps, id: string, actor: Actor, form: Form) => Promise<unknown>;

/** Each act by the last part of its address, and what is said when it is done. */
const ACTS: Readonly<Record<AccountActName, readonly [Perform, string]>> = {
  suspend: [
    ({ accounts }, id, actor) => accounts.suspend(id, actor, actor.reason ?? ''),
    'The account is suspended: its keys are refused within a second.',
  ],
  reinstate: [
    ({ accounts }, id, actor) => accounts.reinstate(id, actor, actor.reason ?? ''),
    'The account is active again.',
  ],
  close: [
    ({ accounts }, id, actor) => accounts.close(id, actor, actor.reason ?? ''),
    'The account is closed, and its keys are revoked.',
  ],
  sign: [
    ({ accounts }, id, actor, form) =>
      accounts.sign(
        id,
        {
          kind: form.text('kind') === 'pilot' ? 'pilot' : 'service',
          documentSha256: form.text('digest').toLowerCase(),
          signatory: form.text('signatory'),
          // A time that no rule takes, for what is no day.
          signedAt: askedForDay(form.text('signed')) ?? Number.NaN,
        },
        actor,
      ),
    'The contract is on record. The signatory is being screened; then the account can be activated.',
  ],
  activate: [
    ({ accounts }, id, actor) => accounts.activate(id, actor),
    'The account is active: keys can be issued.',
  ],
  domain: [
    ({ singleSignOn }, orgId, actor, form) =>
      singleSignOn.confirmDomain({ orgId, actor }, form.text('domain')),
    'Domain confirmed. Anyone with an address in it whom the organisation’s issuer signs in becomes a member.',
  ],
  plan: [
    ({ accounts }, id, actor, form) => {
      const plan = PLANS.find((known) => known === form.text('plan'));
      if (plan === undefined) throw invalidParam('plan', 'There is no such plan.');
      return accounts.setPlan(id, plan, actor);
    },
    'Plan changed.',
  ],
  limits: [
    ({ accounts }, id, actor, form) => {
      const numbers = ['rps', 'burst', 'day', 'streams'].map((name) => form.text(name));
      if (numbers.every((text) => text === '')) return accounts.setLimits(id, null, actor);
      const [requestsPerSecond, burst, requestsPerDay, concurrentStreams] = numbers.map((text) =>
        text === '' ? Number.NaN : Number(text),
      ) as [number, number, number, number];
      const limits = { requestsPerSecond, burst, requestsPerDay, concurrentStreams };
      return accounts.setLimits(id, limits, actor);
    },
    'Limits set.',
  ],
  identify: [
    ({ accounts }, id, actor, form) =>
      accounts.identify(id, form.note('identifier') || null, actor),
    'Identifier set. Reports that are made from now on give it.',
  ],
  'keep-none': [
    ({ accounts }, id, actor) => accounts.setKeepResponses(id, false, actor),
    'No responses are kept any more, and those that were are deleted.',
  ],
  hold: [
    ({ accounts }, id, actor) => accounts.setLegalHold(id, true, actor),
    'The legal hold has begun: no receipt of the account is archived or dropped.',
  ],
  release: [
    ({ accounts }, id, actor) => accounts.setLegalHold(id, false, actor),
    'The legal hold has ended.',
  ],
  'reset-factor': [
    async ({ persons }, id, actor, form) => {
      const members = await persons.members(id);
      const member = members.find((one) => one.id === form.text('member'));
      if (member === undefined) throw invalidParam('member', 'There is no such member.');
      // Their sessions open more than organisations.
      if ((await persons.staffRoles(member.id)).length > 0) {
        throw invalidParam(
          'member',
          'This person works for the service. Reset it at the command line: docket persons reset-second-factor.',
        );
      }
      // Their password alone then opens all organisations of theirs.
      const [theirs, own] = await Promise.all([
        persons.memberships(member.id, 0),
        persons.memberships(actor.id, 0),
      ]);
      if (theirs.some(({ orgId }) => own.some((one) => one.orgId === orgId))) {
        throw invalidParam(
          'member',
          'You are a member of an organisation of this person: someone else has to reset it.',
        );
      }
      await persons.removeSecondFactor(member.email, actor);
    },
    'The second factor is reset: the password alone lets the person in. They get an e-mail.',
  ],
};

const isAct = (name: string): name is AccountActName => Object.hasOwn(ACTS, name);

/** They cannot wait for a password. */
const TAKING_AWAY: ReadonlySet<string> = new Set(['suspend', 'close']);

/** Organisations, as operators see them, and what they do about them. */
export function accountsRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/accounts', SESSION, async (request, reply) => {
    const search = withoutKeys(askedFor(request, 'search')).slice(0, 200);
    const after = askedAfter(request, 'org');
    const state = ACCOUNT_STATES.find((known) => known === askedFor(request, 'state'));
    const page = await deps.accounts.list({
      limit: PAGE_LENGTH,
      order: 'desc',
      after,
      state,
      search: search || undefined,
    });
    return sendFramed(deps, [request, reply], {
      title: 'Accounts',
      section: 'accounts',
      body: (frame) => accountsPage(frame, { page, state, search, after }),
    });
  });
  // A form that is sent into an address keeps what was typed in histories and logs, a whole key too.
  app.post('/accounts', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const typed = form.text('search');
    if (holdsWholeKey(typed)) return seeOther(reply, WHOLE_KEY_ADDRESS);
    const asked = { search: withoutKeys(typed).slice(0, 200), state: form.text('state') };
    const filters = Object.entries(asked).filter(([, text]) => text !== '');
    const query = new URLSearchParams(filters).toString();
    return seeOther(reply, `/dashboard/service/accounts${query === '' ? '' : `?${query}`}`);
  });
  app.get<OfAccount>('/accounts/:id', SESSION, (request, reply) => {
    const done = askedFor(request, 'done');
    return showAccount(deps, [request, reply], isAct(done) ? { done: ACTS[done][1] } : {});
  });
  app.post<OfAct>('/accounts/:id/:act', SESSION, async (request, reply) => {
    const { id, act } = request.params;
    const form = await sessionForm(deps, request);
    if (!isAct(act)) throw new Fault('organisation_not_found');
    const [perform] = ACTS[act];
    const mayNot = whyNot(request, id);
    if (mayNot !== undefined) throw new PageError(403, 'You cannot do this here', mayNot);
    if (!TAKING_AWAY.has(act)) await confirmedForm(deps, request);
    try {
      await perform(deps, id, { ...staffActorOf(request), ...wordsOf(form, act) }, form);
    } catch (error) {
      const { message, status } = refusalOf(error);
      const problem = `Nothing was done. ${message}`;
      return showAccount(deps, [request, reply], { open: act, problem }, status);
    }
    return seeOther(reply, `/dashboard/service/accounts/${id}?done=${act}`);
  });
}

async function showAccount(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  told: Pick<AccountParts, 'open' | 'problem' | 'done'>,
  status = 200,
): Promise<FastifyReply> {
  const { id: orgId } = request.params as OfAccount['Params'];
  const account = await deps.accounts.get(orgId);
  const [members, unconfirmed, domains, keys, review, history] = await Promise.all([
    deps.persons.membersWithFactors(orgId),
    deps.accounts.unconfirmedContacts(account),
    deps.singleSignOn.domains(orgId),
    deps.keys.list({ orgId, limit: KEYS_SHOWN, order: 'desc' }),
    deps.vettings.openReview(orgId),
    deps.audit.list({ orgId, limit: HISTORY_LENGTH, order: 'desc' }),
  ]);
  const names = await deps.persons.names(history.items.map(({ actorId }) => actorId));
  const mayNot = whyNot(request, orgId);
  const parts = {
    account,
    members,
    unconfirmed,
    domains,
    keys,
    review,
    history: history.items,
    names,
    mayNot,
    closedReadDays: deps.closedReadMs / DAY_MS,
    ...told,
  };
  return sendFramed(deps, [request, reply], {
    title: account.name,
    section: 'accounts',
    status,
    body: (frame) => accountPage(frame, parts),
  });
}

/** What an operator says of an act, for the audit log. @throws Fault `invalid_reason` where it must say why */
function wordsOf(form: Form, act: AccountActName): Pick<Actor, 'reason' | 'ticket'> {
  const reason = form.note(`${act}-reason`, REASON_LENGTH_MAX);
  const ticket = form.note(`${act}-ticket`, TICKET_LENGTH_MAX);
  if (reason === '' && ASKS_REASON.has(act)) {
    throw new Fault('invalid_reason', { message: 'Enter a reason.' });
  }
  return { ...(reason !== '' && { reason }), ...(ticket !== '' && { ticket }) };
}
