import { hash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cookieLine, readCookie } from '../session/cookies.ts';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import { emailTyped } from '#shared/persons/checks.ts';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import {
  checkClientText,
  checkIssuer,
  PROVISIONED_ROLES,
  type SingleSignOn,
} from '#shared/persons/single-sign-on.ts';
import { ASSETS } from '../../front/assets.ts';
import { confirmedForm } from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor, doneOf, type Form } from '../forms.ts';
import {
  actorOf,
  demandRight,
  type PageExchange,
  placeToGo,
  seeOther,
  sendFramed,
  sendPage,
  SESSION,
  sessionForm,
  visitorForm,
  visitorOf,
  visitorToken,
} from '../guard.ts';
import type { Client, Errand } from '../session/issuer.ts';
import { IssuerFailure } from '../session/issuer-failure.ts';
import { notFound, PageError } from '../page-error.ts';
import { unframed } from '../parts/layout.ts';
import {
  confirmedPage,
  findOrganisationPage,
  issuerPage,
  singleSignOnPage,
  type SingleSignOnParts,
} from './page.ts';

/** Sign-ins that one address begins: each has us ask an issuer. */
const BEGUN_BY: Attempts = { burst: 20, intervalMs: 10_000 };
/** Issuers that one organisation tries by saving them: each has us ask a server that may be another's. */
const TRIED_BY: Attempts = { burst: 10, intervalMs: MINUTE_MS / 2 };
/** How long a person may take at the issuer. */
const ERRAND_MS = 15 * MINUTE_MS;
const ERRAND_COOKIE = 'docket_sso';
const ERRAND = new RegExp(`^${ERRAND_COOKIE}=([\\w-]{22})$`);

interface OfOrganisation {
  Params: { org: string };
}

/** What is kept of a person who is on the way to an issuer and back, until they are. */
interface KeptErrand extends Errand {
  orgId: string;
  issuer: string;
  clientId: string;
  to: string;
}

