import { html, type Html } from '#api/html.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import { CONFIRMED_MS } from '#shared/persons/sessions.ts';
import type { Person } from '#shared/persons/roles.ts';
import { ASKED_CHARS_MAX, PASSKEY_FIELD, type Proof } from '../forms.ts';
import { facts, field, supportLink, told, type Told } from '../parts/elements.ts';

const NOT_ASKED_AGAIN = `You will not be asked again for ${CONFIRMED_MS / MINUTE_MS} minutes.`;

/** What a form of those who are not signed in is drawn with. */
export interface SignInStep extends Told {
  formToken: string;
  /** Where to go after it. */
  to?: string;
  email?: string;
}

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}" />`;

/** The token of an e-mail, which may be a stranger's text. */
const tokenField = (token: string): Html => hidden('token', token.slice(0, ASKED_CHARS_MAX));

export function signInPage(step: SignInStep & { signedIn?: Person | undefined }): Html {
  const { signedIn } = step;
  return html`<div class="stack">
    <h1>Sign in</h1>
    ${told(step)}
    ${
      signedIn === undefined
        ? undefined
        : html`<p>
            You are signed in here as ${signedIn.name}, ${signedIn.email}.
            <a href="/dashboard">Go on to the dashboard</a>
          </p>`
    }
    <form class="form" method="post" action="/dashboard/sign-in">
      ${hidden('form', step.formToken)} ${hidden('to', step.to ?? '')}
      ${field({ name: 'email', label: 'E-mail', type: 'email', value: step.email ?? '', autocomplete: 'username', required: true, max: '254' })}
      ${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true })}
      <button class="primary" type="submit">Sign in</button>
    </form>
    <form class="form" method="post" action="/dashboard/sign-in/passkey" data-passkey-place>
      ${hidden('form', step.formToken)} ${hidden('to', step.to ?? '')} ${hidden('passkey', '')}
      ${passkeyButton({ label: 'Use a passkey', address: '/dashboard/sign-in/passkey', field: 'passkey' })}
    </form>
    <p><a href="/dashboard/sign-in/organisation">Single sign-on of your organisation</a></p>
    <p><a href="/dashboard/password/forgot">Choose a new password</a></p>
    <p>New here? <a href="/dashboard/sign-up">Sign up</a></p>
  </div>`;
}

/** Has the browser show a passkey, or make one, and send its answer with the form; nothing without a script. */
export function passkeyButton(parts: {
  label: string;
  /** Where the script asks what the browser is to be asked. */
  address: string;
  /** The field for the answer. */
  field: string;
  makes?: boolean;
}): Html {
  const { label, address, field: name, makes = false } = parts;
  return html`<button
      type="button"
      data-passkey="${address}"
      data-field="${name}"
      data-makes="${makes ? 'yes' : 'no'}"
    >
      ${label}
    </button>
    <p class="error" role="alert" data-passkey-said></p>`;
}

/** The second step of signing in. */
export function codePage(step: SignInStep): Html {
  return html`<div class="stack">
    <h1>Enter your code</h1>
    ${told(step)}
    <form class="form" method="post" action="/dashboard/sign-in/code">
      ${hidden('form', step.formToken)} ${hidden('to', step.to ?? '')}
      ${field({ name: 'code', label: 'Code', autocomplete: 'one-time-code', required: true, max: '20', help: 'The six digits that your app shows now, or one of your recovery codes, each of which works once.' })}
      <button class="primary" type="submit">Sign in</button>
    </form>
    <p><a href="/dashboard/sign-in">Begin again</a></p>
  </div>`;
}

/** Asks who a visitor is. The password is chosen by the e-mail's link, which shows that the address is theirs. */
export function signUpPage(step: SignInStep & { name?: string }): Html {
  return html`<div class="stack">
    <h1>Sign up</h1>
    ${told(step)}
    <form class="form" method="post" action="/dashboard/sign-up">
      ${hidden('form', step.formToken)}
      ${field({ name: 'name', label: 'Your name', value: step.name ?? '', autocomplete: 'name', required: true, max: '200' })}
      ${field({ name: 'email', label: 'E-mail at work', type: 'email', value: step.email ?? '', autocomplete: 'email', required: true, max: '254', help: 'We send a link to this address. Use it to choose a password and then apply for your organisation.' })}
      <button class="primary" type="submit">Send the link</button>
    </form>
    <p>Were you invited? Sign up with the address that the invitation was sent to.</p>
    <p>
      Were you given access, but have no password yet?
      <a href="/dashboard/password/forgot">Choose a password</a>
    </p>
    <p><a href="/dashboard/sign-in">Back to sign-in</a></p>
  </div>`;
}

export function forgotPage(step: SignInStep): Html {
  return html`<div class="stack">
    <h1>Choose a password</h1>
    ${told(step)}
    <form class="form" method="post" action="/dashboard/password/forgot">
      ${hidden('form', step.formToken)}
      ${field({ name: 'email', label: 'E-mail', type: 'email', value: step.email ?? '', autocomplete: 'username', required: true, max: '254', help: 'If this address can sign in, we send it a link, which works for an hour.' })}
      <button class="primary" type="submit">Send the link</button>
    </form>
    <p><a href="/dashboard/sign-in">Back to sign-in</a></p>
  </div>`;
}

