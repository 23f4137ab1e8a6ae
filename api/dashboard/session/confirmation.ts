import type { FastifyRequest } from 'fastify';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import { CONFIRMED_MS } from '#shared/persons/sessions.ts';
import { HOUR_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import type { DashboardDeps } from '../deps.ts';
import {
  CONFIRMING_FIELD,
  ConfirmationNeeded,
  type Form,
  PASSKEY_FIELD,
  type Proof,
} from '../forms.ts';
import { sessionForm, visitorOf } from '../guard.ts';
import { PageError } from '../page-error.ts';

/** An open session must not be a way to try out passwords. */
const PASSWORDS: Attempts = { burst: 8, intervalMs: MINUTE_MS };

/**
 * Wrong codes of one person in open sessions, as many as at sign-in: by one a minute one of three in a million would be found
 * within a year. Those that are right count for nothing, so that acts all day are confirmed.
 */
const WRONG_CODES: Attempts = { burst: 20, intervalMs: HOUR_MS };

/** What a person reads whose tries are counted by the minute. */
export const TOO_MANY_ATTEMPTS = 'Too many attempts. Wait a minute.';

/** Of a proof that another act of the same person has overtaken. */
const COUNTS_NO_MORE =
  'Nothing was done: meanwhile this session has ended, or an app or a passkey was added to your account. Try again.';

/** Counts that a person who is signed in tries a password; false when they have tried too many. */
export async function mayTryPassword(deps: DashboardDeps, personId: string): Promise<boolean> {
  return (await deps.takeAttempt(`password of ${personId}`, PASSWORDS)) === 0;
}

/**
 * Notes that a code of a person who is signed in was wrong. Who has tried too many is signed out: signing in asks for one too.
 * @throws PageError when they have
 */
export async function noteWrongCode(deps: DashboardDeps, request: FastifyRequest): Promise<void> {
  const name = `wrong codes of ${request.visit.person.id}`;
  if ((await deps.takeAttempt(name, WRONG_CODES)) === 0) return;
  await (await deps.signIn()).signOut(visitorOf(request));
  throw new PageError(
    401,
    'You are signed out',
    'Too many wrong codes. Nothing was done. Sign in again, with a recovery code or a passkey if you have lost your app.',
  );
}

/**
 * Takes a form that creates, grants or restores, or changes what its person signs in with: they have just shown the strongest
 * proof that they have (a passkey or a code; a password where they have neither), or are asked for it first. What takes away
 * from others never asks: a person who finds a key leaked has no time.
 * @throws ConfirmationNeeded when the proof is to be asked for
 */
export async function confirmedForm(deps: DashboardDeps, request: FastifyRequest): Promise<Form> {
  const form = await sessionForm(deps, request);
  const { person, session } = request.visit;
  if (session.confirmedAt !== null && deps.now() - session.confirmedAt < CONFIRMED_MS) return form;
  const isOwn = session.organisation === null;
  const ask = (problem?: string) => askedOf(request, form, problem);
  const { asks } = ask();
  // A form that has a field for the password anyway is not followed by another one.
  const inForm = asks === 'password' ? form.exact('current') : '';
  const [shown, passkey] = [form.exact(CONFIRMING_FIELD) || inForm, form.exact(PASSKEY_FIELD)];
  if (shown === '' && passkey === '') throw ask();
  if (!isOwn) throw ask('You have not confirmed it there yet.');
  if (!(await mayTryPassword(deps, person.id))) throw ask(TOO_MANY_ATTEMPTS);
  const signIn = await deps.signIn();
  if (passkey !== '') {
    const ceremony = await deps.ceremony(request.host);
    if ((await ceremony?.shown(`session ${session.id}`, passkey))?.personId !== person.id) {
      throw ask(
        'This passkey does not belong to your account, or it came too late. Nothing was done.',
      );
    }
    if (!(await signIn.confirm(request.visit, 'passkey'))) throw ask(COUNTS_NO_MORE);
    return form;
  }
  if (asks === 'passkey') throw ask('A password is not enough for this. Nothing was done.');
  const isRight =
    asks === 'code'
      ? await signIn.isCode(shown, visitorOf(request))
      : await signIn.isPassword(shown, visitorOf(request));
  if (!isRight) {
    if (asks === 'code') await noteWrongCode(deps, request);
    const problem =
      asks === 'code' ? 'The code is wrong, or was already used' : 'The password is wrong';
    throw ask(`${problem}. Nothing was done.`);
  }
  if (!(await signIn.confirm(request.visit, asks))) throw ask(COUNTS_NO_MORE);
  return form;
}

/** The question to the person of a session for the strongest proof that they have; `form` is kept, and sent again with it. */
export function askedOf(
  { visit: { session, hasSecondFactor, hasPasskey } }: FastifyRequest,
  form: Form,
  problem?: string,
): ConfirmationNeeded {
  const isOwn = session.organisation === null;
  const asks = asksFor(isOwn, hasSecondFactor, hasPasskey);
  return new ConfirmationNeeded(form, asks, isOwn && hasPasskey, problem);
}

function asksFor(isOwn: boolean, hasSecondFactor: boolean, hasPasskey: boolean): Proof {
  // An issuer lets a person in again without asking them anything; when it has asked, it says so.
  if (!isOwn) return 'single sign-on';
  if (hasSecondFactor) return 'code';
  return hasPasskey ? 'passkey' : 'password';
}
