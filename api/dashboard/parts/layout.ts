import { html, type Html } from '#api/html.ts';
import { UNREAD_MAX } from '#shared/persons/notifications.ts';
import { may, type Membership, type Person, type StaffRole } from '#shared/persons/roles.ts';
import { moment, note, supportLink } from './elements.ts';

/** Changes with every version of the files, which browsers keep. */
export interface Assets {
  css: string;
  /** The picture of the tab. */
  icon: string;
  script: string;
}

/** What every page of a signed-in person is drawn with. */
export interface Frame {
  assets: Assets;
  person: Person;
  /** What each form of the page brings back. */
  formToken: string;
  memberships: readonly Membership[];
  /** Their work for the service itself. */
  staff: readonly StaffRole[];
  /** The organisation that the page is about. */
  membership: Membership | undefined;
  /** Of what that was told, how much this person has not seen; `UNREAD_MAX` stands for more. */
  unread: number;
  /** Whom to write to. */
  supportEmail: string;
  /** Where the page is, without what was asked of it. */
  address: string;
  /** Epoch milliseconds. */
  now: number;
}

export interface PageParts {
  title: string;
  /** The address of the menu's entry that the page belongs to, below the organisation's. */
  section?: string;
  body: Html;
}

/**
 * A page of a person who is signed in. Its menu is a popover, which browsers open by themselves: on a phone its button is
 * what is seen of it, and beside a wide page it stands open as any other element.
 */
export function framed(frame: Frame, { title, section, body }: PageParts): Html {
  const { membership, person } = frame;
  return documentOf(
    frame.assets,
    `${title} · ${membership?.orgName ?? 'Docket'}`,
    html`<div class="frame">
      <aside class="side">
        <div class="first">
          <a class="brand" href="/dashboard">Docket</a>
          ${bell(frame, section)}
        </div>
        <button class="opens-menu" type="button" popovertarget="menu">Menu</button>
        <div class="menu" id="menu" popover>
          <button class="opens-menu" type="button" popovertarget="menu" popovertargetaction="hide">
            Close the menu
          </button>
          ${organisations(frame)} ${searchForm(membership)}
          ${membership === undefined ? (staffMenu(frame, section) ?? organisationMenu(frame)) : menu(membership, section)}
          <div class="who">
            <strong>${person.name}</strong>
            <span class="soft small">${person.email}</span>
            <span class="row">
              <a href="/dashboard/account">Your account</a>
              <form class="inline" method="post" action="/dashboard/sign-out">
                ${token(frame)}<button class="plain" type="submit">Sign out</button>
              </form>
            </span>
            <span class="row">
              ${elsewhere}
              ${supportLink(frame.supportEmail, {
                subject: title,
                lines: [frame.address, ...(membership === undefined ? [] : [membership.orgId])],
              })}
            </span>
          </div>
        </div>
      </aside>
      <main id="content">${standing(frame)} ${body}</main>
    </div>`,
  );
}

/** The public pages, from every other one. */
const elsewhere = html`<a href="/docs">Docs</a> <a href="/verify">Verify</a>
  <a href="/status">Status</a>`;

/** The way to what the organisation was told, and how much of it is new. A closed one has no such page. */
function bell({ membership, unread }: Frame, section: string | undefined): Html | undefined {
  if (membership === undefined || membership.orgState === 'closed') return undefined;
  const number = unread < UNREAD_MAX ? String(unread) : `${UNREAD_MAX - 1}+`;
  return html`<a
    class="bell"
    href="/dashboard/${membership.orgId}/${NOTIFICATIONS[0]}"
    ${section === NOTIFICATIONS[0] ? CURRENT : undefined}
  >
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d="M3 12h10l-1.2-2V7a3.8 3.8 0 0 0-7.6 0v3zM6.5 13.8h3" />
    </svg>
    <span class="hidden-words">${NOTIFICATIONS[1]}</span>
    ${
      unread === 0
        ? undefined
        : html`<span class="count">${number}<span class="hidden-words"> unread</span></span>`
    }
  </a>`;
}

/** The page that the bell leads to. */
const NOTIFICATIONS = ['notifications', 'Notifications'] as const;

/** The search, from every page: in the organisation that the page is about. */
function searchForm(membership: Membership | undefined): Html {
  return html`<form
    class="find"
    method="get"
    action="/dashboard/search"
    role="search"
    aria-label="Everything"
  >
    <input
      type="search"
      name="q"
      maxlength="300"
      placeholder="Name or id"
      aria-label="Search"
      aria-keyshortcuts="Control+K Meta+K"
      autocomplete="off"
    />
    <button type="submit" name="in" value="${membership?.orgId ?? ''}">Search</button>
  </form>`;
}

