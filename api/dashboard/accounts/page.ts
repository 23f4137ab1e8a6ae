import { html, type Html } from '#api/html.ts';
import {
  ACCOUNT_STATES,
  type Account,
  type AccountState,
  limitsOf,
} from '#shared/accounts/account.ts';
import { LIMIT_LABELS } from '#shared/accounts/checks.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import type { Review } from '#shared/accounts/vetting.ts';
import type { Page } from '#shared/kernel/page.ts';
import { PLAN_LIMITS, PLANS } from '#shared/kernel/plan.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { displayText } from '#shared/keys/describe.ts';
import { stateAt } from '#shared/keys/lifecycle.ts';
import { scopesOnPlan } from '#shared/keys/rules.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { counted } from '#shared/methodology/readable.ts';
import type { Member } from '#shared/persons/postgres/persons.ts';
import type { SignInDomain } from '#shared/persons/single-sign-on.ts';
import { limitWords } from '../parts/figures.ts';
import { leakedBadge } from '../keys/page.ts';
import { type Frame, token } from '../parts/layout.ts';
import { reasonWords } from '../audit/page.ts';
import {
  ACT,
  badge,
  field,
  moment,
  note,
  pager,
  shortId,
  shortMoment,
  table,
  textArea,
  told,
} from '../parts/elements.ts';

const ADDRESS = '/dashboard/service/accounts';

export interface AccountsParts {
  page: Page<Account>;
  state: AccountState | undefined;
  search: string;
  after: string | undefined;
}

/** Every organisation, to be found by its state, its name, its contacts or one of its keys. */
export function accountsPage(frame: Frame, { page, state, search, after }: AccountsParts): Html {
  const next = page.hasMore ? page.items.at(-1)!.id : undefined;
  const isAll = search === '' && state === undefined;
  return html`<div class="head"><h1>Accounts</h1></div>
    <form class="row end" method="post" action="${ADDRESS}">
      ${token(frame)}
      ${field({ name: 'search', label: 'Name, contact, id, or first characters of a key', value: search, max: '200' })}
      <div class="field">
        <label for="state">State</label>
        <select id="state" name="state">
          <option value="">any</option>
          ${ACCOUNT_STATES.map(
            (each) =>
              html`<option value="${each}" ${each === state ? html`selected` : undefined}>
                ${each.replace('_', ' ')}
              </option>`,
          )}
        </select>
      </div>
      <button type="submit">Show</button>
      ${isAll ? undefined : html`<a href="${ADDRESS}">Show all</a>`}
    </form>
    ${
      page.items.length === 0
        ? html`<div class="empty">
            <h2>${isAll ? 'No account yet' : 'No account matches'}</h2>
            <p class="prose">
              Organisations apply at <code>/dashboard/sign-up</code>, or are opened with
              <code>docket accounts create</code>.
            </p>
          </div>`
        : table(
            'Accounts',
            ['Organisation', 'State', 'Plan', 'Since', 'Technical contact', 'Id'],
            page.items.map(
              (account) =>
                html`<tr>
                  <th scope="row" class="clip name" title="${account.name}">
                    <a href="${ADDRESS}/${account.id}">${account.name}</a>
                  </th>
                  <td>${stateBadge(account.state)}</td>
                  <td class="nowrap" data-head="Plan">${account.plan.replace('_', ' ')}</td>
                  <td data-head="Since">${shortMoment(account.stateChangedAt, frame.now)}</td>
                  <td class="clip" title="${account.technical.email}">
                    ${account.technical.email}
                  </td>
                  <td>${shortId(account.id)}</td>
                </tr>`,
            ),
            'stacked',
          )
    }
    ${pager('accounts', { address: ADDRESS, filters: { search, state: state ?? '' }, after, next })}
    ${plans()}`;
}

/** What each plan has, where nothing else was agreed with an account. */
function plans(): Html {
  return html`<details class="act">
    <summary>What each plan has</summary>
    ${table(
      'Plans',
      ['Plan', 'Limits', 'Scopes that its keys may have'],
      PLANS.map(
        (plan) =>
          html`<tr>
            <th scope="row">${plan.replace('_', ' ')}</th>
            <td data-head="Limits">${limitWords(PLAN_LIMITS[plan])}</td>
            <td class="wrap" data-head="Scopes">
              ${scopesOnPlan(SCOPES, plan).map((scope) => html`<code>${scope}</code> `)}
            </td>
          </tr>`,
      ),
      'stacked',
    )}
    <p class="help">
      Packs and lineage come with their scopes, on the dashboard too. Limits of an account may be
      others, as its page says.
    </p>
  </details>`;
}

