import { html, type Html } from '#api/html.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import type { Page } from '#shared/kernel/page.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import type { UsageFigures, UsageGroup } from '#shared/receipts/usage.ts';
import { LOOKED_THROUGH_MAX, receiptOf, type RequestRow } from '#shared/requests/row.ts';
import { reasonWords } from '../audit/page.ts';
import { facts, moment, shortId, shortMoment, table } from '../parts/elements.ts';
import type { Frame } from '../parts/layout.ts';
import { outcome } from '../requests/page.ts';
import { countedHere, type FiguresOfDays, figuresTable, requestsChart } from '../usage/overview.ts';

/** What was done with a key, and to it. */
export interface KeyActivity {
  keyId: string;
  isUsed: boolean;
  /** Its requests of each day. */
  byDay: FiguresOfDays;
  /** Of what it cost; null where there are no prices. */
  currency: string | null;
  /** Of the same days together, and by model. */
  total: UsageFigures;
  byModel: readonly UsageGroup[];
  /** The newest of those about its last use, the newest first. */
  requests: readonly RequestRow[];
  /** None of them is of the key, and those that were not looked at may be. */
  isNoneAmongMany: boolean;
  /** The act that made it; undefined where the log has none any more. */
  birth: AuditEntry | undefined;
  /** The newest first; undefined for members who may not read the audit log. */
  acts: Page<AuditEntry> | undefined;
  /** Names of persons by id. */
  names: ReadonlyMap<string, string>;
}

/** The sections of a key's page that follow its facts. */
export function activitySections(frame: Frame, parts: KeyActivity): Html {
  const base = `/dashboard/${frame.membership!.orgId}`;
  return html`${useSection(base, parts)} ${requestsSection(frame, base, parts)}
  ${parts.acts === undefined ? undefined : historySection(frame, base, parts, parts.acts)}`;
}

/** Who made the key. */
export function creatorOf({ birth, names }: KeyActivity): string | undefined {
  return birth && actorName(birth, names);
}

const actorName = (
  { actorId, actorKind }: AuditEntry,
  names: ReadonlyMap<string, string>,
): string => names.get(actorId) ?? `${actorKind} ${actorId}`;

function useSection(base: string, { keyId, byDay, byModel, total, currency }: KeyActivity): Html {
  return html`<section class="stack tight">
    <h2>Use in the last 30 days</h2>
    ${
      total.requests === 0
        ? html`<p class="soft">
            No request with this key has a receipt of these days. Those of other keys are under
            <a href="${base}/usage?by=key">Usage</a>.
          </p>`
        : html`<div class="charts">${requestsChart(byDay)}</div>
            ${figuresTable(
              'Use of this key',
              ['Model'],
              [
                { names: ['All'], figures: total },
                ...byModel
                  .toSorted((a, b) => b.requests - a.requests)
                  .slice(0, MODELS_SHOWN)
                  .map((figures) => ({ names: [figures.names[0] || 'not stated'], figures })),
              ],
              { currency },
            )}
            ${
              byModel.length > MODELS_SHOWN
                ? html`<p class="soft small">
                    The ${MODELS_SHOWN} models with most requests of ${byModel.length}.
                  </p>`
                : undefined
            }
            <p class="soft small">${countedHere(base)}</p>
            <p class="row">
              <a href="${base}/receipts?key=${keyId}">Its receipts</a>
              <a href="${base}/usage?by=key&amp;and=day">All keys by day, and as CSV</a>
            </p>`
    }
  </section>`;
}

