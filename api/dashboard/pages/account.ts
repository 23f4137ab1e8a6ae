import { html, type Html } from '#api/html.ts';
import type { Session } from '../door.ts';
import { type Frame, staffHome, token } from './layout.ts';
import { ACT, badge, field, moment, table, told } from './parts.ts';

export interface AccountParts {
  sessions: readonly Session[];
  currentId: string;
  passwordLengthMin: number;
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
          ({ orgId, orgName, role }) =>
            html`<a href="/dashboard/${orgId}/keys">${orgName}</a> <span class="soft">${role}</span
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
        Where you are signed in. A session ends by itself after twelve hours. End what you do not
        know, and choose a new password.
      </p>
      ${table(
        'Sessions',
        ['Browser', 'Address', 'Signed in', ACT],
        parts.sessions.map(
          (session) =>
            html`<tr>
              <td class="clip" title="${session.userAgent ?? ''}">
                ${session.userAgent ?? 'unknown'}
              </td>
              <td class="nowrap">${session.address ?? 'unknown'}</td>
              <td class="nowrap">${moment(session.since, now)}</td>
              <td class="num">
                ${
                  session.id === parts.currentId
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
      )}
      ${
        parts.sessions.length < 2
          ? undefined
          : html`<form method="post" action="/dashboard/account/sessions/end-others">
              ${token(frame)}<button type="submit">End all other sessions</button>
            </form>`
      }
    </section>
    <section class="stack">
      <h2>Password</h2>
      <form class="form" method="post" action="/dashboard/account/password">
        ${token(frame)}
        ${field({ name: 'current', label: 'Current password', type: 'password', autocomplete: 'current-password', required: true })}
        ${field({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', required: true, help: `At least ${parts.passwordLengthMin} characters. All other sessions end with the change.` })}
        <div><button type="submit">Change password</button></div>
      </form>
    </section>`;
}