function stateBadge(state: AccountState): Html {
  const tone =
    state === 'active' ? 'good' : state === 'suspended' || state === 'rejected' ? 'bad' : 'warn';
  return badge(state === 'closed' ? 'plain' : tone, state.replace('_', ' '));
}

export interface AccountParts {
  account: Account;
  members: readonly Member[];
  domains: readonly SignInDomain[];
  keys: Page<KeyRecord>;
  review: Review | null;
  history: readonly AuditEntry[];
  /** Names of persons by id. */
  names: ReadonlyMap<string, string>;
  /** Why the reader cannot act here, where that is so. */
  mayNot: string | undefined;
  /** Days in which owners of a closed account still read what is left of it. */
  closedReadDays: number;
  open?: string;
  problem?: string;
  done?: string;
}

/** One organisation: where it stands, what it may, who is in it, and what an operator does about it. */
export function accountPage(frame: Frame, parts: AccountParts): Html {
  const { account, review, keys, mayNot } = parts;
  return html`<div class="head">
      <p class="crumb"><a href="${ADDRESS}">Accounts</a></p>
      <h1>${account.name}</h1>
      ${stateBadge(account.state)}
    </div>
    ${told(parts)}
    ${
      review === null
        ? undefined
        : note(
            'warn',
            html`<p>
              <a href="/dashboard/service/reviews/${review.id}">A review is open</a>:
              ${review.reason}
            </p>`,
          )
    }
    <div class="sides">
      <section class="stack tight">
        <h2>Account</h2>
        ${facts(frame, account)}
      </section>
      <section class="stack tight">
        <h2>Acts</h2>
        ${mayNot === undefined ? acts(frame, parts) : note('plain', mayNot)}
      </section>
    </div>
    <section class="stack tight">
      <h2>Keys</h2>
      ${keys.items.length === 0 ? html`<p class="soft">None.</p>` : keysTable(frame, keys.items)}
      ${keys.hasMore ? html`<p class="soft">The newest ${keys.items.length} are shown.</p>` : undefined}
    </section>
    ${members(frame, parts)} ${domainsSection(frame, parts)} ${history(frame, parts)}`;
}

function facts(frame: Frame, account: Account): Html {
  return html`<dl class="facts">
    <dt>Id</dt>
    <dd><code>${account.id}</code></dd>
    <dt>State</dt>
    <dd>${account.state.replace('_', ' ')}, since ${moment(account.stateChangedAt, frame.now)}</dd>
    <dt>Plan</dt>
    <dd>${account.plan.replace('_', ' ')}</dd>
    <dt>Limits</dt>
    <dd>
      ${limitWords(limitsOf(account))}
      ${account.negotiatedLimits === null ? undefined : html`<br /><span class="soft small">negotiated</span>`}
    </dd>
    <dt>Identifier</dt>
    <dd>${account.identifier ?? html`<span class="soft">none</span>`}</dd>
    <dt>Regions</dt>
    <dd>
      ${account.allowedRegions?.join(', ') ?? html`<span class="soft">all that are offered</span>`}
    </dd>
    <dt>Models</dt>
    <dd>
      ${account.allowedModels?.join(', ') ?? html`<span class="soft">all that are offered</span>`}
    </dd>
    <dt>Responses</dt>
    <dd>${account.keepResponses ? 'kept for 24 hours' : 'not kept'}</dd>
    <dt>Legal hold</dt>
    <dd>
      ${account.legalHold ? 'receipts stay where they are' : html`<span class="soft">none</span>`}
    </dd>
    <dt>Billing</dt>
    <dd>${account.billing.name}<br />${account.billing.email}</dd>
    <dt>Technical</dt>
    <dd>${account.technical.name}<br />${account.technical.email}</dd>
    <dt>Opened</dt>
    <dd>${moment(account.createdAt, frame.now)}</dd>
  </dl>`;
}

