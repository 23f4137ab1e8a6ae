import { html, type Html } from '#api/html.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { TAG_LENGTH_MAX } from '#shared/kernel/tags.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import type { RequestPage } from '#shared/requests/postgres/requests.ts';
import {
  type CodeCount,
  LOOKED_THROUGH_MAX,
  receiptOf,
  type RequestRow,
} from '#shared/requests/row.ts';
import {
  badge,
  choice,
  dayFields,
  empty,
  field,
  findForm,
  pager,
  shortId,
  shortMoment,
  table,
} from '../parts/elements.ts';
import type { Frame } from '../parts/layout.ts';
import { keyField } from '../keys/names.ts';
import { noTags } from '../parts/no-tags.ts';

/** What the list was asked for, as it was typed; what is empty asks for nothing. */
export interface RequestSearch {
  /** An id of a request, a receipt or an answer. */
  find: string;
  status: string;
  code: string;
  model: string;
  region: string;
  key: string;
  /** As `key=value`. */
  tag: string;
  /** `2026-11-22`, UTC, both included. */
  from: string;
  to: string;
  /** Milliseconds. */
  slow: string;
}

export interface RequestsParts {
  page: RequestPage;
  search: RequestSearch;
  after: string | undefined;
  /** Whether the list looks for new requests by itself. */
  isLive: boolean;
  failures: { codes: readonly CodeCount[]; isWhole: boolean };
  /** The tags that the organisation has declared. */
  tags: readonly string[];
  /** Names of keys by id. */
  keys: ReadonlyMap<string, string>;
  /** Nothing has the id that was typed. */
  notFound: boolean;
}

const STATUSES = [
  ['', 'all'],
  ['ok', 'answered'],
  ['failed', 'failed'],
  ['4xx', 'failed, 4xx'],
  ['5xx', 'failed, 5xx'],
  ['499', 'client left'],
] as const;

/** Codes that are counted above the list; the list itself is filtered by any. */
const CODES_SHOWN = 8;

/** Requests of an organisation, newest first. */
export function requestsPage(frame: Frame, parts: RequestsParts): Html {
  const { page, search, after, notFound } = parts;
  const address = `/dashboard/${frame.membership!.orgId}/requests`;
  const { find: _find, ...filters } = search;
  const next = page.hasMore ? page.items.at(-1)?.id : undefined;
  const isFiltered = Object.values(filters).some((text) => text !== '');
  return html`<div class="head">
      <h1>Requests</h1>
      <div class="acts"><a class="button" href="${address}/times">Errors and times</a></div>
    </div>
    <p class="prose soft">
      Every request with a valid key, refused and failed ones included, without its text. A request
      appears about a second after its answer has ended. If a process of the gateway is killed, its
      last second is missing here; tokens and footprint are counted from receipts, under
      <a href="/dashboard/${frame.membership!.orgId}/usage">Usage</a>.
    </p>
    ${findForm(address, {
      find: search.find,
      placeholder: 'req_…, rcpt_… or chatcmpl-…',
      notFound: notFound
        ? html`No request of this organisation has the id <code>${search.find}</code>. One is here
            about a second after its answer; refusals that a row counts together have no page of
            their own, and what is over its time is gone.`
        : undefined,
    })}
    ${filterForm(address, parts, isFiltered)}
    ${parts.tags.length === 0 ? noTags(frame.membership!) : undefined}
    ${failureCounts(address, parts)}
    ${after === undefined ? following(address, filters, parts.isLive) : undefined}
    <div class="stack" id="list" ${parts.isLive ? html`data-live="${LIVE_S}"` : undefined}>
      ${
        page.items.length === 0
          ? page.isNoneAmongMany
            ? noneAmongMany()
            : nothing(frame, isFiltered || after !== undefined)
          : requestTable(frame, parts)
      }
    </div>
    ${pager('requests', { address, filters, after, next })}`;
}

/** Between two looks for new requests; a request is written about a second after its end. */
const LIVE_S = 3;

/** The way to a list that looks for new requests by itself, and back. It takes a script. */
function following(
  address: string,
  filters: Readonly<Record<string, string>>,
  isLive: boolean,
): Html {
  const asked = Object.entries(filters).filter(([, text]) => text !== '');
  const here = `${address}?${new URLSearchParams([...asked, ...(isLive ? [] : [['live', 'yes']])]).toString()}`;
  return html`<p class="row small" data-script>
    ${
      isLive
        ? html`<span class="soft">Looks for new requests every ${LIVE_S} seconds.</span>
            <a href="${here}">Stop</a>`
        : html`<a href="${here}">Follow new requests</a>`
    }
  </p>`;
}

