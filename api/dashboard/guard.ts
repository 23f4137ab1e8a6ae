import type { Readable } from 'node:stream';
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Html } from '#api/html.ts';
import { cookieLine, readCookie } from './session/cookies.ts';
import { compressPages, leaveUncompressed } from '#api/plugins/compressed.ts';
import { type MadeAnswer, wholeSeconds } from '#api/plugins/error-envelope.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { failureOfStore, isStoreAway } from '#shared/kernel/store-away.ts';
import { type Actor, AllowanceLost, OWN_ORGANISATION } from '#shared/accounts/audit/entry.ts';
import { withoutKeys } from '#shared/keys/format.ts';
import { type Act, may, type Membership, type StaffRole } from '#shared/persons/roles.ts';
import { lackOf, SessionEnded } from '#shared/persons/sessions.ts';
import type { DashboardDeps } from './deps.ts';
import type { Session, SignedIn, Visitor } from './session/sign-in.ts';
import { ASSETS } from '../front/assets.ts';
import { pageOfEntry } from './session/entry-error.ts';
import { askedFor, CONFIRMING_FIELD, ConfirmationNeeded, Form, PASSKEY_FIELD } from './forms.ts';
import { confirmationPage, endedPage, errorPage } from './sign-in/page.ts';
import { type Frame, framed, PAGES_OF_CLOSED, type PageParts, unframed } from './parts/layout.ts';
import { notFound, PageError } from './page-error.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The person who is signed in, on pages that need one. */
    visit: SignedIn & {
      memberships: readonly Membership[];
      staff: readonly StaffRole[];
      /** Those of them that a page of the service demands one of. */
      allowing: readonly StaffRole[];
    };
    /** The part of that person in the organisation of the address, on pages of one. */
    membership: Membership;
  }
}

/** Nothing is run, loaded or framed that is not ours, and no form goes elsewhere. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  // A page that follows something looks at itself again.
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Of every page, private or not. */
export const PAGE_HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  // Within the site, so that a form's Origin comes.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
} as const;
/** Neither a proxy nor the browser keeps what a person was shown. */
export const PRIVATE = { ...PAGE_HEADERS, 'cache-control': 'no-store' } as const;

const STRICT_TRANSPORT = 'max-age=31536000';
export const HTML_TYPE = 'text/html; charset=utf-8';
export const CSV_TYPE = 'text/csv; charset=utf-8';

/** The scope of every page: sessions open them, and API keys none. */
export const SESSION = { config: { scope: 'session' } } as const;

/** Sends a page that is for one visitor. */
export function sendPage(reply: FastifyReply, page: Html, status = 200): FastifyReply {
  return reply.code(status).headers(PRIVATE).type(HTML_TYPE).send(page.text);
}

/** A request of a page, and its reply. */
export type PageExchange = readonly [FastifyRequest, FastifyReply];

export interface SentFile {
  name: string;
  type: string;
  content: string | Buffer | Readable;
}

/** Sends a file that is for one visitor, to be kept rather than shown. */
export function sendFile(reply: FastifyReply, { name, type, content }: SentFile): FastifyReply {
  return reply
    .headers({ ...PRIVATE, 'content-disposition': `attachment; filename="${name}"` })
    .type(type)
    .send(content);
}

/** Sends what a page's own script has asked for. */
export function sendForScript(reply: FastifyReply, value: object): FastifyReply {
  return reply.headers(PRIVATE).type('application/json; charset=utf-8').send(JSON.stringify(value));
}

/** After an act: the page that shows what it did. */
export function seeOther(reply: FastifyReply, address: string): FastifyReply {
  return reply.headers(PRIVATE).redirect(address, 303);
}

/** Has browsers come by TLS alone from their first page on, for a year, where the service is reached by that. */
export function strictTransport(app: FastifyInstance, publicUrl: string): void {
  if (!publicUrl.startsWith('https:')) return;
  // What an earlier hook refuses passes the second alone, and what writes its own stream the first alone.
  app.addHook('onRequest', (_request, reply, next) => {
    void reply.header('strict-transport-security', STRICT_TRANSPORT);
    next();
  });
  app.addHook('onSend', (_request, reply, _payload, next) => {
    void reply.header('strict-transport-security', STRICT_TRANSPORT);
    next();
  });
}