/** What an operator can do to an account in its state. */
function acts(frame: Frame, parts: AccountParts): Html {
  const { account } = parts;
  const { state } = account;
  const why = (name: string): Html =>
    textArea({
      name,
      label: 'Reason',
      max: '500',
      help: 'The customer can read this in its audit log.',
    });
  const hasEnded = state === 'closed' || state === 'rejected';
  const limits = limitsOf(account);
  const offered: readonly (readonly [boolean, string, string, string, Html | undefined])[] = [
    [
      state === 'active',
      'suspend',
      'Suspend',
      'Requests with its keys are refused with customer_suspended within a second. The contacts get an e-mail. It can be reinstated.',
      why('suspend-reason'),
    ],
    [
      state === 'suspended',
      'reinstate',
      'Reinstate',
      'Its keys work again at once, provided that its screening is current and no review stands against it. The contacts get an e-mail.',
      why('reinstate-reason'),
    ],
    [
      state === 'approved',
      'sign',
      'Record the contract',
      'Only the SHA-256 of the signed document is kept. The signatory is then screened in the background.',
      html`<fieldset>
          <legend>Kind</legend>
          <div class="choices">
            <label
              ><input type="radio" name="kind" value="service" checked /><span
                >Service contract</span
              ></label
            >
            <label><input type="radio" name="kind" value="pilot" /><span>Pilot</span></label>
          </div>
        </fieldset>
        <div class="field" hidden>
          <label for="document">Signed document</label>
          <input id="document" type="file" data-digest="digest" aria-describedby="document-help" />
          <p class="help" id="document-help">
            Its SHA-256 is computed in this browser; the document is not sent.
          </p>
          <p class="error" role="alert"></p>
        </div>
        ${field({ name: 'digest', label: 'SHA-256 of the document', required: true, max: '64', help: 'What sha256sum FILE prints first.' })}
        ${field({ name: 'signatory', label: 'Signed for the organisation by', required: true, max: '200' })}
        ${field({ name: 'signed', label: 'Signed on', type: 'date', required: true })}`,
    ],
    [
      state === 'contracted',
      'activate',
      'Activate',
      'Keys can then be issued, and the contacts get an e-mail. This is refused until everyone named has been screened against the current lists, normally half a minute after the contract was recorded.',
      undefined,
    ],
    [
      !hasEnded,
      'plan',
      'Change the plan',
      'Takes effect at once. On the Audit plan, keys no longer expire.',
      html`<div class="field">
        <label for="plan">Plan</label>
        <select id="plan" name="plan">
          ${PLANS.map((plan) => html`<option value="${plan}" ${plan === account.plan ? html`selected` : undefined}>${plan.replace('_', ' ')}</option>`)}
        </select>
      </div>`,
    ],
    [
      !hasEnded && account.plan === 'enterprise',
      'limits',
      'Negotiated limits',
      'They take effect within seconds. Leave all four empty to use the plan’s limits.',
      html`${field({ name: 'rps', label: LIMIT_LABELS.requestsPerSecond, type: 'number', value: String(limits.requestsPerSecond) })}
      ${field({ name: 'burst', label: LIMIT_LABELS.burst, type: 'number', value: String(limits.burst) })}
      ${field({ name: 'day', label: LIMIT_LABELS.requestsPerDay, type: 'number', value: String(limits.requestsPerDay) })}
      ${field({ name: 'streams', label: LIMIT_LABELS.concurrentStreams, type: 'number', value: String(limits.concurrentStreams) })}`,
    ],
    [
      !hasEnded,
      'close',
      'Close',
      `Ends the account and revokes its keys. This cannot be undone. Its owners can read receipts, packs and the audit log for ${counted(parts.closedReadDays, 'day')} more; receipts stay verifiable. The contacts get an e-mail.`,
      why('close-reason'),
    ],
  ];
  const possible = offered.filter(([isOffered]) => isOffered);
  if (possible.length === 0)
    return html`<p class="soft">The account is closed; there is nothing left to do.</p>`;
  return html`${possible.map(
    ([, name, label, effect, fields]) =>
      html`<details class="act" ${parts.open === name ? html`open` : undefined}>
        <summary>${label}…</summary>
        <form class="form" method="post" action="${ADDRESS}/${account.id}/${name}">
          ${token(frame)}
          <p class="prose">${effect}</p>
          ${fields}
          <div>
            <button
              class="${name === 'suspend' || name === 'close' ? 'danger' : 'primary'}"
              type="submit"
            >
              ${label}
              ${name === 'suspend' || name === 'close' || name === 'reinstate' ? 'the account' : ''}
            </button>
          </div>
        </form>
      </details>`,
  )}`;
}

