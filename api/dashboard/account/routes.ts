import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from '#api/html.ts';
import {
  askedOf,
  confirmedForm,
  mayTryPassword,
  noteWrongCode,
  TOO_MANY_ATTEMPTS,
} from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor, doneOf, Form } from '../forms.ts';
import {
  type PageExchange,
  placeToGo,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
  visitorOf,
} from '../guard.ts';
import { isPasswordLength, PASSWORD_LENGTH_MIN, PASSWORD_RULE } from '../session/password-rule.ts';
import { accountPage, type BegunSecondFactor, secondFactorPage, setUpPage } from './page.ts';
import { passkeyRoutes } from '../session/passkey-routes.ts';

const DONE: Readonly<Record<string, string>> = {
  ended: 'Session ended.',
  others: 'All other sessions have ended.',
  on: 'From now on, signing in asks for a code from your app.',
  passkey: 'Passkey added. You can now sign in with it.',
  'no-passkey': 'Passkey removed. It no longer signs you in.',
  off: 'Signing in now asks for your password only. Your recovery codes are deleted.',
  password: 'Your password was changed, and all other sessions have ended.',
};

/** Whether it still is so: a page is opened again after the act was undone, and an address is written by anyone. */
const stands = ({ visit: { hasSecondFactor, hasPasskey } }: FastifyRequest, done: string) =>
  done === 'on'
    ? hasSecondFactor
    : done === 'off'
      ? !hasSecondFactor
      : done !== 'passkey' || hasPasskey;

/** A person's own page, and what a session by an issuer may do there too. */
export function accountPageRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/account', SESSION, (request, reply) =>
    showAccount(
      deps,
      [request, reply],
      doneOf(request, DONE, (done) => stands(request, done)),
    ),
  );
  app.post('/account/sessions/end', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    await (
      await deps.signIn()
    ).endSession(form.text('session'), visitorOf(request), request.visit.session);
    return seeOther(reply, '/dashboard/account?done=ended');
  });
  app.post('/sign-out', SESSION, async (request, reply) => {
    await sessionForm(deps, request);
    const { organisation } = request.visit.session;
    void reply.header('set-cookie', await (await deps.signIn()).signOut(visitorOf(request)));
    return seeOther(
      reply,
      organisation === null
        ? '/dashboard/sign-in?done=out'
        : `/dashboard/sso/${organisation}?done=out`,
    );
  });
}

async function showAccount(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  told: { problem?: string; done?: string },
  status = 200,
): Promise<FastifyReply> {
  const { visit } = request;
  const [sessions, passkeys] = await Promise.all([
    (await deps.signIn()).sessions(visitorOf(request), visit.session),
    deps.passkeys.of(visit.person.id),
  ]);
  const parts = {
    sessions,
    passkeys,
    current: visit.session,
    passwordLengthMin: PASSWORD_LENGTH_MIN,
    hasSecondFactor: visit.hasSecondFactor,
    ...told,
  };
  return sendFramed(deps, [request, reply], {
    title: 'Your account',
    status,
    body: (frame) => accountPage(frame, parts),
  });
}

/** What a person signs in with: for sessions of the person's own, and not for those that an issuer has opened. */
export function credentialRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const show: Show = (request, reply, told, status) =>
    showAccount(deps, [request, reply], told, status);
  app.post('/account/sessions/end-others', SESSION, async (request, reply) => {
    await sessionForm(deps, request);
    await (await deps.signIn()).endOtherSessions(visitorOf(request));
    return seeOther(reply, '/dashboard/account?done=others');
  });
  app.post('/account/password', SESSION, async (request, reply) => {
    const form = await confirmedForm(deps, request);
    const { person } = request.visit;
    if (!(await mayTryPassword(deps, person.id))) {
      return show(request, reply, { problem: TOO_MANY_ATTEMPTS }, 429);
    }
    const password = form.exact('password');
    const changed = await (
      await deps.signIn()
    ).changePassword(form.exact('current'), password, visitorOf(request));
    if (changed === null) {
      const why = isPasswordLength(password) ? 'The current password is wrong.' : PASSWORD_RULE;
      return show(request, reply, { problem: `${why} Nothing was changed.` }, 400);
    }
    void reply.header('set-cookie', changed.cookies);
    return seeOther(reply, '/dashboard/account?done=password');
  });
  secondFactorRoutes(app, deps, show);
  passkeyRoutes(app, deps, show);
  requiredRoutes(app, deps);
}

/** Where a session is led that lacks what an organisation requires for its pages, and from where it goes on to them. */
function requiredRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/account/second-factor', SESSION, async (request, reply) => {
    const to = placeToGo(askedFor(request, 'to'));
    const { hasSecondFactor, hasPasskey } = request.visit;
    if (hasSecondFactor || hasPasskey) return seeOther(reply, to);
    return showSetUp(deps, [request, reply], { to });
  });
  app.get('/account/confirm', SESSION, async (request, reply) => {
    const to = placeToGo(askedFor(request, 'to'));
    const { session } = request.visit;
    if (session.confirmedAt !== null) return seeOther(reply, to);
    const form = (await deps.signIn()).formToken(`session ${session.id}`);
    throw askedOf(request, new Form(new URLSearchParams({ form, to })));
  });
  app.post('/account/confirm', SESSION, async (request, reply) => {
    const form = await confirmedForm(deps, request);
    return seeOther(reply, placeToGo(form.text('to')));
  });
}