export function resetPage(step: SignInStep & { token: string; lengthMin: number }): Html {
  return html`<div class="stack">
    <h1>Choose your password</h1>
    ${told(step)}
    <form class="form" method="post" action="/dashboard/password/reset">
      ${hidden('form', step.formToken)} ${tokenField(step.token)}
      ${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', required: true, minLength: step.lengthMin, help: `At least ${step.lengthMin} characters. You will be signed out everywhere else.` })}
      <button class="primary" type="submit">Set the password</button>
    </form>
  </div>`;
}

export function confirmPage(
  step: SignInStep & { token: string; path: 'e-mail' | 'contacts' },
): Html {
  return html`<div class="stack">
    <h1>Confirm your e-mail address</h1>
    ${told(step)}
    ${
      step.done === undefined
        ? html`<form class="form" method="post" action="/dashboard/${step.path}/confirm">
            ${hidden('form', step.formToken)} ${tokenField(step.token)}
            <button class="primary" type="submit">Confirm the address</button>
          </form>`
        : undefined
    }
  </div>`;
}

/** Asks a person who has signed in a while ago, or by less than they have, for a proof. What they have filled in comes along. */
export function confirmationPage(step: {
  address: string;
  fields: readonly (readonly [name: string, value: string])[];
  /** The name of the field for what is asked for. */
  asked: string;
  asks: Proof;
  problem: string | undefined;
  /** The organisation whose issuer is asked, for single sign-on. */
  organisation: string | null;
  takesPasskey: boolean;
  /** Whether a page is opened with it, and nothing was filled in. */
  isForPage: boolean;
}): Html {
  const { address, fields, asked, asks, problem, organisation, takesPasskey, isForPage } = step;
  return html`<div class="stack">
    <h1>Confirm that it is you</h1>
    ${problem === undefined ? undefined : told({ problem })}
    <p>
      ${
        isForPage
          ? `To open this page, confirm with your ${asks}.`
          : `You last confirmed it a while ago. What you entered is kept, and will be done once you confirm with your ${asks}.`
      }
    </p>
    <form class="form" method="post" action="${address}">
      ${fields.map(([name, value]) => hidden(name, value))}
      ${
        asks === 'single sign-on'
          ? html`${hidden(asked, 'done')}
              <p>
                <a
                  class="button"
                  href="/dashboard/sso/${organisation ?? ''}/start?again=1"
                  target="_blank"
                  >Confirm at your organisation (opens a new tab)</a
                >
              </p>
              <p class="help">Come back here then, and go on. ${NOT_ASKED_AGAIN}</p>`
          : asks === 'passkey'
            ? html`<p class="help">
                ${NOT_ASKED_AGAIN} If you have lost every passkey, write to support.
              </p>`
            : asks === 'code'
              ? field({
                  name: asked,
                  label: 'Code',
                  autocomplete: 'one-time-code',
                  required: true,
                  max: '20',
                  help: `The six digits that your app shows now, or a recovery code. ${NOT_ASKED_AGAIN}`,
                })
              : field({
                  name: asked,
                  label: 'Password',
                  type: 'password',
                  autocomplete: 'current-password',
                  required: true,
                  help: `${NOT_ASKED_AGAIN} Revoking never asks.`,
                })
      }
      ${asks === 'passkey' ? undefined : html`<button class="primary" type="submit">Go on</button>`}
      ${
        takesPasskey
          ? html`<div class="stack tight" data-passkey-place>
              ${hidden(PASSKEY_FIELD, '')}
              ${passkeyButton({ label: 'Use a passkey', address: '/dashboard/account/passkeys/shown', field: PASSKEY_FIELD })}
            </div>`
          : undefined
      }
    </form>
    <p><a href="${isForPage ? '/dashboard/account' : '/dashboard'}">Cancel</a></p>
  </div>`;
}

/** A form came when its session was over. What was typed is shown to be copied. */
export function endedPage(
  signIn: string,
  typed: readonly (readonly [name: string, value: string])[],
): Html {
  return html`<div class="stack">
    <h1>Your session has ended</h1>
    <p>Nothing was done. Sign in and send the form again.</p>
    ${
      typed.length === 0
        ? undefined
        : html`<p>What you had typed, to be copied:</p>
            ${facts(typed)}`
    }
    <p><a class="button primary" href="${signIn}">Sign in and go back</a></p>
  </div>`;
}

/** Something that is not there, not allowed, or has failed. */
export function errorPage({
  title,
  message,
  requestId,
  supportEmail,
}: {
  title: string;
  message: string;
  requestId: string;
  supportEmail: string | undefined;
}): Html {
  return html`<div class="stack">
    <h1>${title}</h1>
    <p>${message}</p>
    <p><a href="/dashboard">Go to the dashboard</a></p>
    <p class="soft small">
      Request <code>${requestId}</code>
      ${supportEmail && supportLink(supportEmail, { subject: title, lines: [`Request ${requestId}`] })}
    </p>
  </div>`;
}
