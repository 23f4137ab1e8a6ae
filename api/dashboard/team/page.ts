import { html, type Html } from '#api/html.ts';
import { INVITES_LATER, mayInvite } from '#shared/persons/inviting.ts';
import type { Member } from '#shared/persons/postgres/persons.ts';
import type { Invitation } from '#shared/persons/postgres/team.ts';
import {
  may,
  mayAssign,
  ORGANISATION_ROLES,
  type OrganisationRole,
} from '#shared/persons/roles.ts';
import { type Frame, token } from '../parts/layout.ts';
import { ACT, badge, field, moment, shortMoment, table, told } from '../parts/elements.ts';

export interface TeamParts {
  members: readonly Member[];
  invitations: readonly Invitation[];
  problem?: string;
  done?: string;
  /** The address that was typed and not taken. */
  email?: string;
}

const ROLE_WORDS: Readonly<Record<OrganisationRole, string>> = {
  owner: 'everything, including who is an owner',
  admin: 'keys, team, settings, audit log',
  member: 'sees usage, keys and receipts, flags receipts, makes exports',
  auditor: 'sees everything, changes nothing',
};

export function teamPage(frame: Frame, parts: TeamParts): Html {
  const { members, invitations } = parts;
  const manages = may(frame.membership!, 'manage the team');
  return html`<div class="head"><h1>Team</h1></div>
    ${told(parts)}
    ${table(
      'Members',
      ['Name', 'E-mail', 'Role', 'Since', ACT],
      members.map((member) => memberRow(frame, member)),
      'stacked',
    )}
    ${manages && invitations.length > 0 ? invitationTable(frame, invitations) : undefined}
    ${manages ? inviteForm(frame, parts) : undefined}
    ${
      manages
        ? html`<p>
            <a href="/dashboard/${frame.membership!.orgId}/single-sign-on">Single sign-on</a>:
            members come in by your own issuer.
          </p>`
        : undefined
    }
    <section class="stack tight">
      <h2>Roles</h2>
      <dl class="facts">
        ${ORGANISATION_ROLES.map(
          (role) =>
            html`<dt>${role}</dt>
              <dd>${ROLE_WORDS[role]}</dd>`,
        )}
      </dl>
    </section>`;
}

function memberRow(frame: Frame, member: Member): Html {
  const { membership, person, now } = frame;
  const isSelf = member.id === person.id;
  const manages = may(membership!, 'manage the team') && mayAssign(membership!.role, member.role);
  return html`<tr>
    <th scope="row" class="clip name" title="${member.name}">${member.name}</th>
    <td>
      <div class="row">
        <span class="clip name" title="${member.email}">${member.email}</span>
        ${member.emailVerified ? undefined : badge('warn', 'not confirmed yet')}
      </div>
    </td>
    <td>${manages ? roleForm(frame, member) : member.role}</td>
    <td data-head="Since">${shortMoment(member.since, now)}</td>
    <td class="num">
      ${
        manages || isSelf
          ? html`<details class="act">
              <summary>${isSelf ? 'Leave…' : 'Remove…'}</summary>
              <form method="post" action="/dashboard/${membership!.orgId}/team/remove">
                ${token(frame)}<input type="hidden" name="member" value="${member.id}" />
                <button class="danger" type="submit">
                  ${isSelf ? 'Leave the team' : `Remove ${member.name}`}
                </button>
              </form>
            </details>`
          : undefined
      }
    </td>
  </tr>`;
}

function roleForm(frame: Frame, { id, name, role }: Member): Html {
  const { orgId, role: mine } = frame.membership!;
  return html`<form class="row" method="post" action="/dashboard/${orgId}/team/role">
    ${token(frame)}<input type="hidden" name="member" value="${id}" />
    <select name="role" aria-label="Role of ${name}">
      ${options(mine, role)}
    </select>
    <button type="submit">Change</button>
  </form>`;
}

function options(mine: OrganisationRole, chosen: OrganisationRole): Html {
  return html`${ORGANISATION_ROLES.filter((role) => mayAssign(mine, role)).map(
    (role) =>
      html`<option value="${role}" ${role === chosen ? html`selected` : undefined}>
        ${role}
      </option>`,
  )}`;
}

function invitationTable(frame: Frame, invitations: readonly Invitation[]): Html {
  const { orgId, role: mine } = frame.membership!;
  return html`<section class="stack">
    <h2>Invited</h2>
    ${table(
      'Invitations',
      ['E-mail', 'Role', 'Open until', ACT],
      invitations.map(
        ({ email, role, until }) =>
          html`<tr>
            <th scope="row" class="clip" title="${email}">${email}</th>
            <td data-head="Role">${role}</td>
            <td data-head="Open until">${moment(until, frame.now)}</td>
            <td class="num">
              ${
                mayAssign(mine, role)
                  ? html`<form method="post" action="/dashboard/${orgId}/team/withdraw">
                      ${token(frame)}<input type="hidden" name="email" value="${email}" />
                      <button type="submit">Withdraw</button>
                    </form>`
                  : undefined
              }
            </td>
          </tr>`,
      ),
      'stacked',
    )}
  </section>`;
}

function inviteForm(frame: Frame, { email = '' }: TeamParts): Html {
  const { orgId, orgState, role: mine } = frame.membership!;
  if (!mayInvite(orgState)) {
    return html`<section class="stack">
      <h2>Invite someone</h2>
      <p>${INVITES_LATER}</p>
    </section>`;
  }
  return html`<section class="stack">
    <h2>Invite someone</h2>
    <form class="form" method="post" action="/dashboard/${orgId}/team/invite">
      ${token(frame)}
      ${field({ name: 'email', label: 'E-mail', type: 'email', value: email, required: true, max: '254', help: 'They get an e-mail, and become a member once they have signed in with this address and accepted.' })}
      <div class="field">
        <label for="role">Role</label>
        <select id="role" name="role">
          ${options(mine, 'member')}
        </select>
      </div>
      <div><button class="primary" type="submit">Send the invitation</button></div>
    </form>
  </section>`;
}

/** What a person was invited to, and has not answered. */
export function invitationsPage(frame: Frame, invitations: readonly Invitation[]): Html {
  return html`<div class="head"><h1>Invitations</h1></div>
    ${
      invitations.length === 0
        ? html`<div class="empty">
            <h2>No invitations</h2>
            <p class="prose">
              An invitation to ${frame.person.email} would stand here for fourteen days. Ask whoever
              sent it for another, or <a href="/dashboard/apply">apply with an organisation</a> of
              your own.
            </p>
          </div>`
        : invitations.map(
            ({ orgId, orgName, role, until }) =>
              html`<section class="stack tight">
                <h2>${orgName}</h2>
                <p class="prose">
                  As ${role}: ${ROLE_WORDS[role]}. Everyone in its team will see your name and
                  e-mail address. Open until ${moment(until, frame.now)}.
                </p>
                <form class="row" method="post" action="/dashboard/invitations">
                  ${token(frame)}<input type="hidden" name="org" value="${orgId}" />
                  <button class="primary" type="submit" name="answer" value="accept">Accept</button>
                  <button type="submit" name="answer" value="decline">Decline</button>
                </form>
              </section>`,
          )
    }`;
}
