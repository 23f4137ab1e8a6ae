import { html, type Html } from '#api/html.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { count } from '#shared/methodology/readable.ts';
import type { RequestFacts } from '#shared/receipts/postgres/request-look-up.ts';
import { NOTE_LENGTH_MAX } from '../forms.ts';
import { keysTable } from '../accounts/page.ts';
import { type Frame, token } from '../parts/layout.ts';
import { facts, field, moment, note, told } from '../parts/elements.ts';

const ADDRESS = '/dashboard/service/look-up';

export interface LookUpParts {
  asked: string;
  /** What is on record of a request; null for none. */
  request?: RequestFacts | null;
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
      ${answer(frame, parts)}
    </section>
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
  { asked, request, keys, organisations }: LookUpParts,
): Html | undefined {
  if (request !== undefined) {
    return request === null
      ? note(
          'plain',
          html`<p>
            No receipt has this id: the request was refused, failed before an upstream was called,
            is still running, or never existed. Requests that an account is not allowed to make
            leave no receipt; <code>docket requests show</code> says what became of them.
          </p>`,
        )
      : requestFacts(frame, request);
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
  return keysTable(frame, keys, organisations ?? new Map());
}

function requestFacts(frame: Frame, known: RequestFacts): Html {
  const counts = (number: number | null): string | null => (number === null ? null : count(number));
  const rows: readonly (readonly [string, Html | string | null])[] = [
    ['Request', html`<code>${known.requestId}</code>`],
    ['Receipt', html`<code>${known.receiptId}</code>`],
    [
      'Organisation',
      html`<a href="/dashboard/service/accounts/${known.orgId}"
        >${known.organisationName ?? known.orgId}</a
      >`,
    ],
    ['Key', known.keyId === null ? null : html`<code>${known.keyId}</code>`],
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
  return html`${facts(rows.map(([name, value]) => [name, value ?? undefined]))}
    <p class="help">
      Prompts and answers cannot be looked up: where responses are kept, they are sealed for the
      organisation that made them.
    </p>`;
}