/** Keys as support sees them. */
export function keysTable(
  frame: Frame,
  keys: readonly KeyRecord[],
  organisations?: ReadonlyMap<string, string>,
): Html {
  return table(
    'Keys',
    [
      ...(organisations === undefined ? [] : ['Organisation']),
      'Name',
      'Key',
      'State',
      'Scopes',
      'Last used',
      'Created',
      'Id',
    ],
    keys.map((key) => {
      const state = stateAt(key, frame.now);
      return html`<tr>
        ${
          organisations === undefined
            ? undefined
            : html`<th scope="row" class="clip name">
                <a href="${ADDRESS}/${key.orgId}">${organisations.get(key.orgId) ?? key.orgId}</a>
              </th>`
        }
        ${
          organisations === undefined
            ? html`<th scope="row" class="clip name" title="${key.name}">${key.name}</th>`
            : html`<td class="clip name" title="${key.name}">${key.name}</td>`
        }
        <td class="nowrap">
          <a href="/dashboard/service/keys/${key.id}"><code>${displayText(key.display)}</code></a>
        </td>
        <td>${badge(state === 'active' ? 'good' : 'bad', state)} ${leakedBadge(key)}</td>
        <td class="nowrap soft" title="${key.scopes.join(', ')}">
          ${counted(key.scopes.length, 'scope')}
        </td>
        <td data-head="Last used">
          ${key.lastUsedAt === null ? html`<span class="soft">never</span>` : shortMoment(key.lastUsedAt, frame.now)}
        </td>
        <td data-head="Created">${shortMoment(key.createdAt, frame.now)}</td>
        <td data-head="Id">${shortId(key.id)}</td>
      </tr>`;
    }),
    'stacked',
  );
}

function members(frame: Frame, { members: all }: AccountParts): Html {
  return html`<section class="stack tight">
    <h2>Members</h2>
    ${
      all.length === 0
        ? html`<p class="soft">Nobody: <code>docket persons add</code> lets someone in.</p>`
        : table(
            'Members',
            ['Name', 'E-mail', 'Role', 'Since'],
            all.map(
              ({ name, email, role, since }) =>
                html`<tr>
                  <th scope="row" class="clip" title="${name}">${name}</th>
                  <td class="clip" title="${email}">${email}</td>
                  <td data-head="Role">${role}</td>
                  <td data-head="Since">${shortMoment(since, frame.now)}</td>
                </tr>`,
            ),
            'stacked',
          )
    }
  </section>`;
}

/** Domains of single sign-on, and the confirmation that they wait for. */
function domainsSection(frame: Frame, { account, domains, mayNot }: AccountParts) {
  if (domains.length === 0) return undefined;
  return html`<section class="stack tight">
    <h2>Domains of single sign-on</h2>
    <p class="soft prose">
      Confirm a domain only once you know that every address in it belongs to the organisation;
      never one where anyone can get an address.
    </p>
    ${table(
      'Domains',
      ['Domain', 'State', ACT],
      domains.map(
        ({ domain, confirmedAt }) =>
          html`<tr>
            <th scope="row" class="clip">${domain}</th>
            <td>${confirmedAt === null ? badge('warn', 'claimed') : badge('good', 'confirmed')}</td>
            <td class="num">
              ${
                confirmedAt !== null || mayNot !== undefined
                  ? undefined
                  : html`<form method="post" action="${ADDRESS}/${account.id}/domain">
                      ${token(frame)}<input type="hidden" name="domain" value="${domain}" />
                      <button type="submit" aria-label="Confirm ${domain}">Confirm</button>
                    </form>`
              }
            </td>
          </tr>`,
      ),
    )}
  </section>`;
}

function history(frame: Frame, { history: entries, names }: AccountParts): Html {
  return html`<section class="stack tight">
    <h2>History</h2>
    ${actsTable(frame, entries, names)}
  </section>`;
}

/** The newest acts of an audit log, beside what they are about. */
export function actsTable(
  frame: Frame,
  entries: readonly AuditEntry[],
  names: ReadonlyMap<string, string>,
): Html {
  return table(
    'History',
    ['When', 'Who', 'Action', 'Reason'],
    entries.map(
      (entry) =>
        html`<tr>
          <td>${shortMoment(entry.at, frame.now)}</td>
          <td class="clip">${names.get(entry.actorId) ?? `${entry.actorKind} ${entry.actorId}`}</td>
          <td class="nowrap"><code>${entry.action}</code></td>
          <td class="wrap">${reasonWords(entry)}</td>
        </tr>`,
    ),
    'stacked',
  );
}
