import { html, type Html } from '#api/html.ts';
import type { Passkey } from '#shared/persons/postgres/passkeys.ts';
import type { Session } from '../session/sign-in.ts';
import { browserName } from './browser-name.ts';
import { passkeyButton } from '../sign-in/page.ts';
import { qrCode } from './qr-code.ts';
import { type Frame, homeOf, staffHome, token } from '../parts/layout.ts';
import { ACT, badge, copyable, field, moment, note, table, told } from '../parts/elements.ts';

export interface AccountParts {
  sessions: readonly Session[];
  current: Session;
  passwordLengthMin: number;
  hasSecondFactor: boolean;
  passkeys: readonly Passkey[];
  problem?: string;
  done?: string;
}

export function accountPage(frame: Frame, parts: AccountParts): Html {
  const { person, memberships, now } = frame;
  return html`<div class="head"><h1>Your account</h1></div>
    ${told(parts)}
    <dl class="facts">
      <dt>Name</dt>
      <dd>${person.name}</dd>
      <dt>E-mail</dt>
      <dd>${person.email}</dd>
      <dt>Id</dt>
      <dd><code>${person.id}</code></dd>
      <dt>Organisations</dt>
      <dd>
        ${memberships.length === 0 ? 'None' : undefined}
        ${memberships.map(
          (each) =>
            html`<a href="${homeOf(each)}">${each.orgName}</a> <span class="soft">${each.role}</span
              ><br />`,
        )}
        <a href="/dashboard/invitations">Invitations</a>
      </dd>
      ${
        frame.staff.length === 0
          ? undefined
          : html`<dt>Work for the service</dt>
              <dd>
                <a href="${staffHome(frame.staff)}">${frame.staff.join(', ')}</a>
              </dd>`
      }
    </dl>
    <section class="stack">
      <h2>Sessions</h2>
      <p class="soft prose">
        Where you are signed in. A session ends after twelve hours. If you do not recognise one, end
        it and choose a new password.
      </p>
      ${table(
        'Sessions',
        ['Browser', 'Address', 'Signed in', ACT],
        parts.sessions.map(
          (session) =>
            html`<tr>
              <td class="clip" title="${session.userAgent ?? ''}">
                ${session.userAgent === null ? 'unknown' : browserName(session.userAgent)}
              </td>
              <td class="nowrap" data-head="Address">${session.address ?? 'unknown'}</td>
              <td class="nowrap" data-head="Signed in">${moment(session.since, now)}</td>
              <td class="num">
                ${
                  session.id === parts.current.id
                    ? badge('good', 'This one')
                    : html`<form method="post" action="/dashboard/account/sessions/end">
                        ${token(frame)}
                        <input type="hidden" name="session" value="${session.id}" />
                        <button type="submit">End session</button>
                      </form>`
                }
              </td>
            </tr>`,
        ),
        'stacked',
      )}
      ${
        parts.sessions.length < 2 || parts.current.organisation !== null
          ? undefined
          : html`<form method="post" action="/dashboard/account/sessions/end-others">
              ${token(frame)}<button type="submit">End all other sessions</button>
            </form>`
      }
    </section>
    ${parts.current.organisation === null ? credentials(frame, parts) : OPENED_BY_ISSUER}`;
}

const OPENED_BY_ISSUER = note(
  'plain',
  'You are signed in by single sign-on, which opens this organisation only. To change your password or second factor, or to open another organisation, sign in with your password.',
);

/** What the person signs in with. */
function credentials(frame: Frame, parts: AccountParts): Html {
  return html`<section class="stack">
      <h2>Password</h2>
      <form class="form" method="post" action="/dashboard/account/password">
        ${token(frame)}
        ${field({ name: 'current', label: 'Current password', type: 'password', autocomplete: 'current-password', required: true })}
        ${field({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', required: true, minLength: parts.passwordLengthMin, help: `At least ${parts.passwordLengthMin} characters. Changing it ends all your other sessions.` })}
        <div><button type="submit">Change password</button></div>
      </form>
    </section>
    ${passkeySection(frame, parts)}
    <section class="stack">
      <h2>Second factor</h2>
      ${parts.hasSecondFactor ? endForm(frame) : beginForm(frame)}
    </section>`;
}

/** What a person is led to who has no second factor, and wants to open the pages of an organisation that requires one. */
export function setUpPage(frame: Frame, { to, problem }: { to: string; problem?: string }): Html {
  const asking = frame.memberships.filter(
    ({ asksSecondFactor, asksSingleSignOn }) => asksSecondFactor && !asksSingleSignOn,
  );
  return html`<div class="head">
      <p class="crumb"><a href="/dashboard/account">Your account</a></p>
      <h1>Set up a second factor</h1>
    </div>
    ${problem === undefined ? undefined : told({ problem })}
    ${
      asking.length === 0
        ? undefined
        : note(
            'plain',
            html`<p>
              ${asking.map(({ orgName }) => orgName).join(', ')}: members need a second factor in
              addition to the password. Set up an app or a passkey to open their pages. API keys are
              unaffected.
            </p>`,
          )
    }
    <section class="stack">
      <h2>By an app</h2>
      ${beginForm(frame, to)}
    </section>
    ${passkeySection(frame, { passkeys: [] }, to)}`;
}

