import { html, type Html } from '#api/html.ts';
import {
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditDetails,
  type AuditEntry,
} from '#shared/accounts/audit/entry.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { Frame } from '../parts/layout.ts';
import { dateTime } from '#shared/kernel/time.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import type { SignedHead } from '../parts/signed-head.ts';
import {
  choice,
  dayFields,
  empty,
  facts,
  field,
  moment,
  pager,
  shortId,
  shortMoment,
  table,
} from '../parts/elements.ts';

/** What the log was asked for; an empty text asks for nothing. */
export interface AuditFilters {
  action: AuditAction | '';
  /** Days, both included. */
  from: string;
  to: string;
  /** The id of a person or a key. */
  actor: string;
  subject: string;
}

export interface AuditParts {
  page: Page<AuditEntry>;
  /** Names of persons by id. */
  names: ReadonlyMap<string, string>;
  members: readonly { id: string; name: string }[];
  filters: AuditFilters;
  after: string | undefined;
  /** The newest signed head of the log; undefined before the first. */
  head: SignedHead | undefined;
  /** How much of the log is anchored, and since when (epoch milliseconds); null for nothing yet. */
  anchored: { size: number; at: number } | null;
}

/** Who did what: the append-only log of an organisation, newest first. */
export function auditPage(frame: Frame, parts: AuditParts): Html {
  const { page, names, filters, after } = parts;
  const asked = new URLSearchParams(Object.entries(filters).filter(([, text]) => text !== ''));
  const address = `/dashboard/${frame.membership!.orgId}/audit-log`;
  const next = page.hasMore ? page.items.at(-1)!.id : undefined;
  return html`<div class="head">
      <h1>Audit log</h1>
      ${
        parts.head === undefined
          ? undefined
          : html`<div class="acts">
              <a class="button" href="/verify#${address}">Verify in this browser</a>
              <a class="button" href="${address}.json" download>Download log</a>
            </div>`
      }
    </div>
    ${signedHead(frame, address, parts)}
    <form class="row end" method="get" action="${address}">
      ${choice({ name: 'action', label: 'Action' }, filters.action, [['', 'All'], ...AUDIT_ACTIONS.map((one) => [one, one] as const)])}
      ${whoField(parts)} ${dayFields(filters)}
      ${field({ name: 'subject', label: 'What, by id', value: filters.subject, max: '200' })}
      <button type="submit">Show</button>
      ${asked.size === 0 ? undefined : html`<a href="${address}">Show all</a>`}
      <a class="button" href="${address}.csv?${asked.toString()}" download>Download CSV</a>
    </form>
    ${seen(frame, parts)}
    ${
      page.items.length === 0
        ? empty(
            'Nothing here',
            html`Acts on keys, members and the account stand here, with who did them and when.
            ${asked.size === 0 ? 'Nothing has happened yet.' : 'Nothing matches these filters.'}`,
          )
        : table(
            'Acts',
            ['When', 'Who', 'Action', 'What', 'Reason', 'From'],
            page.items.map(
              (entry) =>
                html`<tr>
                  <td>${shortMoment(entry.at, frame.now)}</td>
                  <td class="clip name" title="${entry.actorKind} ${entry.actorId}">
                    <a href="${address}?${new URLSearchParams({ actor: entry.actorId }).toString()}"
                      >${names.get(entry.actorId) ?? `${entry.actorKind} ${entry.actorId}`}</a
                    >
                  </td>
                  <td class="nowrap"><code>${entry.action}</code></td>
                  ${whatOf(frame, entry)}
                  <td class="clip name" title="${reasonWords(entry)}">${reasonWords(entry)}</td>
                  <td class="clip short soft" title="${entry.address ?? ''}">
                    ${entry.address ?? ''}
                  </td>
                </tr>`,
            ),
            'stacked',
          )
    }
    ${pager('acts', { address, filters: { ...filters }, after, next })}`;
}

