import type { FastifyReply } from 'fastify';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import type { DashboardDeps } from './deps.ts';
import {
  CONFIRMING_FIELD,
  ConfirmationNeeded,
  type Form,
  PASSKEY_FIELD,
  type Proof,
} from './forms.ts';
import { type Exchange, sessionForm, visitorOf } from './guard.ts';

/** For so long after it has shown a password or a code, a session creates, grants and restores: a few acts in a row, and no lunch. */
const CONFIRMED_MS = 10 * 60_000;
const CONFIRMED = /(?:^|; )docket_confirmed=([\w-]+)(?:;|$)/;

/** An open session must not be a way to try out passwords. */
const PASSWORDS: Attempts = { burst: 8, intervalMs: 60_000 };

/** Counts that somebody who is signed in tries a password; false when they have tried too many. */
export async function mayTryPassword(deps: DashboardDeps, personId: string): Promise<boolean> {
  return (await deps.takeAttempt(`password of ${personId}`, PASSWORDS)) === 0;
}

/**
 * Takes a form that creates, grants or restores: its person has signed in or shown the password (a code, with a second factor; or a passkey) just now, or is asked
 * for it first. What takes away never asks: whoever finds a key leaked has no time.
 * @throws ConfirmationNeeded when the password is to be asked for
 */
export async function confirmedForm(
  deps: DashboardDeps,
  [request, reply]: Exchange,
): Promise<Form> {
  const form = await sessionForm(deps, request);
  const { person, session } = request.visit;
  const subject = subjectOf(session.id);
  const now = deps.now();
  const isOwn = session.organisation === null;
  // An issuer lets somebody in again without asking them anything; when it has asked, it says so.
  if (isOwn && now - session.since < CONFIRMED_MS) return form;
  const sealed = CONFIRMED.exec(request.headers.cookie ?? '')?.[1];
  if (sealed !== undefined && Number(deps.flash.open(subject, sealed)) > now) return form;
  const { hasSecondFactor } = request.visit;
  const asks: Proof = !isOwn ? 'single sign-on' : hasSecondFactor ? 'code' : 'password';
  const takesPasskey = isOwn && (await deps.passkeys.of(person.id)).length > 0;
  const ask = (problem?: string) => new ConfirmationNeeded(form, asks, takesPasskey, problem);
  const [shown, passkey] = [form.exact(CONFIRMING_FIELD), form.exact(PASSKEY_FIELD)];
  if (shown === '' && passkey === '') throw ask();
  if (!isOwn) throw ask('You have not confirmed it there yet.');
  if (!(await mayTryPassword(deps, person.id))) throw ask('Too many attempts. Wait a minute.');
  if (passkey !== '') {
    const ceremony = await deps.ceremony(request.host);
    if ((await ceremony?.shown(`session ${session.id}`, passkey)) !== person.id) {
      throw ask('The passkey is not yours here, or came too late. Nothing was done.');
    }
    confirm(deps, reply, session.id);
    return form;
  }
  const door = await deps.door();
  const isRight = hasSecondFactor
    ? await door.isCode(shown, visitorOf(request))
    : await door.isPassword(shown, visitorOf(request));
  if (!isRight) {
    const problem = hasSecondFactor ? 'The code is wrong, or was used' : 'The password is wrong';
    throw ask(`${problem}. Nothing was done.`);
  }
  confirm(deps, reply, session.id);
  return form;
}

const subjectOf = (sessionId: string): string => `confirmed ${sessionId}`;

/** Lets a session create, grant and restore for some minutes: its person has just shown that it is they, at the time `since`. */
export function confirm(
  deps: DashboardDeps,
  reply: FastifyReply,
  sessionId: string,
  since = deps.now(),
): void {
  const until = since + CONFIRMED_MS;
  const value = deps.flash.seal(subjectOf(sessionId), String(until));
  const maxAge = Math.max(0, Math.ceil((until - deps.now()) / 1_000));
  const secure = deps.publicUrl.startsWith('https:') ? '; Secure' : '';
  void reply.header(
    'set-cookie',
    `docket_confirmed=${value}; Path=/dashboard; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`,
  );
}