/**
 * What holds for every page: where a form comes from, and what a failure looks like. An answer that is not a page of ours
 * has the headers of one.
 */
export function guardPages(
  app: FastifyInstance,
  {
    publicUrl,
    supportEmail,
    onError,
    onFailure,
  }: Pick<DashboardDeps, 'publicUrl' | 'supportEmail' | 'onError' | 'onFailure'>,
): void {
  const isOurs = ownOrigin(publicUrl);
  strictTransport(app, publicUrl);
  compressPages(app, { of: 'one person' });
  app.addHook('onRequest', (request, reply, next) => {
    const { method } = request;
    if (method === 'GET' || method === 'HEAD') {
      const clean = withoutKeyToGo(request);
      if (clean === undefined) return next();
      return void seeOther(reply, clean);
    }
    next(isOurs(request) ? undefined : foreignForm());
  });
  app.setErrorHandler((thrown: Error, request, reply) => {
    if (thrown instanceof ConfirmationNeeded) return askToConfirm(thrown, request, reply);
    const error = pageOfEntry(thrown) ?? lostBy(thrown) ?? awayOf(thrown) ?? thrown;
    if (error instanceof Fault && error.code === 'store_unavailable') onError(error.cause);
    // What there is no room for is refused, and has not failed.
    if (shown(error).status === 500 && error === thrown) onFailure(error, request);
    return sendError(error, request, reply, supportEmail);
  });
  // What no route takes fails in a hook before it gets here, and is shown like any other failure.
  app.setNotFoundHandler(() => {
    throw notFound();
  });
}

/** Tells what a page of ours has sent: browsers name its origin with every form, and of another site that site, or `null`. */
export function ownOrigin(publicUrl: string): (request: FastifyRequest) => boolean {
  const publicOrigin = new URL(publicUrl).origin;
  return ({ headers: { origin }, host }) =>
    origin === publicOrigin || origin === `http://${host}` || origin === `https://${host}`;
}

/** What is said of an act whose person may not do it any more. */
export function lostBy(thrown: Error): PageError | undefined {
  if (thrown instanceof SessionEnded) {
    return new PageError(
      401,
      'Your session has ended',
      'Nothing was done, because your session has ended meanwhile. Sign in again.',
    );
  }
  if (!(thrown instanceof AllowanceLost)) return undefined;
  if (thrown.isGone) return notFound();
  return new PageError(
    403,
    'Your role has changed',
    'Nothing was done, because your role in this organisation has changed. Open the page again to see what you can do now.',
  );
}

/** What is said of an error that tells of a store that is away. */
function awayOf(thrown: Error & { statusCode?: number }): Fault | undefined {
  if (thrown instanceof PageError || thrown instanceof Fault) return undefined;
  // Of a form that cannot be read: its client may have reset the connection.
  if (thrown.statusCode !== undefined) return undefined;
  return isStoreAway(thrown) ? failureOfStore(thrown) : undefined;
}

/** Where a page is opened by a proof that its session has not shown. */
const CONFIRMING_PAGE = '/dashboard/account/confirm';

/** The form again, with what its person is asked for beside it. */
function askToConfirm(
  { form, asks, problem, takesPasskey }: ConfirmationNeeded,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const fields = form
    .entries()
    .filter(([name]) => name !== CONFIRMING_FIELD && name !== PASSKEY_FIELD);
  const { organisation } = request.visit.session;
  const isForPage = request.url.startsWith(CONFIRMING_PAGE);
  const step = {
    address: isForPage ? CONFIRMING_PAGE : request.url,
    fields,
    asked: CONFIRMING_FIELD,
    asks,
    problem,
    organisation,
    takesPasskey,
    isForPage,
  };
  const page = unframed(ASSETS.addresses, 'Confirm that it is you', confirmationPage(step));
  return sendPage(reply, page, 403);
}

