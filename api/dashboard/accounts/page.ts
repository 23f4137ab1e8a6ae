import { html, type Html } from '#api/html.ts';
import {
  ACCOUNT_STATES,
  type Account,
  type AccountState,
  limitsOf,
} from '#shared/accounts/account.ts';
import { LIMIT_LABELS } from '#shared/accounts/checks.ts';
import {
  type AuditEntry,
  REASON_LENGTH_MAX,
  TICKET_LENGTH_MAX,
} from '#shared/accounts/audit/entry.ts';
import type { Review } from '#shared/accounts/vetting.ts';
import type { Page } from '#shared/kernel/page.ts';
import { PLAN_LIMITS, PLANS } from '#shared/kernel/plan.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { displayText } from '#shared/keys/describe.ts';
import { stateAt } from '#shared/keys/lifecycle.ts';
import { scopesOnPlan } from '#shared/keys/rules.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { counted } from '#shared/methodology/readable.ts';
import type { MemberWithFactors } from '#shared/persons/postgres/persons.ts';
import type { SignInDomain } from '#shared/persons/single-sign-on.ts';
import { limitWords } from '../parts/figures.ts';
import { leakedBadge } from '../keys/page.ts';
import { act, buttonForm, type Frame, token } from '../parts/layout.ts';
import { reasonWords } from '../audit/page.ts';
import {
  ACT,
  badge,
  choice,
  choices,
  empty,
  facts,
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
      ${choice({ name: 'state', label: 'State' }, state, [
        ['', 'any'],
        ...ACCOUNT_STATES.map((each) => [each, each.replace('_', ' ')] as const),
      ])}
      <button type="submit">Show</button>
      ${isAll ? undefined : html`<a href="${ADDRESS}">Show all</a>`}
    </form>
    ${
      page.items.length === 0
        ? empty(
            isAll ? 'No account yet' : 'No account matches',
            html`Organisations apply at <code>/dashboard/sign-up</code>, or are opened with
              <code>docket accounts create</code>.`,
          )
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
  members: readonly MemberWithFactors[];
  /** Contacts that have not confirmed their address. */
  unconfirmed: readonly string[];
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
        ${accountFacts(frame, parts)} ${elsewhere(account)}
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

/** Where else support looks at this account. */
function elsewhere({ id }: Account): Html {
  return html`<p class="row">
    <a href="/dashboard/service/policy?org=${id}">What screening has blocked of it</a>
  </p>`;
}

function accountFacts(frame: Frame, { account, unconfirmed }: AccountParts): Html {
  const contact = ({ name, email }: Account['billing']): Html =>
    html`${name}<br />${email}
      ${unconfirmed.includes(email) ? badge('warn', 'not confirmed') : undefined}`;
  return facts([
    ['Id', html`<code>${account.id}</code>`],
    [
      'State',
      html`${account.state.replace('_', ' ')}, since ${moment(account.stateChangedAt, frame.now)}`,
    ],
    ['Plan', account.plan.replace('_', ' ')],
    [
      'Limits',
      html`${limitWords(limitsOf(account))}
      ${account.negotiatedLimits === null ? undefined : html`<br /><span class="soft small">negotiated</span>`}`,
    ],
    ['Identifier', account.identifier ?? html`<span class="soft">none</span>`],
    [
      'Regions',
      account.allowedRegions?.join(', ') ?? html`<span class="soft">all that are offered</span>`,
    ],
    [
      'Models',
      account.allowedModels?.join(', ') ?? html`<span class="soft">all that are offered</span>`,
    ],
    ['Responses', account.keepResponses ? 'kept for 24 hours' : 'not kept'],
    [
      'Legal hold',
      account.legalHold ? 'receipts stay where they are' : html`<span class="soft">none</span>`,
    ],
    ['Billing', contact(account.billing)],
    ['Technical', contact(account.technical)],
    ['Opened', moment(account.createdAt, frame.now)],
  ]);
}

/** Everything that support does to an account, by the last part of its address. */
export type AccountActName =
  | 'suspend'
  | 'reinstate'
  | 'close'
  | 'sign'
  | 'activate'
  | 'plan'
  | 'limits'
  | 'identify'
  | 'keep-none'
  | 'hold'
  | 'release'
  | 'reset-factor'
  | 'domain';

/** Acts that say why, so that more than a name stands in the audit log. */
export const ASKS_REASON: ReadonlySet<string> = new Set<AccountActName>([
  'suspend',
  'reinstate',
  'close',
  'hold',
  'release',
  'reset-factor',
]);
const TAKES_AWAY: ReadonlySet<AccountActName> = new Set<AccountActName>([
  'suspend',
  'close',
  'keep-none',
  'release',
  'reset-factor',
]);
const OF_THE_ACCOUNT: ReadonlySet<AccountActName> = new Set<AccountActName>([
  'suspend',
  'reinstate',
  'close',
]);

/** What an operator can do to an account in its state. */
function acts(frame: Frame, parts: AccountParts): Html {
  const { account } = parts;
  const { state } = account;
  const resettable = parts.members.filter(({ factors }) =>
    factors.some((factor) => factor !== 'single sign-on'),
  );
  const hasEnded = state === 'closed' || state === 'rejected';
  const limits = limitsOf(account);
  const offered: readonly (readonly [boolean, AccountActName, string, string, Html | undefined])[] =
    [
      [
        state === 'active',
        'suspend',
        'Suspend',
        'Requests with its keys are refused with customer_suspended within a second. The contacts get an e-mail. It can be reinstated.',
        undefined,
      ],
      [
        state === 'suspended',
        'reinstate',
        'Reinstate',
        'Its keys work again at once, provided that its screening is current and no review stands against it. The contacts get an e-mail.',
        undefined,
      ],
      [
        state === 'approved',
        'sign',
        'Record the contract',
        'Only the SHA-256 of the signed document is kept. The signatory is then screened in the background.',
        html`<fieldset>
            <legend>Kind</legend>
            ${choices('radio', 'kind', [
              { value: 'service', words: 'Service contract', isChosen: true },
              { value: 'pilot', words: 'Pilot', isChosen: false },
            ])}
          </fieldset>
          <div class="field" hidden>
            <label for="document">Signed document</label>
            <input
              id="document"
              type="file"
              data-digest="digest"
              aria-describedby="document-help"
            />
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
        choice(
          { name: 'plan', label: 'Plan' },
          account.plan,
          PLANS.map((plan) => [plan, plan.replace('_', ' ')]),
        ),
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
        undefined,
      ],
      [
        !hasEnded,
        'identify',
        'Set the identifier',
        'Reports of evidence packs that are made from now on give it beside the name. Empty takes it away.',
        field({
          name: 'identifier',
          label: 'Identifier',
          value: account.identifier ?? '',
          max: '200',
          help: 'A LEI or a number in a register, with what it is: LEI 5299…',
        }),
      ],
      [
        !hasEnded && account.keepResponses,
        'keep-none',
        'Keep no responses',
        'Deletes the responses that are kept of it at once, and keeps none from now on. previous_response_id then finds none. An owner can switch it on again.',
        undefined,
      ],
      [
        !account.legalHold,
        'hold',
        'Begin a legal hold',
        'From now on no receipt of it is moved to the archive or dropped, however old. It changes nothing for its requests, and can be ended.',
        undefined,
      ],
      [
        account.legalHold,
        'release',
        'End the legal hold',
        'Its receipts are archived and dropped again as those of all others, the next time that their months are due. What is dropped does not come back.',
        undefined,
      ],
      [
        resettable.length > 0,
        'reset-factor',
        'Reset a second factor',
        'For a person who has lost app, recovery codes and passkeys; find out that it is they. All of these are removed and every session of theirs ends, also in other organisations; the password alone lets them in again. They get an e-mail. This cannot be undone.',
        choice(
          { name: 'member', label: 'Person' },
          undefined,
          resettable.map(({ id, name, email }) => [id, `${name}, ${email}`] as const),
        ),
      ],
    ];
  return html`${offered.map(([isOffered, name, label, effect, fields]) => {
    if (!isOffered) return undefined;
    const takesAway = TAKES_AWAY.has(name);
    return act(
      frame,
      {
        summary: `${label}…`,
        isOpen: parts.open === name,
        action: `${ADDRESS}/${account.id}/${name}`,
        button: OF_THE_ACCOUNT.has(name) ? `${label} the account` : label,
        tone: takesAway ? 'danger' : 'primary',
      },
      html`<p class="prose">${effect}</p>
        ${fields} ${why(name)}`,
    );
  })}`;
}

/** Why it is done, and which request to support it answers. */
function why(name: AccountActName): Html {
  const isAsked = ASKS_REASON.has(name);
  return html`${textArea({
    name: `${name}-reason`,
    label: isAsked ? 'Reason' : 'Reason, if there is one to say',
    max: String(REASON_LENGTH_MAX),
    required: isAsked,
    help:
      name === 'reset-factor'
        ? 'How you found out that it is they. It stands in the audit log of the service.'
        : 'The customer can read this in its audit log.',
  })}
  ${field({ name: `${name}-ticket`, label: 'Request to support, if it answers one', max: String(TICKET_LENGTH_MAX) })}`;
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
      const named = html`<a href="/dashboard/service/keys/${key.id}">${key.name}</a>`;
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
            ? html`<th scope="row" class="clip name" title="${key.name}">${named}</th>`
            : html`<td class="clip name" title="${key.name}">${named}</td>`
        }
        <td class="nowrap">
          <code>${displayText(key.display)}</code>
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

function members(frame: Frame, { account, members: all }: AccountParts): Html {
  const add = `docket persons add E-MAIL --name NAME --org ${account.id} --role member`;
  return html`<section class="stack tight">
    <h2>Members</h2>
    <p class="soft prose">
      Owners and admins invite and remove them. At the command line
      <code>${add}</code> lets a person in without asking them, and
      <code>docket persons remove</code> takes a part away.
    </p>
    ${
      all.length === 0
        ? html`<p class="soft">No member yet.</p>`
        : table(
            'Members',
            ['Name', 'E-mail', 'Role', 'Beside a password', 'Since'],
            all.map(
              ({ name, email, emailVerified, role, factors, since }) =>
                html`<tr>
                  <th scope="row" class="clip" title="${name}">${name}</th>
                  <td class="wrap">
                    ${email} ${emailVerified ? undefined : badge('warn', 'not confirmed')}
                  </td>
                  <td data-head="Role">${role}</td>
                  <td data-head="Beside a password">
                    ${factors.length === 0 ? html`<span class="soft">nothing</span>` : factors.join(', ')}
                  </td>
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
                  : buttonForm(frame, {
                      action: `${ADDRESS}/${account.id}/domain`,
                      button: 'Confirm',
                      label: `Confirm ${domain}`,
                      hidden: { domain },
                    })
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