function showSetUp(
  deps: DashboardDeps,
  exchange: PageExchange,
  parts: Parameters<typeof setUpPage>[1],
  status = 200,
): Promise<FastifyReply> {
  return sendFramed(deps, exchange, {
    title: 'Set up a second factor',
    status,
    body: (frame) => setUpPage(frame, parts),
  });
}

/** The place that a form goes on to when what it is about is done; undefined where it stays with the account. */
const placeAfter = (form: Form): string | undefined =>
  form.text('to') === '' ? undefined : placeToGo(form.text('to'));

/** Draws the account's page again, with what was refused. */
type Show = (
  request: FastifyRequest,
  reply: FastifyReply,
  told: { problem?: string },
  status: number,
) => Promise<FastifyReply>;

/** A code of an app at sign-in: begun with the password, on when one code has come, off with both. */
function secondFactorRoutes(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const draw = (
    request: FastifyRequest,
    reply: FastifyReply,
    parts: Parameters<typeof secondFactorPage>[1],
    status = 200,
  ): Promise<FastifyReply> =>
    sendFramed(deps, [request, reply], {
      title: 'Second factor',
      status,
      showsSecret: true,
      body: (frame) => secondFactorPage(frame, parts),
    });
  const subjectOf = ({ visit }: FastifyRequest): string => `second factor ${visit.session.id}`;
  const shownBefore = (sealed: string, request: FastifyRequest) => {
    const text = deps.flash.open(subjectOf(request), sealed);
    return text === null ? {} : { begun: JSON.parse(text) as BegunSecondFactor, sealed };
  };
  app.post('/account/second-factor/begin', SESSION, async (request, reply) => {
    const form = await confirmedForm(deps, request);
    const { person } = request.visit;
    const to = placeAfter(form);
    const again = (problem: string, status: number): Promise<FastifyReply> =>
      to === undefined
        ? show(request, reply, { problem }, status)
        : showSetUp(deps, [request, reply], { to, problem }, status);
    if (!(await mayTryPassword(deps, person.id))) return again(TOO_MANY_ATTEMPTS, 429);
    const signIn = await deps.signIn();
    const begun = await signIn.beginSecondFactor(form.exact('current'), visitorOf(request));
    if (begun === null) {
      return again('The password is wrong, or you already have a second factor.', 400);
    }
    return draw(request, reply, {
      begun,
      to,
      sealed: deps.flash.seal(subjectOf(request), JSON.stringify(begun)),
    });
  });
  app.post('/account/second-factor/confirm', SESSION, async (request, reply) => {
    await sessionForm(deps, request);
    const { person, hasSecondFactor } = request.visit;
    if (hasSecondFactor) return seeOther(reply, '/dashboard/account');
    // It may have been begun long ago, when its person had less to show than now.
    const form = await confirmedForm(deps, request);
    // A slip of the keyboard takes neither the QR code nor the recovery codes away.
    const to = placeAfter(form);
    const shown = { ...shownBefore(form.exact('begun'), request), to };
    if (!(await mayTryPassword(deps, person.id))) {
      return draw(request, reply, { ...shown, problem: TOO_MANY_ATTEMPTS }, 429);
    }
    const signIn = await deps.signIn();
    const on = await signIn.confirmSecondFactor(form.text('code'), visitorOf(request));
    if (on === null) {
      const problem = html`The code is wrong. Enter the code that your app shows now, or
        <a href="/dashboard/account">begin again</a> with another key.`;
      return draw(request, reply, { ...shown, problem }, 400);
    }
    void reply.header('set-cookie', on.cookies);
    return seeOther(reply, to ?? '/dashboard/account?done=on');
  });
  app.post('/account/second-factor/end', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const { person, hasSecondFactor } = request.visit;
    if (!hasSecondFactor) return seeOther(reply, '/dashboard/account');
    if (!(await mayTryPassword(deps, person.id))) {
      return show(request, reply, { problem: TOO_MANY_ATTEMPTS }, 429);
    }
    const signIn = await deps.signIn();
    const visitor = visitorOf(request);
    const isPassword = await signIn.isPassword(form.exact('current'), visitor);
    const isTheirs = isPassword && (await signIn.isCode(form.text('code'), visitor));
    if (isPassword && !isTheirs) await noteWrongCode(deps, request);
    const off = isTheirs ? await signIn.endSecondFactor(form.exact('current'), visitor) : null;
    if (off === null) {
      const problem = 'The password or the code is wrong. Nothing was changed.';
      return show(request, reply, { problem }, 400);
    }
    void reply.header('set-cookie', off.cookies);
    return seeOther(reply, '/dashboard/account?done=off');
  });
}