/** What the page shows, in words: a printed one has no filters. */
function seen({ now, membership }: Frame, { page, filters, after, names, head }: AuditParts): Html {
  const { action, from, to, actor, subject } = filters;
  const days =
    from === '' && to === ''
      ? ''
      : ` from ${from || 'the first'} to ${to || 'the newest'}, both days included`;
  const asked = [
    action === '' ? 'Acts of every kind' : action,
    actor === '' ? '' : ` by ${names.get(actor) ?? actor}`,
    subject === '' ? '' : ` on ${subject}`,
    days,
  ].join('');
  const last = page.items.at(-1);
  const part =
    after === undefined && !page.hasMore
      ? `all ${count(page.items.length)} of them`
      : `${count(page.items.length)} of them, ${after === undefined ? 'the newest' : 'further ones'}`;
  return html`<p class="soft small">
    ${asked}:
    ${part}${last === undefined ? '' : `, entries ${count(last.sequence)} to ${count(page.items[0]!.sequence)} of the log of ${membership!.orgName}`}.
    Seen
    ${dateTime(now)}${head === undefined ? '' : `, when the signed head had ${counted(head.size, 'act')}`}.
  </p>`;
}

/** The members, and who was asked for otherwise: a key, an operator, or a member who has left. */
function whoField({ members, names, filters: { actor } }: AuditParts): Html {
  const others = actor === '' || members.some(({ id }) => id === actor) ? [] : [actor];
  const persons = [
    ...members.map(({ id, name }) => [id, name] as const),
    ...others.map((id) => [id, names.get(id) ?? id] as const),
  ];
  return choice({ name: 'actor', label: 'Who' }, actor, [['', 'All'], ...persons]);
}

/** The pages of things, by the prefixes of their ids. */
const PAGES_OF: Readonly<Record<string, string>> = {
  key: 'keys',
  exp: 'exports',
  rcpt: 'receipts',
};

/** A thing leads to its page; what has none to all that was done to it. */
function subjectLink({ membership }: Frame, subject: string): Html {
  const page = PAGES_OF[subject.split('_', 1)[0]!];
  // A closed organisation has no page of keys any more.
  const place = page === 'keys' && membership!.orgState === 'closed' ? undefined : page;
  const query = new URLSearchParams({ subject }).toString();
  const path = place === undefined ? `audit-log?${query}` : `${place}/${subject}`;
  return html`<a href="/dashboard/${membership!.orgId}/${path}">${shortId(subject)}</a>`;
}

/** Why it was done. That a key leaked is a detail of the act, also where its reason is empty. */
export function reasonWords({ reason, details }: Pick<AuditEntry, 'reason' | 'details'>): string {
  const { leaked } = JSON.parse(details) as AuditDetails;
  return [leaked === true ? 'leaked' : '', reason ?? ''].filter((text) => text !== '').join(': ');
}

/** The thing acted upon; of an invitation, which has no id, whom it is for. */
function whatOf(frame: Frame, { subject, details }: AuditEntry): Html {
  if (subject !== null) return html`<td data-head="What">${subjectLink(frame, subject)}</td>`;
  const { email } = JSON.parse(details) as { email?: unknown };
  if (typeof email !== 'string') return html`<td></td>`;
  return html`<td class="clip" data-head="What" title="${email}">${email}</td>`;
}

/** What fixes the log from outside: who keeps a signed head sees whether anything before it was changed. */
function signedHead(frame: Frame, address: string, { head, anchored }: AuditParts): Html {
  if (head === undefined) {
    return html`<p class="soft">
      The head of this log is signed within half a minute of the first entry.
    </p>`;
  }
  return html`<details class="act">
    <summary>
      Signed head: ${counted(head.size, 'act')},
      ${anchored === null ? 'not anchored yet' : `${count(anchored.size)} anchored`}
    </summary>
    <div class="stack tight">
      <p class="prose">
        Each entry contains the hash of the one before it. Keep a signed head, and no entry before
        it can be changed, removed or inserted without your noticing;
        <code>docket audit verify-file</code> checks a log that you downloaded.
      </p>
      ${facts([
        ['Log', html`<code>${head.origin}</code>`],
        ['Hash of the last act', html`<code>${head.root}</code>`],
        [
          'Anchored',
          anchored === null
            ? html`<span class="soft">not yet</span>`
            : html`${counted(anchored.size, 'act')}, ${moment(anchored.at, frame.now)}`,
        ],
      ])}
      <p class="row">
        <a class="button" href="${address}/checkpoint.txt" download>Download signed head</a>
        ${
          anchored === null
            ? undefined
            : html`<a class="button" href="${address}/anchor.json" download
                >Download anchor proof</a
              >`
        }
      </p>
    </div>
  </details>`;
}