/** The way in by the issuer of an organisation, for those who are not signed in. */
export function issuerRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  findOrganisation(app, deps);
  app.get<OfOrganisation>('/sso/:org', SESSION, async (request, reply) => {
    const { org } = request.params;
    const { issuer } = await demandSingleSignOn(deps, org);
    const orgName = (await deps.singleSignOn.nameOf(org)) ?? '';
    const saysLeft = askedFor(request, 'done') === 'out';
    const hasLeft = saysLeft && (await (await deps.signIn()).session(visitorOf(request))) === null;
    const to = placeToGo(askedFor(request, 'to'));
    const parts = { orgId: org, orgName, issuer, to, hasLeft, email: '' };
    return draw(reply, 'Single sign-on', issuerPage(parts));
  });
  app.get<OfOrganisation>('/sso/:org/start', SESSION, async (request, reply) => {
    const { org } = request.params;
    await countBegun(deps, request);
    const kept = await demandSingleSignOn(deps, org);
    if (isLedFromOutside(request)) {
      const to = placeToGo(askedFor(request, 'to'));
      return seeOther(reply, `/dashboard/sso/${org}?to=${encodeURIComponent(to)}`);
    }
    const errand: KeptErrand = {
      orgId: org,
      issuer: kept.issuer,
      clientId: kept.clientId,
      redirectUri: addressOf(deps, org, 'callback'),
      state: randomBytes(16).toString('base64url'),
      nonce: randomBytes(16).toString('base64url'),
      verifier: randomBytes(32).toString('base64url'),
      again: askedFor(request, 'again') === '1',
      to: placeToGo(askedFor(request, 'to')),
    };
    const email = askedFor(request, 'email').slice(0, 254);
    const issuers = await deps.issuers();
    const address = await issuers.begin(await clientOf(deps, org, kept), errand, email);
    await deps.errands.keep(nameOf(errand.state), sealed(deps, errand), deps.now() + ERRAND_MS);
    setErrand(deps, reply, errand.state);
    return seeOther(reply, address);
  });
  app.get<OfOrganisation>('/sso/:org/callback', SESSION, async (request, reply) => {
    const { org } = request.params;
    const state = askedFor(request, 'state');
    const own = readCookie(request.headers.cookie, ERRAND);
    setErrand(deps, reply, '');
    const text = own === undefined ? undefined : await deps.errands.take(nameOf(own));
    const errand = text === undefined ? undefined : opened(deps, own!, text);
    // The state that comes back is that of this browser, begun for this organisation, and comes back once.
    if (errand === undefined || errand.state !== state || errand.orgId !== org) throw tooLate(org);
    const kept = await demandSingleSignOn(deps, org);
    if (kept.issuer !== errand.issuer || kept.clientId !== errand.clientId) throw tooLate(org);
    const issuers = await deps.issuers();
    const cameBackTo = new URL(errand.redirectUri);
    cameBackTo.search = new URL(request.url, cameBackTo).search;
    const { claims, authenticatedAt } = await issuers.finish(
      await clientOf(deps, org, kept),
      errand,
      cameBackTo,
    );
    const signIn = await deps.signIn();
    const entering = { orgId: org, issuer: kept.issuer, claims, address: request.ip };
    if (errand.again) {
      const person = await deps.singleSignOn.enter(entering, (one) => Promise.resolve(one));
      const visit = await signIn.session(visitorOf(request));
      if (visit?.session.organisation !== org || visit.person.id !== person.id) throw notTheSame();
      if (!(await signIn.confirm(visit, 'single sign-on'))) throw notTheSame();
      return draw(reply, 'Confirmed', confirmedPage());
    }
    const confirmedAt =
      authenticatedAt === undefined ? null : Math.min(authenticatedAt, deps.now());
    const { cookies } = await deps.singleSignOn.enter(entering, ({ id: personId }, client) =>
      signIn.open({ personId, organisation: org, confirmedAt }, visitorOf(request), client),
    );
    void reply.header('set-cookie', cookies);
    return seeOther(reply, errand.to);
  });
  app.get<OfOrganisation>('/sso/:org/sign-out', SESSION, async (request, reply) => {
    const { org } = request.params;
    await countBegun(deps, request);
    const kept = await demandSingleSignOn(deps, org);
    if (isLedFromOutside(request)) return seeOther(reply, `/dashboard/sso/${org}`);
    const issuers = await deps.issuers();
    const back = addressOf(deps, org, '').replace(/\/$/, '');
    const place = await issuers.end(await clientOf(deps, org, kept), back);
    if (place === undefined) {
      throw new PageError(
        404,
        'The issuer has no such page',
        'Sign out at your organisation in its usual way.',
      );
    }
    return seeOther(reply, place);
  });
}

/** For who knows their address and not what to follow. The page leads on by a link: the policy keeps forms within the site. */
function findOrganisation(app: FastifyInstance, deps: DashboardDeps): void {
  const title = 'Single sign-on';
  app.get('/sign-in/organisation', SESSION, async (request, reply) => {
    const to = placeToGo(askedFor(request, 'to'));
    const formToken = await visitorToken(deps, request, reply);
    return draw(reply, title, findOrganisationPage({ formToken, to }));
  });
  app.post('/sign-in/organisation', SESSION, async (request, reply) => {
    const form = await visitorForm(deps, request);
    await countBegun(deps, request);
    const email = emailTyped(form.text('email')).slice(0, 254);
    const to = placeToGo(form.text('to'));
    const orgId = await deps.singleSignOn.organisationOf(email);
    if (orgId === undefined) {
      const formToken = await visitorToken(deps, request, reply);
      const problem =
        'No organisation has single sign-on for addresses of this domain. Sign in with your password.';
      const page = findOrganisationPage({ formToken, to, email, problem });
      return draw(reply, title, page, 404);
    }
    const { issuer } = await demandSingleSignOn(deps, orgId);
    const orgName = (await deps.singleSignOn.nameOf(orgId)) ?? '';
    const parts = { orgId, orgName, issuer, to, email, hasLeft: false };
    return draw(reply, title, issuerPage(parts));
  });
}

function draw(
  reply: FastifyReply,
  title: string,
  page: Parameters<typeof unframed>[2],
  status = 200,
): FastifyReply {
  return sendPage(reply, unframed(ASSETS.addresses, title, page), status);
}