/** Sends a page that says what went wrong, and whom to write to. */
export function sendError(
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
  supportEmail?: string,
): FastifyReply {
  const { status, headers, body } = errorPageAnswer(error, request.id, supportEmail);
  return reply.code(status).headers(headers).send(body);
}

/** The page that says what went wrong, as an answer. */
export function errorPageAnswer(
  error: Error,
  requestId: string,
  supportEmail?: string,
): MadeAnswer {
  const { status, title, message } = shown(error);
  const { headers = {}, retryAfterMs }: Partial<Fault> = error instanceof Fault ? error : {};
  const page = unframed(
    ASSETS.addresses,
    title,
    errorPage({ title, message, requestId, supportEmail }),
  );
  return {
    status,
    headers: {
      ...headers,
      ...(retryAfterMs !== undefined && { 'retry-after': wholeSeconds(retryAfterMs) }),
      ...PRIVATE,
      'content-type': HTML_TYPE,
    },
    body: page.text,
  };
}

function shown(error: Error & { statusCode?: number }): {
  status: number;
  title: string;
  message: string;
} {
  if (error instanceof PageError) return error;
  if (error instanceof Fault) {
    const { status } = error;
    if (status === 404) return notFound();
    if (status === 429) {
      return { status, title: 'Too many requests', message: 'Wait a little and try again.' };
    }
    if (error.code === 'store_unavailable') {
      return {
        status,
        title: 'This page is not available right now',
        message:
          'The service cannot reach its data at the moment. Either everything was changed or nothing was: check before you try again.',
      };
    }
    if (status === 503) {
      return {
        status,
        title: 'Too many requests at once',
        message: 'Nothing was changed. Wait a little and try again.',
      };
    }
    if (status < 500) return { status, title: 'That could not be done', message: error.message };
  }
  const { statusCode: status = 500 } = error;
  if (status >= 400 && status < 500) {
    return { status, title: 'This could not be read', message: 'Go back and send the form again.' };
  }
  return {
    status: 500,
    title: 'Something failed here',
    message: 'Either everything was changed or nothing was: check before you try again.',
  };
}

export function foreignForm(): PageError {
  return new PageError(
    403,
    'This form did not come from this site',
    'It was sent from another page, or it is too old. Open the page again and send it from there.',
  );
}

/** The cookie that tells visitors apart who have not signed in, so that a form belongs to one of them. */
const VISIT_COOKIE = 'docket_visit';
const VISIT = new RegExp(`^${VISIT_COOKIE}=([\\w-]{22})$`);

/** Whose form a page is, of a visitor who is not signed in; undefined before their first page. */
export function visitorSubject({ headers }: FastifyRequest): string | undefined {
  const id = readCookie(headers.cookie, VISIT);
  return id === undefined ? undefined : `visit ${id}`;
}

/** The token for the forms of a visitor who is not signed in; sets the cookie that it belongs to. */
export async function visitorToken(
  deps: DashboardDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  let id = readCookie(request.headers.cookie, VISIT);
  if (id === undefined) {
    id = randomBytes(16).toString('base64url');
    const cookie = { name: VISIT_COOKIE, value: id, path: '/dashboard', sameSite: 'Lax' } as const;
    void reply.header('set-cookie', cookieLine(deps.publicUrl, cookie));
  }
  return (await deps.signIn()).formToken(`visit ${id}`);
}

/** Why a form was refused, to be shown beside it. What has failed, and what is not there, is thrown on. */
export function refusalOf(error: unknown): Fault {
  if (error instanceof Fault && error.status < 500 && error.status !== 404) return error;
  throw error;
}

/** Takes the form of a visitor who is not signed in, if it is theirs. */
export async function visitorForm(deps: DashboardDeps, request: FastifyRequest): Promise<Form> {
  return ownForm(deps, request, visitorSubject(request));
}

/** Takes the form of a person who is signed in, if it was made for their session. */
export function sessionForm(deps: DashboardDeps, request: FastifyRequest): Promise<Form> {
  return ownForm(deps, request, `session ${request.visit.session.id}`);
}

