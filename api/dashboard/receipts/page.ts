import { html, type Html } from '#api/html.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { type Outcome, OUTCOMES } from '#shared/kernel/inference.ts';
import type { Page } from '#shared/kernel/page.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { RANKED_AMONG_MAX, RANKED_BY } from '#shared/ledger/receipt-ranks.ts';
import { count, QUANTITY_TITLES, type Scale, scaleFor } from '#shared/methodology/readable.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { inScale } from '../parts/figures.ts';
import type { Frame } from '../parts/layout.ts';
import { keyField } from '../keys/names.ts';
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

/** A receipt of the list. */
export interface ListedReceipt {
  id: string;
  document: ReceiptDocument;
}

/** A stored receipt as a row of the list. */
export function listed({ id, body }: { id: string; body: Uint8Array }): ListedReceipt {
  return { id, document: documentIn(body) };
}

/** A stored receipt: its form was checked when it was signed. */
export function documentIn(body: Uint8Array): ReceiptDocument {
  return JSON.parse(Buffer.from(body).toString()) as ReceiptDocument;
}

/** What the list was asked for, as it was typed. */
export interface ReceiptSearch {
  /** An id of any kind. */
  find: string;
  model: string;
  region: string;
  /** `2026-11-22`, UTC, both included. */
  from: string;
  to: string;
  /** A plan, or `degraded`; empty for all. */
  tier: ReceiptTier | '';
  /** Empty for all. */
  outcome: Outcome | '';
  /** Id of the key that the request had. */
  key: string;
  /** Empty for the newest first. */
  sort: ReceiptSort | '';
}

/** What a receipt says of its estimate: that of a plan, or none. */
export const TIERS = [...PLANS, 'degraded'] as const;
type ReceiptTier = (typeof TIERS)[number];

/** The ways in which the list is sorted, besides the newest first. */
export const SORTS = ['oldest', ...RANKED_BY] as const;
type ReceiptSort = (typeof SORTS)[number];

const SORT_WORDS: Readonly<Record<ReceiptSort, string>> = {
  oldest: 'oldest first',
  energy: 'most energy',
  gwp: 'most greenhouse gas',
  tokens: 'most tokens',
};

/** Receipts of one file: a spreadsheet opens them, and they are read as fast as it is fetched. */
export const CSV_RECEIPTS_MAX = 10_000;

export interface ReceiptsParts {
  page: Page<ListedReceipt>;
  search: ReceiptSearch;
  after: string | undefined;
  /** Names of keys by id. */
  keys: ReadonlyMap<string, string>;
  /** Nothing has the id that was typed. */
  notFound: boolean;
  /** Of a list by something else than time: whether all that was asked for was looked at. */
  isWhole: boolean;
}

const SHOWN = ['energy', 'gwp'] as const satisfies readonly QuantityName[];

/** Receipts of an organisation, newest first. */
export function receiptsPage(frame: Frame, parts: ReceiptsParts): Html {
  const { page, search, after, notFound } = parts;
  const address = `/dashboard/${frame.membership!.orgId}/receipts`;
  const { find: _find, ...filters } = search;
  const next = page.hasMore ? page.items.at(-1)!.id : undefined;
  const { sort, ...narrowing } = filters;
  const isFiltered = Object.values(narrowing).some((text) => text !== '');
  const asked = new URLSearchParams(Object.entries(filters).filter(([, text]) => text !== ''));
  return html`<div class="head">
      <h1>Receipts</h1>
      <div class="acts">
        <a class="button" href="${address}.csv?${asked.toString()}" download>Download CSV</a>
      </div>
    </div>
    ${findForm(address, {
      find: search.find,
      placeholder: 'rcpt_…, req_… or chatcmpl-…',
      notFound: notFound
        ? html`No receipt of this organisation has the id <code>${search.find}</code>. A receipt is
            there a moment after its answer; one that was deleted after its retention is not.`
        : undefined,
    })}
    <form class="row end" method="get" action="${address}">
      ${field({ name: 'model', label: 'Model', value: search.model, max: '300' })}
      ${field({ name: 'region', label: 'Region', value: search.region, max: '64' })}
      ${keyField(parts)} ${dayFields(search)}
      ${choice({ name: 'tier', label: 'Tier' }, search.tier, [
        ['', 'all'],
        ...TIERS.map(
          (tier) => [tier, tier === 'degraded' ? 'issued without estimate' : tier] as const,
        ),
      ])}
      ${choice({ name: 'outcome', label: 'Outcome' }, search.outcome, [['', 'all'], ...OUTCOMES.map((each) => [each, each] as const)])}
      ${choice({ name: 'sort', label: 'Sorted by' }, sort, [['', 'newest first'], ...SORTS.map((each) => [each, SORT_WORDS[each]] as const)])}
      <button type="submit">Show</button>
      ${asked.size === 0 ? undefined : html`<a href="${address}">Show all</a>`}
    </form>
    ${page.items.length === 0 ? nothing(frame, isFiltered || after !== undefined) : receiptTable(frame, page.items)}
    ${
      sort === '' || sort === 'oldest'
        ? pager('receipts', { address, filters, after, next, way: sort === '' ? 'older' : 'newer' })
        : rankedNote(parts)
    }
    <p class="soft small">
      The file has the figures of the ${count(CSV_RECEIPTS_MAX)}
      ${sort === 'oldest' ? 'oldest' : 'newest'} receipts that match, in the order of time.
    </p>`;
}

