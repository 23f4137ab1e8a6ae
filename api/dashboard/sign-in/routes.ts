import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Html } from '#api/html.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { withoutNote } from '#shared/kernel/mail-address.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import { checkPerson, emailTyped } from '#shared/persons/checks.ts';
import { invitedLetter } from '#shared/persons/letters.ts';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import type { Person } from '#shared/persons/roles.ts';
import { ASSETS } from '../../front/assets.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor, doneOf } from '../forms.ts';
import {
  type PageExchange,
  placeToGo,
  seeOther,
  sendPage,
  SESSION,
  visitorForm,
  visitorOf,
  visitorToken,
} from '../guard.ts';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { isPasswordLength, PASSWORD_LENGTH_MIN, PASSWORD_RULE } from '../session/password-rule.ts';
import {
  codePage,
  confirmPage,
  type SignInStep,
  forgotPage,
  resetPage,
  signInPage,
  signUpPage,
} from './page.ts';
import { TOO_MANY_ATTEMPTS } from '../session/confirmation.ts';
import { unframed } from '../parts/layout.ts';
import { passkeySignIn } from '../session/passkey-routes.ts';

/** What one address tries with one e-mail address: some slips of the keyboard, then one a minute. */
const OF_PAIR: Attempts = { burst: 8, intervalMs: MINUTE_MS };
/** What all visitors try with one e-mail address. High, because a stranger who knows the address could shut its owner out. */
const OF_EMAIL: Attempts = { burst: 100, intervalMs: 30_000 };
/** What one address tries with any. */
const OF_ADDRESS: Attempts = { burst: 40, intervalMs: 15_000 };
/** E-mails that are asked for: to one person, to all addresses that differ in a note behind a `+`, and by one address. */
const LETTERS_TO: Attempts = { burst: 3, intervalMs: 10 * MINUTE_MS };
const LETTERS_INTO: Attempts = { burst: 10, intervalMs: 10 * MINUTE_MS };
const LETTERS_BY: Attempts = { burst: 10, intervalMs: MINUTE_MS };

/** Pages of those who are not signed in: the way in, and what letters lead to. */
export function signInRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  passwordSignIn(app, deps);
  passkeySignIn(app, deps);
  signUp(app, deps);
  passwords(app, deps);
  confirmation(app, deps);
}

/** Draws a page for who is not signed in, with the token that its form brings back. */
async function draw<Step extends SignInStep>(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  title: string,
  page: (step: Step) => Html,
  step: Omit<Step, 'formToken'>,
  status = 200,
): Promise<FastifyReply> {
  const formToken = await visitorToken(deps, request, reply);
  const body = page({ ...step, formToken } as Step);
  return sendPage(reply, unframed(ASSETS.addresses, title, body), status);
}

/** The name under which attempts are counted: long addresses and strange ones are as good as any. */
function nameOf(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts));
}

