import { html, type Html } from '#api/html.ts';
import { may } from '#shared/persons/roles.ts';
import {
  PROVISIONED_ROLES,
  type SignInDomain,
  type SingleSignOn,
} from '#shared/persons/single-sign-on.ts';
import { type SignInStep, hidden } from '../sign-in/page.ts';
import { type Frame, token } from '../parts/layout.ts';
import { ACT, badge, copyable, field, moment, note, table, told } from '../parts/elements.ts';

/** Asks for the address, to find whose issuer it is. */
export function findOrganisationPage(step: SignInStep): Html {
  return html`<div class="stack">
    <h1>Single sign-on</h1>
    ${told(step)}
    <form class="form" method="post" action="/dashboard/sign-in/organisation">
      ${hidden('form', step.formToken)} ${hidden('to', step.to ?? '')}
      ${field({ name: 'email', label: 'E-mail at work', type: 'email', value: step.email ?? '', autocomplete: 'username', required: true, max: '254', help: 'Your organisation is found by the part after the @.' })}
      <button class="primary" type="submit">Find my organisation</button>
    </form>
    <p><a href="/dashboard/sign-in">Sign in with a password</a></p>
  </div>`;
}

/** Leads to the issuer of an organisation, and says where that is. */
export function issuerPage(parts: {
  orgId: string;
  orgName: string;
  issuer: string;
  to: string;
  email: string;
  hasLeft: boolean;
}): Html {
  const { orgId, orgName, issuer, to, email, hasLeft } = parts;
  const asked = new URLSearchParams({ to, ...(email === '' ? {} : { email }) }).toString();
  const { host } = new URL(issuer);
  return html`<div class="stack">
    <h1>Single sign-on</h1>
    ${hasLeft ? note('good', 'You are signed out here.') : undefined}
    <p>${orgName} signs its members in at <strong>${host}</strong>.</p>
    <p>
      <a class="button primary" href="/dashboard/sso/${orgId}/start?${asked}"
        >Continue to ${host}</a
      >
    </p>
    ${
      hasLeft
        ? html`<p>
            Your session there may be open still:
            <a href="/dashboard/sso/${orgId}/sign-out">sign out there too</a>.
          </p>`
        : undefined
    }
    <p><a href="/dashboard/sign-in">Sign in with a password</a></p>
  </div>`;
}

/** In a tab of its own, which was opened to show that it is the same person. */
export function confirmedPage(): Html {
  return html`<div class="stack">
    <h1>Confirmed</h1>
    <p>Close this tab and continue in the one you came from.</p>
  </div>`;
}

export interface SingleSignOnParts {
  settings: SingleSignOn | undefined;
  domains: readonly SignInDomain[];
  /** What the issuer is to be told of us. */
  redirectUri: string;
  /** Where members begin. */
  signInAt: string;
  supportEmail: string;
  problem?: string;
  done?: string;
  /** What was typed and not taken. */
  typed?: { issuer: string; clientId: string; domain: string };
}

/** The issuer of an organisation, its domains, and whether members may come in otherwise. */
export function singleSignOnPage(frame: Frame, parts: SingleSignOnParts): Html {
  const { settings } = parts;
  const sets = may(frame.membership!, 'set up single sign-on');
  return html`<div class="head">
      <p class="crumb"><a href="/dashboard/${frame.membership!.orgId}/team">Team</a></p>
      <h1>Single sign-on</h1>
      ${state(parts)}
    </div>
    ${told(parts)}
    <p class="prose">
      Members sign in with your own OpenID Connect issuer (Keycloak, Microsoft Entra ID, Okta,
      Google and others) instead of a password here. Anyone who signs in for the first time with an
      address in your domains becomes a member.
    </p>
    ${sets ? undefined : note('plain', 'Only owners can change this: a person who sets the issuer can sign in through it as anyone.')}
    ${domainsOf(frame, parts, sets)}
    ${sets ? issuerForm(frame, parts) : settings === undefined ? undefined : facts(frame, settings)}
    ${settings === undefined ? undefined : use(frame, parts, settings, sets)}`;
}

function state({ settings, domains }: SingleSignOnParts): Html {
  if (settings === undefined) return badge('plain', 'off');
  const isOpen = domains.some(({ confirmedAt }) => confirmedAt !== null);
  if (!isOpen) return badge('warn', 'waits for a domain');
  if (settings.required) return badge('good', 'required');
  return settings.workedAt === null ? badge('warn', 'not tried yet') : badge('good', 'on');
}

function base(frame: Frame): string {
  return `/dashboard/${frame.membership!.orgId}/single-sign-on`;
}