async function ownForm(
  deps: DashboardDeps,
  { body }: FastifyRequest,
  subject: string | undefined,
): Promise<Form> {
  const form = body instanceof Form ? body : new Form();
  const signIn = await deps.signIn();
  if (subject === undefined || !signIn.isFormToken(subject, form.exact('form')))
    throw foreignForm();
  return form;
}

export function visitorOf({ headers, ip }: FastifyRequest): Visitor {
  return { cookie: headers.cookie, address: ip, userAgent: headers['user-agent'] };
}

/** The parts of a person that their session is good for. Who runs an issuer can come in as any member of its organisation, and must get into no other one by that. */
export async function membershipsOf(
  deps: DashboardDeps,
  { person, session: { organisation } }: SignedIn,
): Promise<Membership[]> {
  const all = await deps.persons.memberships(person.id, deps.closedReadMs);
  return organisation === null ? all : all.filter(({ orgId }) => orgId === organisation);
}

/** Demands a session on every page of `app`; who has none is sent to sign in, and back. */
export function demandSession(app: FastifyInstance, deps: DashboardDeps): void {
  app.decorateRequest('visit', null as never);
  app.addHook('preHandler', async (request, reply) => {
    const signIn = await deps.signIn();
    const signedIn = await signIn.session(visitorOf(request));
    if (signedIn === null) {
      return sendToSignIn([request, reply], signIn.wasOpened(visitorOf(request)));
    }
    const { person, session } = signedIn;
    const [memberships, staff] = await Promise.all([
      membershipsOf(deps, signedIn),
      deps.persons.staffRoles(person.id),
    ]);
    deps.bounds.meet(request, {
      personId: person.id,
      orgIds: memberships.map(({ orgId }) => orgId),
    });
    const roles = session.organisation === null ? staff : [];
    request.visit = { ...signedIn, memberships, staff: roles, allowing: [] };
    return undefined;
  });
}

/**
 * Leads to sign-in and back. A form that came when its session was over is not done; what was typed is shown, so that it can
 * be copied, save what is secret. To a stranger nothing is repeated.
 * @param wasIn whether there was a session, which its cookie outlives
 */
function sendToSignIn([request, reply]: PageExchange, wasIn: boolean): FastifyReply {
  const isGet = request.method === 'GET';
  const back = isGet ? withoutKeys(request.url) : refererOf(request);
  const asked = { ...(back && { to: back }), ...(isGet && wasIn && { done: 'ended' }) };
  const query = new URLSearchParams(asked).toString();
  const address = `/dashboard/sign-in${query === '' ? '' : `?${query}`}`;
  const form = request.body;
  if (isGet || !wasIn || !(form instanceof Form)) return seeOther(reply, address);
  const typed = form
    .entries()
    .filter(([name, value]) => value !== '' && !SECRET_FIELD.test(name))
    .slice(0, REPEATED.fieldsMax)
    .map(([name, value]) => {
      const kept = withoutKeys(value).slice(0, REPEATED.valueCharsMax);
      return [name.slice(0, REPEATED.nameCharsMax), kept] as const;
    });
  const page = unframed(ASSETS.addresses, 'Your session has ended', endedPage(address, typed));
  return sendPage(reply, page, 401);
}

/** Of what was typed when a session was over: more than is typed at once, and no more than a page holds. */
const REPEATED = { fieldsMax: 50, nameCharsMax: 64, valueCharsMax: 1_000 } as const;

/** Fields whose values are never shown again. */
const SECRET_FIELD = /^(?:form|begun|current|code|leaked|token)$|password|passkey|secret/;

/** The page that a form stood on, where it is one of ours. */
function refererOf({ headers, host }: FastifyRequest): string | undefined {
  const referer = URL.parse(headers.referer ?? '');
  if (referer?.host !== host) return undefined;
  const place = referer.pathname + referer.search;
  return placeToGo(place) === place ? place : undefined;
}