function passwordSignIn(app: FastifyInstance, deps: DashboardDeps): void {
  const title = 'Sign in';
  app.get('/sign-in', SESSION, async (request, reply) => {
    const to = placeToGo(askedFor(request, 'to'));
    const signedIn = (await (await deps.signIn()).session(visitorOf(request)))?.person;
    // Who came by an e-mail is told what it did, and the session that is open here may be another person's.
    if (signedIn !== undefined && !LETTERS_DO.has(askedFor(request, 'done')))
      return seeOther(reply, to);
    const step = { to, signedIn, ...doneOf(request, DONE) };
    return draw(deps, [request, reply], title, signInPage, step);
  });
  app.post('/sign-in', SESSION, async (request, reply) => {
    const form = await visitorForm(deps, request);
    const [email, to] = [emailTyped(form.text('email')), placeToGo(form.text('to'))];
    const again = (problem: string, status: number): Promise<FastifyReply> =>
      draw(deps, [request, reply], title, signInPage, { to, email, problem }, status);
    const allowed = await deps.takeAttempts([
      [nameOf('sign-in', callerNetwork(request.ip), email), OF_PAIR],
      [nameOf('sign-in', callerNetwork(request.ip)), OF_ADDRESS],
      [nameOf('sign-in of', email), OF_EMAIL],
    ]);
    if (!allowed) {
      return again('Too many attempts. Wait a minute, or choose a new password.', 429);
    }
    const opened = await (
      await deps.signIn()
    ).signIn(email, form.exact('password'), visitorOf(request));
    if (opened === 'refused') return again('The e-mail address or the password is wrong.', 401);
    if (opened === 'unconfirmed') {
      const problem = 'Confirm your e-mail address first: an e-mail with a link is on its way.';
      return again(problem + (await lateness(deps)), 403);
    }
    void reply.header('set-cookie', opened.cookies);
    return seeOther(
      reply,
      opened.needsCode ? `/dashboard/sign-in/code?to=${encodeURIComponent(to)}` : to,
    );
  });
  app.get('/sign-in/code', SESSION, (request, reply) => {
    const to = placeToGo(askedFor(request, 'to'));
    return draw(deps, [request, reply], title, codePage, { to });
  });
  app.post('/sign-in/code', SESSION, async (request, reply) => {
    const form = await visitorForm(deps, request);
    const to = placeToGo(form.text('to'));
    const again = (problem: string, status: number): Promise<FastifyReply> =>
      draw(deps, [request, reply], title, codePage, { to, problem }, status);
    if ((await deps.takeAttempt(nameOf('code', callerNetwork(request.ip)), OF_ADDRESS)) > 0) {
      return again(TOO_MANY_ATTEMPTS, 429);
    }
    const opened = await (
      await deps.signIn()
    ).signInWithCode(form.text('code'), visitorOf(request));
    if (opened === 'refused') {
      return again(
        'The code is wrong, was already used, or came too late; if it was too late, start again.',
        401,
      );
    }
    if (opened === 'too many') {
      const problem =
        'Too many codes from your app were tried, so only one an hour is accepted now. Use a recovery code or a passkey.';
      return again(problem, 429);
    }
    void reply.header('set-cookie', opened.cookies);
    return seeOther(reply, to);
  });
}

function signUp(app: FastifyInstance, deps: DashboardDeps): void {
  const title = 'Sign up';
  app.get('/sign-up', SESSION, (request, reply) =>
    draw(deps, [request, reply], title, signUpPage, {}),
  );
  app.post('/sign-up', SESSION, async (request, reply) => {
    const form = await visitorForm(deps, request);
    const typed = { name: form.text('name'), email: form.text('email') };
    try {
      const who = checkPerson(typed);
      const allowed = await mayWrite(deps, request, who.email);
      // The answer waits for nothing: how long it takes would tell whether the address is known.
      if (allowed) welcome(deps, who).catch(deps.onError);
    } catch (error) {
      if (!(error instanceof Fault) || error.status >= 500) throw error;
      const problem = error.message;
      return draw(deps, [request, reply], title, signUpPage, { ...typed, problem }, 400);
    }
    const done = `An e-mail with a link is on its way to ${typed.email}. It works for an hour; look in your spam folder too.${await lateness(deps)}`;
    return draw(deps, [request, reply], title, signUpPage, { ...typed, done });
  });
}

async function welcome(deps: DashboardDeps, who: Pick<Person, 'name' | 'email'>): Promise<void> {
  await deps.persons.signUp(who);
  await (await deps.signIn()).sendReset(who.email);
}

/** A link to a person who can sign in with this address; who is invited and has not signed up is told how. */
async function letIn(
  { signIn, persons, teams, publicUrl }: DashboardDeps,
  email: string,
): Promise<void> {
  if ((await persons.find(email)) !== undefined) return (await signIn()).sendReset(email);
  if ((await teams.invitationsFor({ email })).length === 0) return;
  const link = `${new URL(publicUrl).origin}/dashboard/sign-up`;
  await persons.sendLetter(invitedLetter(email, link));
}

/** Whether one more letter may be sent to this address, by the one who asks. */
function mayWrite(deps: DashboardDeps, { ip }: FastifyRequest, email: string): Promise<boolean> {
  const plainAddress = withoutNote(email);
  return deps.takeAttempts([
    [nameOf('letters by', callerNetwork(ip)), LETTERS_BY],
    [nameOf('letters to', email), LETTERS_TO],
    // The address without a note is not counted with these: with them its owner could be kept from a letter.
    ...(plainAddress === undefined
      ? []
      : [[nameOf('letters into', plainAddress), LETTERS_INTO] as const]),
  ]);
}

