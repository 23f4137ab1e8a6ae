import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { withoutNote } from '#shared/kernel/mail-address.ts';
import { HOUR_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import { emailTyped } from '#shared/persons/checks.ts';
import { checkInviting } from '#shared/persons/inviting.ts';
import { sessionEndedLetter, teamInvitationLetter } from '#shared/persons/letters.ts';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import { ORGANISATION_ROLES, type OrganisationRole } from '#shared/persons/roles.ts';
import { confirmedForm } from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf, type Form } from '../forms.ts';
import {
  actorOf,
  demandRight,
  type PageExchange,
  refusalOf,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
} from '../guard.ts';
import { PageError } from '../page-error.ts';
import { invitationsPage, sessionName, sessionsPage, teamPage, type TeamParts } from './page.ts';

/** E-mails that one person has sent to others: a team at once, and then some more. */
const INVITED_BY: Attempts = { burst: 10, intervalMs: 10 * MINUTE_MS };
/** E-mails to one address, from all senders. */
const INVITED: Attempts = { burst: 3, intervalMs: HOUR_MS };
/** And to all addresses that differ in a note behind a `+`: some teams have their accounts so. */
const INVITED_WITHOUT_NOTE: Attempts = { burst: 10, intervalMs: HOUR_MS };

const DONE: Readonly<Record<string, string>> = {
  invited: 'Invitation sent. It is open for fourteen days.',
  // The page of invitations shows it all the same.
  untold:
    'The invitation is open for fourteen days, on the Invitations page of the person with that address. No e-mail was sent, because this hour’s limit of invitations was reached. Invite the address again later, or tell them yourself.',
  withdrawn: 'Invitation withdrawn.',
  role: 'Role changed. It applies from the next page that they open.',
  removed: 'They are no longer in the team, and lose access with the next page that they open.',
  required:
    'A second factor is required. From the next page on, a password alone no longer opens these pages.',
  lifted: 'A second factor is no longer required.',
};

const SESSIONS_DONE: Readonly<Record<string, string>> = {
  ended: 'Session ended.',
};

/** Whether it still is so: another owner may have changed the rule since. */
const stands = ({ membership: { asksSecondFactor } }: FastifyRequest, done: string): boolean =>
  done === 'required' ? asksSecondFactor : done !== 'lifted' || !asksSecondFactor;

/** What is done by acts that give a person a part. */
const GRANTING: ReadonlySet<string> = new Set(['invited', 'role']);

/** What an owner reads who has no more than a password: their own pages would close behind them. */
const NONE_OF_ONES_OWN =
  'You have no second factor yourself. First set up an app or a passkey under Your account.';

/** The members of an organisation, and those whom it has invited. */
export function teamRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/team', SESSION, (request, reply) =>
    show(
      deps,
      [request, reply],
      doneOf(request, DONE, (done) => stands(request, done)),
    ),
  );
  const act = (
    path: string,
    done: string,
    perform: (by: ReturnType<typeof actOf>, form: Form) => Promise<string | void>,
  ): void => {
    app.post(path, SESSION, async (request, reply) => {
      const form = await sessionForm(deps, request);
      const isLeaving = done === 'removed' && form.text('member') === request.visit.person.id;
      if (!isLeaving) demandRight(request.membership, 'manage the team');
      if (GRANTING.has(done)) await confirmedForm(deps, request);
      let outcome: string;
      try {
        outcome = (await perform(actOf(request), form)) ?? done;
      } catch (error) {
        const { message, status } = refusalOf(error);
        const problem = `Nothing was done. ${message}`;
        const email = form.text('email');
        return show(deps, [request, reply], { problem, email }, status);
      }
      const address = `/dashboard/${request.membership.orgId}/team`;
      return seeOther(reply, isLeaving ? '/dashboard' : `${address}?done=${outcome}`);
    });
  };
  act('/team/invite', 'invited', async (by, form) => {
    // Before the attempt is counted, which is for the address too, and so for all who invite it.
    checkInviting(by.orgState);
    const email = form.text('email');
    const reader = emailTyped(email).slice(0, 254);
    const plainAddress = withoutNote(reader);
    const isTooMuch =
      (await deps.takeAttempt(`invitations by ${by.actor.id}`, INVITED_BY)) > 0 ||
      (await deps.takeAttempt(`invitations to ${reader}`, INVITED)) > 0 ||
      (plainAddress !== undefined &&
        (await deps.takeAttempt(`invitations into ${plainAddress}`, INVITED_WITHOUT_NOTE)) > 0);
    if (isTooMuch) {
      throw new PageError(429, 'Too many invitations', 'Nothing was sent. Wait a few minutes.');
    }
    const { name: inviter = 'Someone' } = by.actor;
    const link = `${new URL(deps.publicUrl).origin}/dashboard/invitations`;
    const isTold = await deps.teams.invite(by, email, roleFrom(form), (to) =>
      teamInvitationLetter(to, { inviter, orgName: by.orgName, link }),
    );
    return isTold ? 'invited' : 'untold';
  });
  act('/team/withdraw', 'withdrawn', (by, form) => deps.teams.withdraw(by, form.text('email')));
  act('/team/role', 'role', (by, form) =>
    deps.teams.setRole(by, form.text('member'), roleFrom(form)),
  );
  act('/team/remove', 'removed', (by, form) => deps.teams.remove(by, form.text('member')));
}