async function countBegun(deps: DashboardDeps, { ip }: FastifyRequest): Promise<void> {
  const name = nameOf(`single sign-on by ${callerNetwork(ip)}`);
  if ((await deps.takeAttempt(name, BEGUN_BY)) === 0) return;
  throw new PageError(429, 'Too many attempts', 'Wait a minute, and start again.');
}

/**
 * Whether a browser says that none of our pages leads here. What an issuer publishes decides where it goes on, and any
 * organisation names one: an address of ours must lead no person there who has not read whose it is.
 */
const isLedFromOutside = ({ headers }: FastifyRequest): boolean =>
  (headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin';

async function demandSingleSignOn(deps: DashboardDeps, orgId: string): Promise<SingleSignOn> {
  const found = await deps.singleSignOn.of(orgId);
  if (found === undefined) throw notFound();
  return found;
}

const nameOf = (text: string): string => hash('sha256', text);

/** One address for each organisation: what an issuer sends to it can be for no other. */
function addressOf({ publicUrl }: DashboardDeps, orgId: string, path: string): string {
  return `${new URL(publicUrl).origin}/dashboard/sso/${orgId}/${path}`;
}

const secretSubject = (orgId: string): string => `client secret of ${orgId}`;
const errandSubject = (state: string): string => `errand ${state}`;

async function clientOf(
  { flash, singleSignOn }: DashboardDeps,
  orgId: string,
  { issuer, clientId, sealedSecret }: SingleSignOn,
): Promise<Client> {
  const clientSecret = flash.open(secretSubject(orgId), sealedSecret);
  if (clientSecret === null) {
    throw new PageError(
      503,
      'Single sign-on has to be set up again',
      'The client secret can no longer be read. An owner of the organisation has to enter it again.',
    );
  }
  const renewed = flash.renewed(secretSubject(orgId), sealedSecret, clientSecret);
  if (renewed !== sealedSecret) await singleSignOn.reseal(orgId, sealedSecret, renewed);
  return { issuer, clientId, clientSecret };
}

const sealed = ({ flash }: DashboardDeps, errand: KeptErrand): string =>
  flash.seal(errandSubject(errand.state), JSON.stringify(errand));

function opened({ flash }: DashboardDeps, state: string, text: string): KeptErrand | undefined {
  const errand = flash.open(errandSubject(state), text);
  return errand === null ? undefined : (JSON.parse(errand) as KeptErrand);
}

/** Empty to have it forgotten. */
function setErrand({ publicUrl }: DashboardDeps, reply: FastifyReply, state: string): void {
  const lasting = { sameSite: 'Lax', maxAgeS: ERRAND_MS / 1_000 } as const;
  const cookie = { name: ERRAND_COOKIE, value: state, path: '/dashboard/sso', ...lasting };
  void reply.header('set-cookie', cookieLine(publicUrl, cookie));
}

function tooLate(orgId: string): PageError {
  return new PageError(
    400,
    'Begin again',
    `This sign-in was not started in this browser, was already used, or took too long. Start at /dashboard/sso/${orgId}.`,
  );
}

function notTheSame(): PageError {
  return new PageError(
    403,
    'Nothing was confirmed',
    'You signed in at your organisation as a different person than here, or you are signed out here.',
  );
}

const DONE: Readonly<Record<string, string>> = {
  saved: 'Issuer saved. Sign in with it once to see that it works.',
  required: 'From now on, members other than owners must use single sign-on.',
  'not-required': 'Members can use single sign-on or their passwords.',
  removed: 'Issuer removed. Everyone who signed in with it is signed out.',
  claimed: 'Domain added. It takes effect once an operator of the service has confirmed it.',
  'domain-removed': 'Domain removed. Everyone who signed in by single sign-on is signed out.',
};

/** The issuer of an organisation and its domains, for its owners. */
export function singleSignOnRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/single-sign-on', SESSION, (request, reply) => {
    demandRight(request.membership, 'manage the team');
    return showSettings(deps, [request, reply], doneOf(request, DONE));
  });
  const act = (
    path: string,
    givesMore: boolean,
    perform: (request: FastifyRequest, form: Form) => Promise<string>,
  ): void => {
    app.post(`/single-sign-on${path}`, SESSION, async (request, reply) => {
      const form = await sessionForm(deps, request);
      demandRight(request.membership, 'set up single sign-on');
      if (givesMore) await confirmedForm(deps, request);
      try {
        const done = await perform(request, form);
        const { orgId } = request.membership;
        return seeOther(reply, `/dashboard/${orgId}/single-sign-on?done=${done}`);
      } catch (error) {
        const problem = problemOf(error);
        if (problem === undefined) throw error;
        const typed = {
          issuer: form.text('issuer'),
          clientId: form.text('client-id'),
          domain: form.text('domain'),
        };
        return showSettings(deps, [request, reply], { problem, typed }, 400);
      }
    });
  };
  act('', true, async (request, form) => {
    const { orgId } = request.membership;
    const issuer = checkIssuer(form.text('issuer'), deps.insideIssuers);
    const clientId = checkClientText('client_id', form.text('client-id'));
    const typed = form.exact('client-secret').trim();
    const clientSecret = typed === '' ? undefined : checkClientText('client_secret', typed);
    const role = PROVISIONED_ROLES.find((known) => known === form.text('role')) ?? 'member';
    if ((await deps.takeAttempt(nameOf(`issuers tried by ${orgId}`), TRIED_BY)) > 0) {
      const message = 'Several issuers were tried just now. Wait a minute, and save it then.';
      throw new Fault('requests_per_second_exceeded', { message });
    }
    // Asked before it is kept: a slip of the keyboard is seen by who made it.
    const issuers = await deps.issuers();
    await issuers.check({ issuer, clientId, clientSecret: clientSecret ?? '' });
    const sealedSecret =
      clientSecret === undefined ? undefined : deps.flash.seal(secretSubject(orgId), clientSecret);
    const settings = { issuer, clientId, sealedSecret, role };
    await deps.singleSignOn.save({ orgId, actor: actorOf(request) }, settings);
    return 'saved';
  });
  act('/required', true, async (request, form) => {
    const required = form.text('required') === 'yes';
    const { orgId } = request.membership;
    await deps.singleSignOn.setRequired({ orgId, actor: actorOf(request) }, required);
    return required ? 'required' : 'not-required';
  });
  act('/remove', false, async (request) => {
    const { orgId } = request.membership;
    // Members get in by their passwords again, as where it is required no longer.
    if ((await deps.singleSignOn.of(orgId))?.required === true) await confirmedForm(deps, request);
    await deps.singleSignOn.remove({ orgId, actor: actorOf(request) });
    return 'removed';
  });
  act('/domains', true, async (request, form) => {
    const { orgId } = request.membership;
    await deps.singleSignOn.claimDomain({ orgId, actor: actorOf(request) }, form.text('domain'));
    return 'claimed';
  });
  act('/domains/remove', false, async (request, form) => {
    const { orgId } = request.membership;
    await deps.singleSignOn.removeDomain({ orgId, actor: actorOf(request) }, form.text('domain'));
    return 'domain-removed';
  });
}

/** What is shown beside the form, with what was typed; undefined for what is no matter of the form. */
function problemOf(error: unknown): string | undefined {
  if (error instanceof Fault && error.status < 500 && error.status !== 404) {
    return `Nothing was changed. ${error.message}`;
  }
  return error instanceof IssuerFailure ? `Nothing was changed. ${error.message}` : undefined;
}

async function showSettings(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  told: Pick<SingleSignOnParts, 'problem' | 'done' | 'typed'>,
  status = 200,
): Promise<FastifyReply> {
  const { orgId } = request.membership;
  const [settings, domains] = await Promise.all([
    deps.singleSignOn.of(orgId),
    deps.singleSignOn.domains(orgId),
  ]);
  const parts: SingleSignOnParts = {
    settings,
    domains,
    redirectUri: addressOf(deps, orgId, 'callback'),
    signInAt: addressOf(deps, orgId, '').replace(/\/$/, ''),
    supportEmail: deps.supportEmail,
    ...told,
  };
  return sendFramed(deps, [request, reply], {
    title: 'Single sign-on',
    section: 'team',
    status,
    body: (frame) => singleSignOnPage(frame, parts),
  });
}
