import { html, type Html } from '#api/html.ts';
import { INVITES_LATER, mayInvite } from '#shared/persons/inviting.ts';
import { networkName } from '#api/plugins/caller-network.ts';
import type { MemberWithFactors } from '#shared/persons/postgres/persons.ts';
import { type Invitation, type MemberSession } from '#shared/persons/postgres/team.ts';
import {
  type Act,
  ACTS,
  isActOf,
  may,
  mayAssign,
  ORGANISATION_ROLES,
  type OrganisationRole,
} from '#shared/persons/roles.ts';
import { SESSION_MS, SESSIONS_MAX, USE_NOTED_MS } from '#shared/persons/sessions.ts';
import { HOUR_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import { browserName } from '../account/browser-name.ts';
import { buttonForm, form, type Frame, token } from '../parts/layout.ts';
import {
  ACT,
  badge,
  choice,
  empty,
  field,
  moment,
  type Option,
  optionList,
  shortMoment,
  table,
  told,
} from '../parts/elements.ts';

export interface TeamParts {
  members: readonly MemberWithFactors[];
  invitations: readonly Invitation[];
  problem?: string;
  done?: string;
  /** The address that was typed and not taken. */
  email?: string;
}

const ALL_ACTS = Object.keys(ACTS) as Act[];

/** What a role may do, as a sentence goes on. */
const wordsOf = (role: OrganisationRole): string =>
  ALL_ACTS.filter((act) => isActOf(role, act))
    .map((act) => ACTS[act].words)
    .join('; ');

export function teamPage(frame: Frame, parts: TeamParts): Html {
  const { members, invitations } = parts;
  const manages = may(frame.membership!, 'manage the team');
  return html`<div class="head"><h1>Team</h1></div>
    ${told(parts)}
    ${table(
      'Members',
      ['Name', 'E-mail', 'Role', ...(manages ? ['Second factor'] : []), ACT],
      members.map((member) => memberRow(frame, member)),
      'stacked',
    )}
    ${
      may(frame.membership!, 'end sessions of members')
        ? html`<p>
            <a href="/dashboard/${frame.membership!.orgId}/team/sessions">Sessions of members</a>:
            see where members are signed in, and sign them out.
          </p>`
        : undefined
    }
    ${manages ? ruleSection(frame, members) : undefined}
    ${manages && invitations.length > 0 ? invitationTable(frame, invitations) : undefined}
    ${manages ? inviteForm(frame, parts) : undefined}
    ${
      manages
        ? html`<p>
            <a href="/dashboard/${frame.membership!.orgId}/single-sign-on">Single sign-on</a>:
            members come in by your own issuer. SCIM is not offered yet.
          </p>`
        : undefined
    }
    <section class="stack tight">
      <h2>Roles</h2>
      <p class="soft prose">
        Everyone in the team sees everything else: keys, requests, receipts, usage, budgets, packs,
        the ledger, the team and the settings. Only owners deal with owners.
      </p>
      ${table(
        'What each role may do',
        ['Act', ...ORGANISATION_ROLES],
        ALL_ACTS.map(
          (act) =>
            html`<tr>
              <th scope="row">${ACTS[act].words}</th>
              ${ORGANISATION_ROLES.map(
                (role) =>
                  html`<td>${isActOf(role, act) ? 'yes' : html`<span class="soft">no</span>`}</td>`,
              )}
            </tr>`,
        ),
      )}
    </section>`;
}

/** Whether a second factor is required, who has none, and what an owner does about it. */
function ruleSection(frame: Frame, members: readonly MemberWithFactors[]): Html {
  const { orgId, asksSecondFactor } = frame.membership!;
  const without = members.filter(({ factors }) => factors.length === 0).length;
  const decides = may(frame.membership!, 'require a second factor');
  return html`<section class="stack tight">
    <h2>Second factor</h2>
    <p class="prose">
      ${asksSecondFactor ? badge('good', 'Required') : badge('plain', 'Not required')}
      ${
        without === 0
          ? 'Each member has one.'
          : `${without} of ${members.length} ${without === 1 ? 'has' : 'have'} none.`
      }
    </p>
    <p class="soft prose">
      An authenticator app or a passkey. While one is required, a password alone does not open the
      pages of this organisation: members without one set it up first. Signing in by this
      organisation’s single sign-on is enough; your issuer decides what that asks for. API keys are
      unaffected.
    </p>
    ${
      decides
        ? buttonForm(frame, {
            action: `/dashboard/${orgId}/team/second-factor/${asksSecondFactor ? 'lift' : 'require'}`,
            button: asksSecondFactor ? 'Stop requiring it' : 'Require a second factor',
          })
        : html`<p class="soft">An owner can change this.</p>`
    }
  </section>`;
}

/** Where members are signed in. */
export function sessionsPage(
  frame: Frame,
  {
    sessions,
    currentId,
    done,
  }: {
    sessions: readonly MemberSession[];
    currentId: string;
    done?: string;
  },
): Html {
  const { membership, now } = frame;
  const base = `/dashboard/${membership!.orgId}/team`;
  return html`<div class="head">
      <p class="crumb"><a href="${base}">Team</a></p>
      <h1>Sessions of members</h1>
    </div>
    ${told(done === undefined ? {} : { done })}
    <p class="soft prose">
      A session ends by itself after ${SESSION_MS / HOUR_MS} hours. Ending one signs the member out
      there, of their other organisations too. Other members get an e-mail, and can sign in again.
      “Last used” is accurate to ${USE_NOTED_MS / MINUTE_MS} minutes.
      ${sessions.length < SESSIONS_MAX ? undefined : `Only the first ${SESSIONS_MAX} are listed.`}
    </p>
    ${table(
      'Sessions of members',
      ['Member', 'Browser', 'Network', 'Signed in', 'Last used', ACT],
      sessions.map(
        ({ member, session }) =>
          html`<tr>
            <th scope="row" class="clip name" title="${member.email}">${member.name}</th>
            <td class="clip" title="${browserOf(session)}">${browserOf(session)}</td>
            <td class="nowrap" data-head="Network">
              ${networkOf(session)}
              ${session.organisation === null ? undefined : badge('plain', 'single sign-on')}
            </td>
            <td data-head="Signed in">${shortMoment(session.since, now)}</td>
            <td data-head="Last used">${shortMoment(session.usedAt, now)}</td>
            <td class="num">
              ${
                session.id === currentId
                  ? badge('good', 'This one')
                  : buttonForm(frame, {
                      action: `${base}/sessions/end`,
                      button: 'End session',
                      label: `End a session of ${member.name}`,
                      hidden: { session: session.id },
                    })
              }
            </td>
          </tr>`,
      ),
      'stacked',
    )}`;
}

type Signed = MemberSession['session'];

const browserOf = ({ userAgent }: Signed): string =>
  userAgent === null ? 'unknown browser' : browserName(userAgent);

const networkOf = ({ address }: Signed): string =>
  address === null ? 'unknown network' : networkName(address);

/** A session as the e-mail to its person names it. */
export const sessionName = (session: Signed): string =>
  `${browserOf(session)}, ${networkOf(session)}`;

function memberRow(frame: Frame, member: MemberWithFactors): Html {
  const { membership, person, now } = frame;
  const isSelf = member.id === person.id;
  const manages = may(membership!, 'manage the team') && mayAssign(membership!.role, member.role);
  return html`<tr id="${member.id}">
    <th scope="row" class="clip name" title="${member.name}">${member.name}</th>
    <td>
      <div class="clip" title="${member.email}">${member.email}</div>
      ${member.emailVerified ? undefined : badge('warn', 'not confirmed yet')}
      <span class="soft small">in the team since ${shortMoment(member.since, now)}</span>
    </td>
    <td>${manages ? roleForm(frame, member) : member.role}</td>
    ${
      may(membership!, 'manage the team')
        ? html`<td data-head="Second factor">
            ${member.factors.length === 0 ? badge('warn', 'none') : member.factors.join(', ')}
          </td>`
        : undefined
    }
    <td class="num">
      ${
        manages || isSelf
          ? html`<details class="act">
              <summary>${isSelf ? 'Leave…' : 'Remove…'}</summary>
              ${buttonForm(frame, {
                action: `/dashboard/${membership!.orgId}/team/remove`,
                button: isSelf ? 'Leave the team' : `Remove ${member.name}`,
                tone: 'danger',
                hidden: { member: member.id },
              })}
            </details>`
          : undefined
      }
    </td>
  </tr>`;
}

function roleForm(frame: Frame, { id, name, role }: MemberWithFactors): Html {
  const { orgId, role: mine } = frame.membership!;
  return html`<form class="row" method="post" action="/dashboard/${orgId}/team/role">
    ${token(frame)}<input type="hidden" name="member" value="${id}" />
    <select name="role" aria-label="Role of ${name}">
      ${optionList(rolesFor(mine), role)}
    </select>
    <button type="submit">Change</button>
  </form>`;
}

const rolesFor = (mine: OrganisationRole): readonly Option[] =>
  ORGANISATION_ROLES.filter((role) => mayAssign(mine, role)).map((role) => [role, role]);

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
                  ? buttonForm(frame, {
                      action: `/dashboard/${orgId}/team/withdraw`,
                      button: 'Withdraw',
                      hidden: { email },
                    })
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
    ${form(
      frame,
      {
        action: `/dashboard/${orgId}/team/invite`,
        button: 'Send the invitation',
        tone: 'primary',
      },
      html`${field({ name: 'email', label: 'E-mail', type: 'email', value: email, required: true, max: '254', help: 'They get an e-mail, and become a member once they have signed in with this address and accepted.' })}
      ${choice({ name: 'role', label: 'Role' }, 'member', rolesFor(mine))}`,
    )}
  </section>`;
}

/** What a person was invited to, and has not answered. */
export function invitationsPage(frame: Frame, invitations: readonly Invitation[]): Html {
  return html`<div class="head"><h1>Invitations</h1></div>
    ${
      invitations.length === 0
        ? empty(
            'No invitations',
            html`An invitation to ${frame.person.email} would stand here for fourteen days. Ask
              whoever sent it for another, or
              <a href="/dashboard/apply">apply with an organisation</a> of your own.`,
          )
        : invitations.map(
            ({ orgId, orgName, role, until }) =>
              html`<section class="stack tight">
                <h2>${orgName}</h2>
                <p class="prose">
                  As ${role} you see what everyone sees, and may ${wordsOf(role)}. Everyone in the
                  team will see your name and e-mail address. Owners and admins will see whether you
                  have a second factor. Owners will see where you are signed in, and can sign you
                  out. The invitation is open until ${moment(until, frame.now)}.
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