/** Whether a second factor is required, for owners. Both ask for the proof: to lift it lets in by less, and who requires it has shown that they have one. */
export function secondFactorRuleRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const act = (name: 'require' | 'lift', done: string): void => {
    app.post(`/team/second-factor/${name}`, SESSION, async (request, reply) => {
      await sessionForm(deps, request);
      demandRight(request.membership, 'require a second factor');
      await confirmedForm(deps, request);
      const { orgId } = request.membership;
      const { session, hasSecondFactor, hasPasskey } = request.visit;
      const isLackingOwn = session.organisation === null && !hasSecondFactor && !hasPasskey;
      if (name === 'require' && isLackingOwn) {
        const problem = `Nothing was changed. ${NONE_OF_ONES_OWN}`;
        return show(deps, [request, reply], { problem }, 400);
      }
      const by = { orgId, actor: actorOf(request) };
      await deps.teams.requireSecondFactor(by, name === 'require');
      return seeOther(reply, `/dashboard/${orgId}/team?done=${done}`);
    });
  };
  act('require', 'required');
  act('lift', 'lifted');
}

/** Where members are signed in, for owners. */
export function memberSessionRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/team/sessions', SESSION, async (request, reply) => {
    demandRight(request.membership, 'end sessions of members');
    const sessions = await deps.teams.sessions(request.membership.orgId);
    const { id: currentId } = request.visit.session;
    const told = doneOf(request, SESSIONS_DONE);
    return sendFramed(deps, [request, reply], {
      title: 'Sessions of members',
      section: 'team',
      body: (frame) => sessionsPage(frame, { sessions, currentId, ...told }),
    });
  });
  app.post('/team/sessions/end', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    demandRight(request.membership, 'end sessions of members');
    const { orgId, orgName } = request.membership;
    const { name: owner } = request.visit.person;
    await deps.teams.endSession(
      { orgId, actor: actorOf(request) },
      form.text('session'),
      ({ member, session }) =>
        sessionEndedLetter(member, { orgName, owner, session: sessionName(session) }),
    );
    return seeOther(reply, `/dashboard/${orgId}/team/sessions?done=ended`);
  });
}

/** What waits for a person themself. */
export function invitationRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/invitations', SESSION, async (request, reply) => {
    const invitations = await deps.teams.invitationsFor(request.visit.person);
    return sendFramed(deps, [request, reply], {
      title: 'Invitations',
      body: (frame) => invitationsPage(frame, invitations),
    });
  });
  app.post('/invitations', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const isTaken = form.text('answer') === 'accept';
    const orgId = form.text('org');
    await deps.teams.answer(orgId, request.visit.person, actorOf(request), isTaken);
    return seeOther(reply, isTaken ? `/dashboard/${orgId}/team` : '/dashboard/invitations');
  });
}

function actOf(request: FastifyRequest) {
  const { orgId, orgName, orgState, role } = request.membership;
  return { orgId, orgName, orgState, actor: actorOf(request), by: role };
}

/** What is none gives the least. */
function roleFrom(form: Form): OrganisationRole {
  return ORGANISATION_ROLES.find((role) => role === form.text('role')) ?? 'auditor';
}

async function show(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  told: Pick<TeamParts, 'problem' | 'done' | 'email'>,
  status = 200,
): Promise<FastifyReply> {
  const { orgId } = request.membership;
  const [members, invitations] = await Promise.all([
    deps.persons.membersWithFactors(orgId),
    deps.teams.invitations(orgId),
  ]);
  return sendFramed(deps, [request, reply], {
    title: 'Team',
    section: 'team',
    status,
    body: (frame) => teamPage(frame, { members, invitations, ...told }),
  });
}