/** What a person who waits for an e-mail is told while none can be sent. Whose e-mails wait is not said. */
async function lateness({ unsentLetters }: DashboardDeps): Promise<string> {
  return (await unsentLetters.areLate())
    ? ' E-mails are delayed: our mail server is not accepting any at the moment. They will be sent as soon as it does.'
    : '';
}

const DONE: Readonly<Record<string, string>> = {
  password: 'Your password is set. Sign in with it.',
  confirmed: 'Your address is confirmed. Sign in.',
  out: 'You are signed out.',
  ended: 'Your session has ended. Sign in to continue.',
};

/** What is done by the links of e-mails. */
const LETTERS_DO: ReadonlySet<string> = new Set(['password', 'confirmed']);

function passwords(app: FastifyInstance, deps: DashboardDeps): void {
  const title = 'Choose a password';
  app.get('/password/forgot', SESSION, (request, reply) =>
    draw(deps, [request, reply], title, forgotPage, {}),
  );
  app.post('/password/forgot', SESSION, async (request, reply) => {
    const form = await visitorForm(deps, request);
    const email = emailTyped(form.text('email'));
    const allowed = await mayWrite(deps, request, email);
    // The answer does not wait for the e-mail: how long it takes would tell whether there is such a person.
    if (allowed) letIn(deps, email).catch(deps.onError);
    const done = `If this address can sign in, or has been invited, an e-mail with a link is on its way to it.${await lateness(deps)}`;
    return draw(deps, [request, reply], title, forgotPage, { email, done });
  });
  app.get('/password/reset', SESSION, (request, reply) => {
    const token = askedFor(request, 'token');
    const step = { token, lengthMin: PASSWORD_LENGTH_MIN };
    return draw(deps, [request, reply], title, resetPage, step);
  });
  app.post('/password/reset', SESSION, async (request, reply) => {
    const form = await visitorForm(deps, request);
    const token = form.text('token');
    const password = form.exact('password');
    const signIn = await deps.signIn();
    const isSet = await signIn.resetPassword(token, password, visitorOf(request));
    if (isSet) return seeOther(reply, '/dashboard/sign-in?done=password');
    if (isPasswordLength(password)) {
      const problem = 'This link has been used or has expired. Ask for a new one.';
      return draw(deps, [request, reply], title, forgotPage, { problem }, 400);
    }
    const step = { token, lengthMin: PASSWORD_LENGTH_MIN, problem: PASSWORD_RULE };
    return draw(deps, [request, reply], title, resetPage, step, 400);
  });
}

/** By a button: programs that look at links in letters would confirm what no person has read. */
function confirmation(app: FastifyInstance, deps: DashboardDeps): void {
  const title = 'Confirm your e-mail address';
  app.get('/e-mail/confirm', SESSION, (request, reply) => {
    const token = askedFor(request, 'token');
    return draw(deps, [request, reply], title, confirmPage, { token, path: 'e-mail' as const });
  });
  app.post('/e-mail/confirm', SESSION, async (request, reply) => {
    const token = (await visitorForm(deps, request)).text('token');
    if (await (await deps.signIn()).confirmEmail(token)) {
      return seeOther(reply, '/dashboard/sign-in?done=confirmed');
    }
    const step = { token, problem: 'This link has expired. Sign in, and we will send a new one.' };
    return draw(
      deps,
      [request, reply],
      title,
      confirmPage,
      { ...step, path: 'e-mail' as const },
      400,
    );
  });
  // Of a contact, who need not be a person here.
  const contacts = { path: 'contacts' } as const;
  app.get('/contacts/confirm', SESSION, (request, reply) => {
    const token = askedFor(request, 'token');
    return draw(deps, [request, reply], title, confirmPage, { token, ...contacts });
  });
  app.post('/contacts/confirm', SESSION, async (request, reply) => {
    const token = (await visitorForm(deps, request)).text('token');
    const isKnown = await deps.accounts.confirmContact(token);
    const told = isKnown
      ? { done: 'Address confirmed. E-mails about the organisation will come to it.' }
      : { problem: 'This link is not valid. Copy all of it from the e-mail.' };
    const step = { token, ...contacts, ...told };
    return draw(deps, [request, reply], title, confirmPage, step, isKnown ? 200 : 400);
  });
}