/** Demands a session that the person has opened themself: what is done with it reaches beyond one organisation. */
export function demandOwnSession(app: FastifyInstance): void {
  app.addHook('preHandler', async (request) => {
    if (request.visit.session.organisation === null) return;
    throw new PageError(
      403,
      'Sign in with your password for this',
      'Single sign-on opens the pages of its own organisation only.',
    );
  });
}

/** Whether the issuer of an organisation has still to let the person of this session in. */
const waitsForIssuer = (
  { orgId, asksSingleSignOn }: Membership,
  { organisation }: Session,
): boolean => asksSingleSignOn && organisation !== orgId;

/**
 * Where a session has to go before it opens the pages of an organisation: to its issuer, or to show or set up the second factor
 * that it requires; undefined where it opens them.
 */
export function wayInto(
  membership: Membership,
  signedIn: Omit<SignedIn, 'person'>,
): string | undefined {
  if (waitsForIssuer(membership, signedIn.session)) return `/dashboard/sso/${membership.orgId}`;
  const lack = lackOf(membership, signedIn);
  if (lack === undefined) return undefined;
  return lack === 'proof' ? CONFIRMING_PAGE : '/dashboard/account/second-factor';
}

/**
 * Demands a part in the organisation of the address, and that the session has shown what it asks for. Another's organisation is
 * as one that does not exist.
 */
export function demandMembership(app: FastifyInstance): void {
  app.decorateRequest('membership', null as never);
  app.addHook('preHandler', async (request, reply) => {
    const { org } = request.params as { org?: string };
    const membership = request.visit.memberships.find(({ orgId }) => orgId === org);
    if (membership === undefined) throw notFound();
    const { orgId } = membership;
    const way = wayInto(membership, request.visit);
    if (way !== undefined) {
      const to =
        request.method === 'GET' ? `?to=${encodeURIComponent(withoutKeys(request.url))}` : '';
      return seeOther(reply, way + to);
    }
    const page = request.url.slice(`/dashboard/${orgId}`.length);
    if (membership.orgState === 'closed' && !LEFT_OF_CLOSED.test(page)) {
      throw new PageError(
        403,
        'The organisation is closed',
        'Receipts, packs, the ledger and the audit log can still be read, and nothing else.',
      );
    }
    request.membership = membership;
    return undefined;
  });
}

/** Below the address of a closed organisation: what proves what was. */
const LEFT_OF_CLOSED = new RegExp(`^/(?:${PAGES_OF_CLOSED.map(([page]) => page).join('|')})\\b`);

/** Shows the pages of `app` to those who work for the service in one of these roles. For others there are none. */
export function demandStaff(app: FastifyInstance, roles: readonly StaffRole[]): void {
  app.addHook('preHandler', async (request) => {
    const allowing = request.visit.staff.filter((role) => roles.includes(role));
    if (allowing.length === 0) throw notFound();
    request.visit.allowing = allowing;
  });
}

/**
 * Looks again at whether the person works for the service in a role that the page demands, before an act whose effects are
 * not in the transaction that writes it down.
 */
export async function demandStaffStill(
  deps: Pick<DashboardDeps, 'persons'>,
  { visit: { person, allowing } }: FastifyRequest,
): Promise<void> {
  const roles = await deps.persons.staffRoles(person.id);
  if (!roles.some((role) => allowing.includes(role))) throw notFound();
}

/** No person works for the service on an organisation of their own. */
export function isMemberOf({ visit }: FastifyRequest, orgId: string): boolean {
  return visit.memberships.some((membership) => membership.orgId === orgId);
}

/** Why a person who works for the service does not act on this organisation; undefined where they may. */
export function whyNot(request: FastifyRequest, orgId: string): string | undefined {
  return isMemberOf(request, orgId) ? OWN_ORGANISATION : undefined;
}

