import { html, type Html } from '#api/html.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { type Outcome, OUTCOMES } from '#shared/kernel/inference.ts';
import type { Page } from '#shared/kernel/page.ts';
import { count, QUANTITY_TITLES, type Scale, scaleFor } from '#shared/methodology/readable.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { inScale } from '../parts/figures.ts';
import type { Frame } from '../parts/layout.ts';
import { keyField } from '../keys/names.ts';
import { badge, field, findForm, pager, shortId, shortMoment, table } from '../parts/elements.ts';

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
interface ReceiptSearch {
  /** An id of any kind. */
  find: string;
  model: string;
  region: string;
  /** `2026-11-22`, UTC. */
  day: string;
  /** `degraded`, or empty for all. */
  tier: string;
  /** Empty for all. */
  outcome: Outcome | '';
  /** Id of the key that the request had. */
  key: string;
}

export interface ReceiptsParts {
  page: Page<ListedReceipt>;
  search: ReceiptSearch;
  after: string | undefined;
  /** Names of keys by id. */
  keys: ReadonlyMap<string, string>;
  /** Nothing has the id that was typed. */
  notFound: boolean;
}

const SHOWN = ['energy', 'gwp'] as const satisfies readonly QuantityName[];

/** Receipts of an organisation, newest first. */
export function receiptsPage(frame: Frame, parts: ReceiptsParts): Html {
  const { page, search, after, notFound } = parts;
  const address = `/dashboard/${frame.membership!.orgId}/receipts`;
  const { find: _find, ...filters } = search;
  const next = page.hasMore ? page.items.at(-1)!.id : undefined;
  const isFiltered = Object.values(filters).some((text) => text !== '');
  return html`<div class="head"><h1>Receipts</h1></div>
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
      ${keyField(parts)}
      ${field({ name: 'day', label: 'Day, UTC', type: 'date', value: search.day })}
      <div class="field">
        <label for="tier">Estimate</label>
        <select id="tier" name="tier">
          <option value="">all</option>
          <option value="degraded" ${search.tier === 'degraded' ? html`selected` : undefined}>
            issued without one
          </option>
        </select>
      </div>
      <div class="field">
        <label for="outcome">Outcome</label>
        <select id="outcome" name="outcome">
          <option value="">all</option>
          ${OUTCOMES.map(
            (each) =>
              html`<option value="${each}" ${search.outcome === each ? html`selected` : undefined}>
                ${each}
              </option>`,
          )}
        </select>
      </div>
      <button type="submit">Show</button>
      ${isFiltered ? html`<a href="${address}">Show all</a>` : undefined}
    </form>
    ${page.items.length === 0 ? nothing(frame, isFiltered || after !== undefined) : receiptTable(frame, page.items)}
    ${pager('receipts', { address, filters, after, next })}`;
}

function nothing(frame: Frame, isFiltered: boolean): Html {
  const { orgId, orgState } = frame.membership!;
  if (orgState === 'closed' && !isFiltered) {
    return html`<div class="empty">
      <h2>No receipts</h2>
      <p class="prose">The organisation is closed and has no receipts.</p>
    </div>`;
  }
  const keysLink = html`<p><a class="button" href="/dashboard/${orgId}/keys">See the keys</a></p>`;
  return isFiltered
    ? html`<div class="empty">
        <h2>No receipt matches</h2>
        <p class="prose">Try another day, or remove the model, the region or the outcome.</p>
      </div>`
    : html`<div class="empty">
        <h2>No receipts yet</h2>
        <p class="prose">
          Every answer to a request with one of your keys leaves a receipt here within a moment, as
          does every failure of a provider that was called for one. The page of a new key has an
          example request to paste.
        </p>
        ${keysLink}
      </div>`;
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