function rankedNote({ page, isWhole }: ReceiptsParts): Html {
  return html`<p class="soft small">
    ${
      isWhole
        ? 'All receipts of these days were looked at'
        : `Only the newest ${count(RANKED_AMONG_MAX)} receipts of these days were looked at; choose fewer days to see others`
    }${page.hasMore ? `, and the first ${count(page.items.length)} are shown.` : '.'}
    What is not known comes last.
  </p>`;
}

function nothing(frame: Frame, isFiltered: boolean): Html {
  const { orgId, orgState } = frame.membership!;
  if (orgState === 'closed' && !isFiltered) {
    return empty('No receipts', 'The organisation is closed and has no receipts.');
  }
  return isFiltered
    ? empty('No receipt matches', 'Try other days, or remove the model, the region or the outcome.')
    : empty(
        'No receipts yet',
        'Every answer to a request with one of your keys leaves a receipt here within a moment, as does every failure of a provider that was called for one. The page of a new key has an example request to paste.',
        html`<a class="button" href="/dashboard/${orgId}/keys">See the keys</a>`,
      );
}

/** Receipts as rows that lead to them, with the quantities of all in one unit. */
export function receiptTable(frame: Frame, items: readonly ListedReceipt[]): Html {
  const scales = Object.fromEntries(
    SHOWN.map((quantity) => [quantity, scaleFor(quantity, largestOf(items, quantity))]),
  ) as Record<(typeof SHOWN)[number], Scale>;
  return table(
    'Receipts',
    [
      'Asked',
      'Receipt',
      'Model',
      'Region',
      html`<span class="num">Tokens in</span>`,
      html`<span class="num">Tokens out</span>`,
      ...SHOWN.map(
        (quantity) =>
          html`<span class="num">${QUANTITY_TITLES[quantity]}, ${scales[quantity].unit}</span>`,
      ),
      'State',
    ],
    items.map(({ id, document }) => {
      const { model, region, inputTokens, outputTokens } = document.credentialSubject;
      return html`<tr>
        <td>${shortMoment(timeOfId(id), frame.now)}</td>
        <th scope="row">
          <a href="/dashboard/${frame.membership!.orgId}/receipts/${id}">${shortId(id)}</a>
        </th>
        <td class="clip short" title="${model}">${model}</td>
        <td class="nowrap">${region}</td>
        <td class="num" data-head="Tokens in">${tokens(inputTokens)}</td>
        <td class="num" data-head="Tokens out">${tokens(outputTokens)}</td>
        ${SHOWN.map((quantity) => {
          const found = document.measurement?.result.find((one) => one.quantityKind === quantity);
          const head = `${QUANTITY_TITLES[quantity]}, ${scales[quantity].unit}`;
          return html`<td class="num" data-head="${head}">
            ${
              found === undefined
                ? html`<span class="soft">not estimated</span>`
                : inScale(found, scales[quantity])
            }
          </td>`;
        })}
        <td>${stateBadge(document)}</td>
      </tr>`;
    }),
    'stacked',
  );
}

function largestOf(items: readonly ListedReceipt[], quantity: QuantityName): number {
  const values = items.flatMap(({ document }) =>
    (document.measurement?.result ?? [])
      .filter(({ quantityKind }) => quantityKind === quantity)
      .map(({ value }) => Number(value)),
  );
  return Math.max(0, ...values);
}

/** Missing is not zero. */
function tokens(number: number | undefined): Html | string {
  return number === undefined ? html`<span class="soft">not known</span>` : count(number);
}

const BADGES = {
  complete: ['good', 'complete'],
  partial: ['warn', 'partial'],
  truncated: ['warn', 'truncated'],
  failed: ['warn', 'failed'],
  refused: ['plain', 'refused'],
} as const satisfies Record<Outcome, unknown>;

/** What became of the request; and whether its footprint is known. */
export function stateBadge({ tier, credentialSubject }: ReceiptDocument): Html {
  if (tier === 'degraded') return badge('warn', 'degraded');
  const [tone, word] = BADGES[credentialSubject.outcome];
  return badge(tone, word);
}
