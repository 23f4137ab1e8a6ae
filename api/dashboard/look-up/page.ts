import { html, type Html } from '#api/html.ts';
import { inline } from '#api/docs/page/markdown.ts';
import { codeRow, type ErrorCode } from '#shared/kernel/error-codes.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { count } from '#shared/methodology/readable.ts';
import type { RequestFacts } from '#shared/receipts/postgres/request-look-up.ts';
import type { RequestRow } from '#shared/requests/row.ts';
import { NOTE_LENGTH_MAX } from '../forms.ts';
import { keysTable } from '../accounts/page.ts';
import { type Frame, token } from '../parts/layout.ts';
import { factsSection, field, moment, note, told } from '../parts/elements.ts';
import { outcome } from '../requests/page.ts';

const ADDRESS = '/dashboard/service/look-up';

export interface LookUpParts {
  asked: string;
  /** What the receipt of a request says of it; null for none. */
  request?: RequestFacts | null;
  /** What became of the request, refused and failed ones too; null where that is not on record. */
  row?: RequestRow | null;
  keys?: readonly KeyRecord[];
  /** Names of organisations by id. */
  organisations?: ReadonlyMap<string, string>;
  problem?: string;
  done?: Html;
}

/** What support is asked: what became of a request, whose key this is, and what to do when one has leaked. */
export function lookUpPage(frame: Frame, parts: LookUpParts): Html {
  return html`<div class="head"><h1>Look up</h1></div>
    ${told(parts)}
    <section class="stack tight">
      <h2>A request, or a key</h2>
      <form class="row end" method="post" action="${ADDRESS}">
        ${token(frame)}
        <div class="field grow">
          <label for="q"
            >Id of a request, receipt or answer, a receipt’s address, or the first characters of a
            key</label
          >
          <input
            id="q"
            name="q"
            value="${parts.asked}"
            maxlength="512"
            placeholder="req_…, chatcmpl-… or dkt_AbCd"
            autocomplete="off"
          />
        </div>
        <button class="primary" type="submit">Look up</button>
      </form>
    </section>
    ${answer(frame, parts)}
    <section class="stack tight">
      <h2>A key has leaked</h2>
      <p class="prose">
        Paste the key, or its SHA-256 in hexadecimal. If it is one of ours, it is revoked at once
        and refused everywhere within a second; its organisation gets an e-mail and cannot restore
        it without support. The key is not kept, logged or shown again.
      </p>
      <form class="form" method="post" action="${ADDRESS}/leaked" autocomplete="off">
        ${token(frame)}
        ${field({ name: 'leaked', label: 'Key or SHA-256', type: 'password', autocomplete: 'off', required: true, max: '128' })}
        ${field({ name: 'note', label: 'Where it was found (optional)', max: String(NOTE_LENGTH_MAX) })}
        <div><button class="danger" type="submit">Revoke this key</button></div>
      </form>
    </section>`;
}

function answer(
  frame: Frame,
  { asked, request, row, keys, organisations = new Map() }: LookUpParts,
): Html | undefined {
  if (request !== undefined) {
    if (request === null && row == null) {
      return note(
        'plain',
        html`<p>
          Nothing is on record of this id: the request had no valid key, is still running, is
          counted in the row of another like it, is older than requests are kept and left no
          receipt, or never existed.
        </p>`,
      );
    }
    return html`${row == null ? undefined : whatBecame(frame, row, organisations)}
    ${request === null ? undefined : receiptFacts(frame, request, row != null)}
    ${
      request === null
        ? undefined
        : html`<p class="help">
            Prompts and answers cannot be looked up: where responses are kept, they are sealed for
            the organisation that made them.
          </p>`
    }`;
  }
  if (keys === undefined) return undefined;
  if (keys.length === 0) {
    return note(
      'plain',
      html`<p>
        No key begins with <code>${asked}</code>. Enter at least its first five characters, as in
        dkt_A; only the first eight are kept. A key cannot be found once its record is deleted, 90
        days after its revocation. To find an organisation, go to
        <a href="/dashboard/service/accounts">Accounts</a>.
      </p>`,
    );
  }
  return keysTable(frame, keys, organisations);
}

/** What the customer sees on the page of the request, and whose it was. */
function whatBecame(
  frame: Frame,
  row: RequestRow,
  organisations: ReadonlyMap<string, string>,
): Html {
  const at = timeOfId(row.id);
  const means = row.code === null ? undefined : codeRow(row.code as ErrorCode);
  const model =
    row.requestedModel === null
      ? row.model
      : `${row.model ?? 'none'}, asked for as ${row.requestedModel}`;
  const ms = (value: number | null) => (value === null ? undefined : `${count(value)} ms`);
  return factsSection('What became of it', [
    ['Outcome', outcome(row)],
    ['What it means', means && inline(means.when)],
    ['What the caller can do', means && inline(means.advice)],
    ['Request', html`<code>${row.id}</code>`],
    [
      'Organisation',
      html`<a href="/dashboard/service/accounts/${row.orgId}"
        >${organisations.get(row.orgId) ?? row.orgId}</a
      >`,
    ],
    ['Key', html`<a href="/dashboard/service/keys/${row.keyId}"><code>${row.keyId}</code></a>`],
    [row.requests > 1 ? 'First' : 'Asked', moment(at, frame.now)],
    ['Last', row.lastMs === null ? undefined : moment(at + row.lastMs, frame.now)],
    ['Route', row.route ?? undefined],
    ['Model', model ?? undefined],
    ['Region', row.region ?? undefined],
    ['Until it was taken', ms(row.queuedMs)],
    ['To the first', ms(row.firstMs)],
    ['In all', ms(row.totalMs)],
    ['Calls upstream', row.upstreamCalls === null ? undefined : count(row.upstreamCalls)],
  ]);
}

/** Whose it was is not said again where the request itself is shown. */
function receiptFacts(frame: Frame, known: RequestFacts, isBelow: boolean): Html {
  const counts = (number: number | null): string | null => (number === null ? null : count(number));
  const rows: readonly (readonly [string, Html | string | null])[] = [
    ['Request', isBelow ? null : html`<code>${known.requestId}</code>`],
    ['Receipt', html`<code>${known.receiptId}</code>`],
    [
      'Organisation',
      isBelow
        ? null
        : html`<a href="/dashboard/service/accounts/${known.orgId}"
            >${known.organisationName ?? known.orgId}</a
          >`,
    ],
    ['Key', isBelow || known.keyId === null ? null : html`<code>${known.keyId}</code>`],
    ['Receipt issued', known.issuedAt === null ? null : moment(known.issuedAt, frame.now)],
    ['Outcome', known.outcome],
    ['Kind of receipt', known.kind],
    ['Refused by rule', known.refusalRule],
    ['Model', known.model],
    ['Region', known.region],
    ['Route', known.route],
    ['Tier', known.tier],
    ['Tokens in', counts(known.inputTokens)],
    ['Tokens out', counts(known.outputTokens)],
    ['Place in the ledger', counts(known.ledgerIndex) ?? 'not integrated yet'],
    ['Revised by', known.revisedBy === null ? null : html`<code>${known.revisedBy}</code>`],
  ];
  return factsSection(
    'Its receipt',
    rows.map(([name, value]) => [name, value ?? undefined]),
  );
}