function domainsOf(
  frame: Frame,
  { domains, typed, supportEmail }: SingleSignOnParts,
  sets: boolean,
) {
  return html`<section class="stack tight">
    <h2>Your domains</h2>
    <p class="soft prose">
      Only addresses in confirmed domains can sign in. An operator of the service confirms that a
      domain is yours; write to <a href="mailto:${supportEmail}">${supportEmail}</a> if it takes
      longer than a working day.
    </p>
    ${
      domains.length === 0
        ? html`<p class="soft">None yet.</p>`
        : table(
            'Domains',
            ['Domain', 'State', ACT],
            domains.map(
              ({ domain, confirmedAt }) =>
                html`<tr>
                  <th scope="row" class="clip">${domain}</th>
                  <td>
                    ${confirmedAt === null ? badge('warn', 'waits for an operator') : badge('good', 'confirmed')}
                  </td>
                  <td class="num">
                    ${
                      sets
                        ? html`<form method="post" action="${base(frame)}/domains/remove">
                            ${token(frame)} ${hidden('domain', domain)}
                            <button type="submit" aria-label="Remove ${domain}">Remove</button>
                          </form>`
                        : undefined
                    }
                  </td>
                </tr>`,
            ),
          )
    }
    ${
      sets
        ? html`<form class="row end" method="post" action="${base(frame)}/domains">
            ${token(frame)}
            ${field({ name: 'domain', label: 'Domain of e-mail addresses', value: typed?.domain ?? '', required: true, max: '253' })}
            <button type="submit">Add domain</button>
          </form>`
        : undefined
    }
  </section>`;
}

function issuerForm(frame: Frame, { settings, redirectUri, typed }: SingleSignOnParts): Html {
  return html`<section class="stack tight">
    <h2>Your issuer</h2>
    <p class="prose">
      At the issuer, make a confidential client for the authorization code flow with this redirect
      URI. It has to send <code>email</code>, <code>email_verified</code> and, to confirm acts
      later, <code>auth_time</code>.
    </p>
    <p>${copyable('redirect-uri', redirectUri)}</p>
    <form class="form" method="post" action="${base(frame)}">
      ${token(frame)}
      ${field({ name: 'issuer', label: 'Issuer', type: 'url', value: typed?.issuer ?? settings?.issuer ?? '', required: true, max: '500', help: 'As it names itself in its discovery document, which is read when you save.' })}
      ${field({ name: 'client-id', label: 'Client id', value: typed?.clientId ?? settings?.clientId ?? '', required: true, max: '500' })}
      ${field({
        name: 'client-secret',
        label: 'Client secret',
        type: 'password',
        autocomplete: 'off',
        required: settings === undefined,
        max: '500',
        help:
          settings === undefined
            ? 'It is kept encrypted, and not shown again.'
            : 'Leave it empty to keep the one that is there.',
      })}
      <div class="field">
        <label for="role">Role of whoever comes for the first time</label>
        <select id="role" name="role">
          ${PROVISIONED_ROLES.map((role) => html`<option value="${role}" ${role === settings?.role ? html`selected` : undefined}>${role}</option>`)}
        </select>
        <p class="help">Who was invited gets the role of the invitation.</p>
      </div>
      ${
        settings === undefined
          ? undefined
          : html`<p class="help">
              With another issuer or client id, who came in by this one is signed out, and single
              sign-on is not required until it has worked again.
            </p>`
      }
      <div><button class="primary" type="submit">Save the issuer</button></div>
    </form>
  </section>`;
}

function facts(frame: Frame, settings: SingleSignOn): Html {
  return html`<section class="stack tight">
    <h2>Your issuer</h2>
    <dl class="facts">
      <dt>Issuer</dt>
      <dd class="clip">${settings.issuer}</dd>
      <dt>Client id</dt>
      <dd class="clip">${settings.clientId}</dd>
      <dt>Role at first</dt>
      <dd>${settings.role}</dd>
      <dt>Changed</dt>
      <dd>${moment(settings.changedAt, frame.now)}</dd>
    </dl>
  </section>`;
}

function use(
  frame: Frame,
  { signInAt }: SingleSignOnParts,
  { required, workedAt }: SingleSignOn,
  sets: boolean,
): Html {
  return html`<section class="stack tight">
    <h2>Signing in</h2>
    <p class="prose">
      Members begin at this address, or on the sign-in page with their e-mail address:
    </p>
    <p>${copyable('sign-in-at', signInAt)}</p>
    <p>
      ${workedAt === null ? 'No one has signed in with it yet.' : html`Someone first came in by it ${moment(workedAt, frame.now)}.`}
    </p>
    ${sets ? useForms(frame, required, workedAt) : undefined}
  </section>`;
}

function useForms(frame: Frame, required: boolean, workedAt: number | null): Html {
  return html`${
      workedAt === null
        ? undefined
        : html`<form class="stack tight" method="post" action="${base(frame)}/required">
            ${token(frame)} ${hidden('required', required ? 'no' : 'yes')}
            <p class="prose">
              ${
                required
                  ? 'Admins, members and auditors must use single sign-on. Owners keep their passwords, so that the organisation is never locked out.'
                  : 'Passwords work too. If you require single sign-on, only owners can still use them; this applies from the next page that a member opens.'
              }
            </p>
            <div>
              <button type="submit">
                ${required ? 'Accept passwords too' : 'Require single sign-on'}
              </button>
            </div>
          </form>`
    }
    <form class="stack tight" method="post" action="${base(frame)}/remove">
      ${token(frame)}
      <p class="prose">
        Removing the issuer signs out everyone who signed in with it. They stay in the team, and can
        choose a password to return.
      </p>
      <div><button class="danger" type="submit">Remove the issuer</button></div>
    </form>`;
}