/** @throws PageError 403 when a member's role does not allow it */
export function demandRight(membership: Membership, act: Act): void {
  if (may(membership, act)) return;
  const { role, orgState } = membership;
  // What an owner may not do either is for the state to say.
  const isState = !may({ role: 'owner', orgState }, act);
  if (isState) {
    throw new PageError(
      403,
      `The organisation is ${orgState.replace('_', ' ')}`,
      `Nothing was done: until that changes, no one can ${act}.`,
    );
  }
  throw new PageError(
    403,
    'Your role does not allow this',
    `You are ${role} of this organisation, and cannot ${act}. An owner can change your role.`,
  );
}

/** The person, as the audit log names who acted. */
export function actorOf(request: FastifyRequest): Actor {
  const { visit, membership, ip } = request;
  const { id, name } = visit.person;
  const user: Actor = { kind: 'user', id, name, address: ip };
  return isOfOrganisation(request) ? { ...user, allowedBy: { member: membership.role } } : user;
}

/** The person in the work for the service. */
export function staffActorOf(request: FastifyRequest): Actor {
  return { ...actorOf(request), kind: 'operator', allowedBy: { staff: request.visit.allowing } };
}

/** Requests of other pages have no organisation, although by their type they may. */
function isOfOrganisation(request: { membership?: Membership | null }): boolean {
  return (request.membership ?? null) !== null;
}

/** What a page of a person who is signed in is drawn with. */
async function frameOf(deps: DashboardDeps, request: FastifyRequest): Promise<Frame> {
  const { visit } = request;
  const { formToken } = await deps.signIn();
  const membership = isOfOrganisation(request) ? request.membership : undefined;
  return {
    assets: ASSETS.addresses,
    person: visit.person,
    formToken: formToken(`session ${visit.session.id}`),
    memberships: visit.memberships,
    staff: visit.staff,
    membership,
    unread:
      membership === undefined
        ? 0
        : await deps.notifications.unread({
            orgId: membership.orgId,
            personId: visit.person.id,
          }),
    supportEmail: deps.supportEmail,
    address: `${new URL(deps.publicUrl).origin}${request.url.split('?', 1)[0]}`,
    now: deps.now(),
  };
}

/** A page of a person who is signed in, before its frame is known. */
export interface FramedPage extends Omit<PageParts, 'body'> {
  body: (frame: Frame) => Html;
  status?: number;
  /** A secret is shown on it, beside which words of a caller may stand. */
  showsSecret?: boolean;
}

/** Sends a page of a person who is signed in. */
export async function sendFramed(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  { status, showsSecret = false, ...page }: FramedPage,
): Promise<FastifyReply> {
  if (showsSecret) leaveUncompressed(reply);
  return sendPage(reply, await inFrame(deps, request, page), status);
}

/** Draws a page of a person who is signed in. */
export async function inFrame(
  deps: DashboardDeps,
  request: FastifyRequest,
  { body, ...parts }: Omit<FramedPage, 'status' | 'showsSecret'>,
): Promise<Html> {
  const frame = await frameOf(deps, request);
  return framed(frame, { ...parts, body: body(frame) });
}

/**
 * The address to go on to after signing in: a page of the dashboard, never another site nor what leads there, and without a key
 * that was typed into it: addresses stay in histories and logs.
 */
export function placeToGo(to: string): string {
  const place = withoutKeys(to);
  if (!/^\/dashboard(\/[\w.~-]+)*(\?[\w.~=&%-]*)?$/.test(place)) return '/dashboard';
  const { pathname } = new URL(place, 'http://localhost');
  return pathname.startsWith('/dashboard') && !LEADS_ON.test(pathname) ? place : '/dashboard';
}

/** Pages of the dashboard that lead on to another site: the issuer of an organisation, which any may name. */
const LEADS_ON = /^\/dashboard\/sso\/[^/]+\/./;

/** The address of a page that leads on to one with a key in it, without that key; undefined where it has none. */
function withoutKeyToGo(request: FastifyRequest): string | undefined {
  const to = askedFor(request, 'to');
  const place = withoutKeys(to);
  if (place === to) return undefined;
  const [path, query] = request.url.split('?', 2);
  const asked = new URLSearchParams(query);
  asked.set('to', place);
  return `${path}?${asked.toString()}`;
}