/** A page of one column, for those who are not signed in. */
export function unframed(assets: Assets, title: string, body: Html): Html {
  return documentOf(
    assets,
    `${title} · Docket`,
    html`<div class="unframed">
      <div>
        <header><a class="brand" href="/">Docket</a></header>
        <main id="content">${body}</main>
        <footer class="row small">${elsewhere}</footer>
      </div>
    </div>`,
  );
}

/**
 * A whole document, with our stylesheet and script. The stylesheet shows nothing before `#end` has arrived: what a slow line
 * brings later would move what stands there already.
 */
export function documentOf(assets: Assets, title: string, body: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" type="image/svg+xml" href="${assets.icon}" />
        <link rel="stylesheet" href="${assets.css}" />
        <script src="${assets.script}" defer></script>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        ${body}
        <template id="end"></template>
      </body>
    </html> `;
}

/** On every page of an organisation that is suspended or closed: since when, what that means, whom to write to. */
function standing({ membership, supportEmail, now }: Frame): Html | undefined {
  if (membership === undefined) return undefined;
  const { orgState, orgStateSince, readableUntil } = membership;
  const support = html`<a href="mailto:${supportEmail}">${supportEmail}</a>`;
  if (orgState === 'suspended') {
    return note(
      'warn',
      html`<p>
        <strong>This organisation is suspended pending review</strong>, since
        ${moment(orgStateSince, now)}. Requests with its keys are refused with
        <code>customer_suspended</code>, and no key is issued or restored. Write to ${support}.
      </p>`,
    );
  }
  if (readableUntil === null) return undefined;
  return note(
    'plain',
    html`<p>
      <strong>This organisation is closed</strong>, since ${moment(orgStateSince, now)}. Its owners
      can read receipts, packs, the ledger and the audit log until ${moment(readableUntil, now)};
      make a pack before then. Receipts stay verifiable. Write to ${support}.
    </p>`,
  );
}

/** Where one is, and where else one could be. */
function organisations({ membership, memberships, staff }: Frame): Html | undefined {
  if (membership === undefined && staff.length === 0) return undefined;
  const others = memberships.filter(({ orgId }) => orgId !== membership?.orgId);
  const name = html`<strong>${membership?.orgName ?? 'The service'}</strong>`;
  const role = html`<span class="soft small">${membership?.role ?? staff.join(', ')}</span>`;
  const isElsewhere = membership !== undefined && staff.length > 0;
  if (others.length === 0 && !isElsewhere) return html`<div class="org">${name}<br />${role}</div>`;
  return html`<details class="org">
    <summary>${name} ${role}</summary>
    <ul>
      ${others.map((other) => html`<li><a href="${homeOf(other)}">${other.orgName}</a></li>`)}
      ${isElsewhere ? html`<li><a href="${staffHome(staff)}">The service</a></li>` : undefined}
    </ul>
  </details>`;
}

/** The page that an organisation begins with: until it is active, where its application stands. */
export function homeOf({ orgId, orgState }: Membership): string {
  if (orgState === 'closed') return `/dashboard/${orgId}/receipts`;
  const isIn = orgState === 'active' || orgState === 'suspended';
  return `/dashboard/${orgId}/${isIn ? 'overview' : 'onboarding'}`;
}

/** Pages of those who work for the service, and whose they are. */
const STAFF_PAGES: readonly (readonly [string, string, readonly StaffRole[]])[] = [
  // What alarms comes first.
  ['health', 'Health', ['operator']],
  ['reviews', 'Reviews', ['reviewer', 'operator']],
  ['accounts', 'Accounts', ['operator']],
  ['look-up', 'Look up', ['operator']],
  ['charts', 'Charts', ['operator']],
  ['requests', 'Requests', ['operator']],
  ['regions', 'Regions', ['operator']],
  ['incidents', 'Incidents', ['operator']],
  ['queues', 'Queues', ['operator']],
  ['policy', 'Policy hits', ['operator']],
  ['sanctions', 'Sanctions lists', ['operator']],
  ['command-line', 'Command line', ['reviewer', 'operator']],
];

/** The page that a person's work for the service begins with. */
export function staffHome(staff: readonly StaffRole[]): string {
  const first = STAFF_PAGES.find(([, , roles]) => roles.some((role) => staff.includes(role)));
  return `/dashboard/service/${first![0]}`;
}

/** The pages of the service that work for it opens, as a search finds them. */
export function pagesOfStaff(staff: readonly StaffRole[]): { address: string; name: string }[] {
  return STAFF_PAGES.filter(([, , roles]) => roles.some((role) => staff.includes(role))).map(
    ([path, name]) => ({ address: `/dashboard/service/${path}`, name }),
  );
}

function staffMenu({ staff }: Frame, section: string | undefined): Html | undefined {
  const entries = STAFF_PAGES.filter(([, , roles]) => roles.some((role) => staff.includes(role)));
  if (entries.length === 0) return undefined;
  return menuOf('The service', '/dashboard/service', entries, section);
}

/** The way back from the pages of a person who is in organisations alone. */
function organisationMenu({ memberships }: Frame): Html | undefined {
  if (memberships.length === 0) return undefined;
  const entries = memberships.map((each) => [homeOf(each).slice(1), each.orgName] as const);
  return menuOf('Your organisations', '', entries, undefined);
}

/** The pages of a closed organisation. */
export const PAGES_OF_CLOSED = [
  ['receipts', 'Receipts'],
  ['exports', 'Exports'],
  ['ledger', 'Ledger'],
  ['audit-log', 'Audit log'],
] as const;

function menu(membership: Membership, section: string | undefined): Html {
  const base = `/dashboard/${membership.orgId}`;
  return menuOf(membership.orgName, base, entriesOf(membership), section);
}

/** The pages of an organisation that a member may open, as a search finds them. */
export function pagesOfOrganisation(
  membership: Membership,
): { address: string; name: string; note: string }[] {
  const { orgId, orgName } = membership;
  const bells = membership.orgState === 'closed' ? [] : [NOTIFICATIONS];
  return [...entriesOf(membership), ...bells].map(([path, name]) => ({
    address: `/dashboard/${orgId}/${path}`,
    name,
    note: orgName,
  }));
}

function entriesOf(membership: Membership): readonly (readonly [path: string, label: string])[] {
  if (membership.orgState === 'closed') return PAGES_OF_CLOSED;
  const isIn = membership.orgState === 'active' || membership.orgState === 'suspended';
  return [
    ['overview', 'Overview'],
    ...(isIn ? [['charts', 'Charts'] as const] : []),
    ...(isIn ? [] : [['onboarding', 'Onboarding'] as const]),
    ['keys', 'Keys'],
    ...(isIn ? [['playground', 'Playground'] as const] : []),
    ['receipts', 'Receipts'],
    ['requests', 'Requests'],
    ['exports', 'Exports'],
    ['ledger', 'Ledger'],
    ['usage', 'Usage'],
    ['budgets', 'Budgets'],
    ...(may(membership, 'set up webhooks') ? [['webhooks', 'Webhooks'] as const] : []),
    ...(may(membership, 'read the audit log') ? [['audit-log', 'Audit log'] as const] : []),
    ['team', 'Team'],
    ['settings', 'Settings'],
  ];
}

function menuOf(
  name: string,
  base: string,
  entries: readonly (readonly [path: string, label: string, ...rest: unknown[]])[],
  section: string | undefined,
): Html {
  return html`<nav aria-label="${name}">
    <ul>
      ${entries.map(
        ([path, label]) =>
          html`<li>
            <a href="${base}/${path}" ${path === section ? CURRENT : undefined}>${label}</a>
          </li>`,
      )}
    </ul>
  </nav>`;
}

const CURRENT = html`aria-current="page"`;

/** The hidden field without which no form is taken. */
export function token({ formToken }: Pick<Frame, 'formToken'>): Html {
  return html`<input type="hidden" name="form" value="${formToken}" />`;
}

interface Button {
  /** Where the form is sent. */
  action: string;
  button: Html | string;
  tone?: 'primary' | 'danger' | undefined;
  /** Its name for those who do not see its place. */
  label?: string;
  /** Whether the fields are as wide as the page. */
  isWide?: boolean;
}

function submit({ button, tone, label }: Button): Html {
  const attributes = html`${tone && html`class="${tone}"`} ${label && html`aria-label="${label}"`}`;
  return html`<button ${attributes} type="submit">${button}</button>`;
}

/** A form with its fields one below the other, and its button. */
export function form(frame: Frame, button: Button, fields: Html | undefined): Html {
  return html`<form
    class="form${button.isWide ? ' wide' : ''}"
    method="post"
    action="${button.action}"
  >
    ${token(frame)} ${fields}
    <div>${submit(button)}</div>
  </form>`;
}

/** The same, opened by a click on what it is for. */
export function act(
  frame: Frame,
  { summary, isOpen = false, ...button }: Button & { summary: Html | string; isOpen?: boolean },
  fields: Html,
): Html {
  return html`<details class="act" ${isOpen ? html`open` : undefined}>
    <summary>${summary}</summary>
    ${form(frame, button, fields)}
  </details>`;
}

/** A form that is a button, with what it is for. */
export function buttonForm(
  frame: Frame,
  { hidden = {}, ...button }: Button & { hidden?: Readonly<Record<string, string>> },
): Html {
  return html`<form method="post" action="${button.action}">
    ${token(frame)}
    ${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    ${submit(button)}
  </form>`;
}