function filterForm(
  address: string,
  { search, keys, tags }: RequestsParts,
  isFiltered: boolean,
): Html {
  return html`<form class="row end" method="get" action="${address}">
    ${choice({ name: 'status', label: 'Status' }, search.status, STATUSES)}
    ${field({ name: 'code', label: 'Code of the error', value: search.code, max: '128' })}
    ${keyField({ search, keys })}
    ${field({ name: 'model', label: 'Model', value: search.model, max: '300' })}
    ${field({ name: 'region', label: 'Region', value: search.region, max: '64' })}
    ${
      tags.length === 0 && search.tag === ''
        ? undefined
        : field({
            name: 'tag',
            label: `Tag, as ${tags[0] ?? 'team'}=…`,
            value: search.tag,
            max: String(TAG_LENGTH_MAX),
          })
    }
    ${dayFields(search)}
    ${field({ name: 'slow', label: 'At least, ms', type: 'number', min: '0', value: search.slow })}
    <button type="submit">Show</button>
    ${isFiltered ? html`<a href="${address}">Show all</a>` : undefined}
  </form>`;
}

function failureCounts(address: string, { search, failures }: RequestsParts): Html | undefined {
  const { codes, isWhole } = failures;
  if (codes.length === 0) return undefined;
  const period = { from: search.from, to: search.to };
  const link = (code: string): string => {
    const asked = Object.entries({ code, ...period }).filter(([, text]) => text !== '');
    return `${address}?${new URLSearchParams(asked).toString()}`;
  };
  const more = codes.length - CODES_SHOWN;
  const when = search.from === '' && search.to === '' ? 'that are kept' : 'of these days';
  return html`<section class="stack tight">
    <h2>Failed, by code</h2>
    <ul class="plain">
      ${codes.slice(0, CODES_SHOWN).map(
        ({ code, requests }) =>
          html`<li>
            <a href="${link(code)}"><code>${code}</code></a> ${counted(requests, 'request')}
          </li>`,
      )}
    </ul>
    <p class="soft small">
      Of the requests
      ${when}${isWhole ? '' : ', the newest 10,000 rows of failed ones'}${
        more > 0 ? `; ${counted(more, 'more code')} not shown` : ''
      }.
    </p>
  </section>`;
}

const noneAmongMany = (): Html =>
  empty(
    'No request matches among the newest',
    `The newest ${count(LOOKED_THROUGH_MAX)} requests of these days were searched. Choose fewer days.`,
  );

function nothing(frame: Frame, isFiltered: boolean): Html {
  const { orgId } = frame.membership!;
  return isFiltered
    ? empty('No request matches', 'Try other days, or remove the status, the model or the key.')
    : empty(
        'No requests',
        'Each request with one of your keys appears here about a second after it has ended, and stays for as long as requests are kept. The page of a new key has an example request to paste.',
        html`<a class="button" href="/dashboard/${orgId}/keys">See the keys</a>`,
      );
}

function requestTable(frame: Frame, { page, keys }: RequestsParts): Html {
  const base = `/dashboard/${frame.membership!.orgId}`;
  const areTagged = page.items.some(({ tags }) => tags !== null);
  return table(
    'Requests',
    [
      'Asked',
      'Request',
      'Outcome',
      'Model or route',
      'Region',
      'Key',
      ...(areTagged ? ['Tags'] : []),
      html`<span class="num">Tokens in</span>`,
      html`<span class="num">Tokens out</span>`,
      html`<span class="num">To the first, ms</span>`,
      html`<span class="num">In all, ms</span>`,
      'Receipt',
    ],
    page.items.map((row) => {
      const receipt = receiptOf(row);
      const asked = row.model ?? row.requestedModel ?? row.route ?? '';
      const key = keys.get(row.keyId) ?? row.keyId;
      return html`<tr>
        <td>${shortMoment(timeOfId(row.id), frame.now)}</td>
        <th scope="row"><a href="${base}/requests/${row.id}">${shortId(row.id)}</a></th>
        <td>${outcome(row)}</td>
        <td class="clip short" title="${asked}">${asked}</td>
        <td class="nowrap">${row.region ?? ''}</td>
        <td class="clip short" title="${key}">${key}</td>
        ${
          areTagged
            ? html`<td class="clip short" title="${row.tags?.join(' ') ?? ''}">
                ${row.tags?.join(' ') ?? ''}
              </td>`
            : undefined
        }
        <td class="num" data-head="Tokens in">${figure(row.inputTokens)}</td>
        <td class="num" data-head="Tokens out">${figure(row.outputTokens)}</td>
        <td class="num" data-head="To the first, ms">${figure(row.firstMs)}</td>
        <td class="num" data-head="In all, ms">${count(row.totalMs)}</td>
        <td>
          ${receipt === null ? undefined : html`<a href="${base}/receipts/${receipt}">receipt</a>`}
        </td>
      </tr>`;
    }),
    'stacked',
  );
}

const figure = (value: number | null): string => (value === null ? '' : count(value));

/** How a request ended, and of a row that stands for several how many there were. */
export function outcome(row: RequestRow): Html {
  const { status, code, requests } = row;
  const times = requests > 1 ? html` <strong>× ${count(requests)}</strong>` : undefined;
  if (code !== null)
    return html`${badge(status === 429 ? 'warn' : 'bad', `${status} ${code}`)}${times}`;
  if (status === 499) return html`${badge('warn', '499 client left')}${times}`;
  if (status >= 400) return html`${badge('bad', String(status))}${times}`;
  const how = row.replayOf === null ? 'answered' : 'replayed';
  return html`${badge('good', `${status} ${how}`)}${times}`;
}