/** Where to go when it is done, in place of the account's page. */
const toField = (to: string | undefined): Html | undefined =>
  to === undefined ? undefined : html`<input type="hidden" name="to" value="${to}" />`;

function passkeySection(
  frame: Frame,
  { passkeys }: Pick<AccountParts, 'passkeys'>,
  to?: string,
): Html {
  return html`<section class="stack">
    <h2>Passkeys</h2>
    <p class="soft prose">
      A passkey lives on your phone, your computer or a security key, which checks that it is you.
      It signs you in without a password or code, and confirms sensitive changes in their place.
    </p>
    ${
      passkeys.length === 0
        ? undefined
        : table(
            'Passkeys',
            ['Name', 'Added', 'Last used', ACT],
            passkeys.map(
              ({ id, name, createdAt, lastUsedAt }) =>
                html`<tr>
                  <th scope="row" class="clip">${name}</th>
                  <td class="nowrap" data-head="Added">${moment(createdAt, frame.now)}</td>
                  <td class="nowrap" data-head="Last used">
                    ${lastUsedAt === null ? html`<span class="soft">never</span>` : moment(lastUsedAt, frame.now)}
                  </td>
                  <td class="num">
                    <form method="post" action="/dashboard/account/passkeys/remove">
                      ${token(frame)}<input type="hidden" name="passkey" value="${id}" />
                      <button type="submit" aria-label="Remove ${name}">Remove</button>
                    </form>
                  </td>
                </tr>`,
            ),
            'stacked',
          )
    }
    <form class="form" method="post" action="/dashboard/account/passkeys" data-passkey-place>
      ${token(frame)}${toField(to)}<input type="hidden" name="passkey" value="" />
      ${field({ id: 'passkey-name', name: 'name', label: 'Name of the device', required: true, max: '100', help: 'So that you recognise it in this list.' })}
      <div>
        ${passkeyButton({ label: 'Add a passkey', address: '/dashboard/account/passkeys/new', field: 'passkey', makes: true })}
      </div>
    </form>
    <noscript><p class="soft">Adding a passkey needs JavaScript.</p></noscript>
  </section>`;
}

const PASSWORD_FIELD = {
  id: 'factor-password',
  name: 'current',
  label: 'Your password',
  type: 'password',
  autocomplete: 'current-password',
  required: true,
} as const;
const CODE_FIELD = {
  name: 'code',
  label: 'Code',
  autocomplete: 'one-time-code',
  required: true,
  max: '20',
} as const;

function beginForm(frame: Frame, to?: string): Html {
  return html`<p class="soft prose">
      With a second factor, your password alone is not enough to sign in: you also enter a code from
      an authenticator app on your phone.
    </p>
    <form class="form" method="post" action="/dashboard/account/second-factor/begin">
      ${token(frame)}${toField(to)} ${field(PASSWORD_FIELD)}
      <div><button type="submit">Set up an app</button></div>
    </form>`;
}

function endForm(frame: Frame): Html {
  return html`<p class="prose">${badge('good', 'On')} Signing in asks for a code from your app.</p>
    <form class="form" method="post" action="/dashboard/account/second-factor/end">
      ${token(frame)} ${field(PASSWORD_FIELD)} ${field(CODE_FIELD)}
      <div><button class="danger" type="submit">Turn it off</button></div>
    </form>`;
}

/** What is shown once, while a second factor is set up. */
export interface BegunSecondFactor {
  secret: string;
  uri: string;
  recoveryCodes: readonly string[];
}

interface SecondFactorParts {
  begun?: BegunSecondFactor;
  /** The same as the form brings it back, for when the code is wrong. */
  sealed?: string;
  /** Where to go when it is on. */
  to?: string | undefined;
  problem?: Html | string;
}

/** The secret for the app and the recovery codes, shown once, and the form for the first code. */
export function secondFactorPage(
  frame: Frame,
  { begun, sealed = '', to, problem }: SecondFactorParts,
): Html {
  return html`<div class="head">
      <p class="crumb"><a href="/dashboard/account">Your account</a></p>
      <h1>Second factor</h1>
    </div>
    ${problem === undefined ? undefined : told({ problem })}
    ${
      begun === undefined
        ? undefined
        : html`<section class="stack tight">
              <h2>Add the key to your app</h2>
              <p class="prose">
                Scan the code with the app on your phone. On the same device, or without a camera,
                add an account by hand: the name is ${frame.person.email}, the key is below, and the
                codes are by time.
              </p>
              ${qrCode(begun.uri, 'QR code of the key below')}
              <p>${copyable('totp-key', begun.secret)}</p>
            </section>
            <section class="stack tight">
              <h2>Keep the recovery codes</h2>
              <p class="prose">
                Each of them works once in place of the app. They are shown now and not again; who
                loses app and codes has to ask support.
              </p>
              <pre id="recovery-codes" tabindex="0">${begun.recoveryCodes.join('\n')}</pre>
              <div><button type="button" hidden data-copy="recovery-codes">Copy</button></div>
            </section>`
    }
    <section class="stack tight">
      <h2>Enter the code that the app shows</h2>
      <form class="form" method="post" action="/dashboard/account/second-factor/confirm">
        ${token(frame)}${toField(to)}<input type="hidden" name="begun" value="${sealed}" />
        ${field(CODE_FIELD)}
        <div><button class="primary" type="submit">Turn it on</button></div>
      </form>
    </section>`;
}