function requestsSection(
  frame: Frame,
  base: string,
  { keyId, isUsed, requests, isNoneAmongMany }: KeyActivity,
): Html {
  return html`<section class="stack tight">
    <h2>Last requests</h2>
    ${
      requests.length === 0
        ? html`<p class="soft">
            ${noRequests(isUsed, isNoneAmongMany)} What is refused because of the key itself has no
            row.
          </p>`
        : html`${sums(base, keyId, requests)}
          ${table(
            'Last requests',
            ['Asked', 'Request', 'Outcome', 'Model or route', 'Region', 'From', 'Receipt'],
            requests.slice(0, REQUESTS_SHOWN).map((row) => {
              const receipt = receiptOf(row);
              const asked = row.model ?? row.requestedModel ?? row.route ?? '';
              return html`<tr>
                <td>${shortMoment(timeOfId(row.id), frame.now)}</td>
                <th scope="row"><a href="${base}/requests/${row.id}">${shortId(row.id)}</a></th>
                <td>${outcome(row)}</td>
                <td class="clip short" title="${asked}">${asked}</td>
                <td class="nowrap">${row.region ?? ''}</td>
                <td class="nowrap" data-head="From">${row.network ?? ''}</td>
                <td>
                  ${receipt === null ? undefined : html`<a href="${base}/receipts/${receipt}">receipt</a>`}
                </td>
              </tr>`;
            }),
            'stacked',
          )}`
    }
    <p class="row">
      <a href="${base}/requests?key=${keyId}">All its requests</a>
      <a href="${base}/requests?key=${keyId}&amp;status=failed">Refused and failed ones</a>
    </p>
  </section>`;
}

function noRequests(isUsed: boolean, isNoneAmongMany: boolean): string {
  if (isNoneAmongMany) {
    return `None of the newest ${count(LOOKED_THROUGH_MAX)} requests of the organisation that were asked at most a day before or after its last use is of this key. There are more of these days: choose fewer under “All its requests”.`;
  }
  return isUsed
    ? 'No requests are on record for the day before its last use.'
    : 'It has not been used.';
}

const REQUESTS_SHOWN = 10;
const MODELS_SHOWN = 10;
const NETWORKS_SHOWN = 10;

/** What the newest requests have in common: where they came from, and how those failed that did. */
function sums(base: string, keyId: string, requests: readonly RequestRow[]): Html {
  const networks = countedBy(requests, ({ network }) => network);
  const codes = countedBy(requests, ({ code }) => code);
  const all = requests.reduce((sum, row) => sum + row.requests, 0);
  return facts([
    ['Of the newest', counted(all, 'request')],
    [
      'Came from',
      networks.length === 0
        ? undefined
        : html`${networks.slice(0, NETWORKS_SHOWN).map(([name, times]) => html`<div><code>${name}</code> <span class="soft">${count(times)}</span></div>`)}
          ${networks.length > NETWORKS_SHOWN ? html`and ${count(networks.length - NETWORKS_SHOWN)} more networks` : undefined}`,
    ],
    [
      'Failed',
      codes.length === 0
        ? 'none'
        : html`${codes.map(
            ([code, times]) =>
              html`<div>
                <a href="${base}/requests?${new URLSearchParams({ key: keyId, code }).toString()}"
                  ><code>${code}</code></a
                >
                <span class="soft">${count(times)}</span>
              </div>`,
          )}`,
    ],
  ]);
}

/** How many requests have each value, the most frequent first; those without one are left out. */
function countedBy(
  rows: readonly RequestRow[],
  valueOf: (row: RequestRow) => string | null,
): [value: string, requests: number][] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = valueOf(row);
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + row.requests);
  }
  return [...counts].toSorted(([, one], [, other]) => other - one);
}

function historySection(
  frame: Frame,
  base: string,
  { keyId, names }: KeyActivity,
  acts: Page<AuditEntry>,
): Html {
  return html`<section class="stack tight">
    <h2>History</h2>
    ${table(
      'History',
      ['When', 'Who', 'Action', 'Reason'],
      acts.items.map((entry) => {
        const who = actorName(entry, names);
        const why = reasonWords(entry);
        return html`<tr>
          <td class="nowrap">${moment(entry.at, frame.now)}</td>
          <td class="clip name" title="${entry.actorKind} ${entry.actorId}">${who}</td>
          <td class="nowrap"><code>${entry.action}</code></td>
          <td class="clip name" title="${why}">${why}</td>
        </tr>`;
      }),
      'stacked',
    )}
    <p>
      <a href="${base}/audit-log?subject=${keyId}"
        >${acts.hasMore ? 'All of its history; these are the newest entries' : 'Its history in detail'}</a
      >
    </p>
  </section>`;
}

/** Acts that a key's page shows. */
export const HISTORY_LENGTH = 20;
