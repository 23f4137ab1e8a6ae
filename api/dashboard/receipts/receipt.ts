import { html, type Html } from '#api/html.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { displayText } from '#shared/keys/describe.ts';
import type { LedgerEntry } from '#shared/ledger/entries.ts';
import type { Derivation } from '#shared/methodology/derivation.ts';
import { count, QUALITY_WORDS, QUANTITY_TITLES } from '#shared/methodology/readable.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';
import { may } from '#shared/persons/roles.ts';
import { tokenWords } from '#shared/receipts/token-words.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { ReceiptVerdict } from '#shared/receipts/verify.ts';
import { derivationSections } from './derivation.ts';
import { estimateCards } from '../parts/figures.ts';
import { type Frame, token } from '../parts/layout.ts';
import {
  badge,
  copyable,
  factsSection,
  field,
  moment,
  note,
  shortId,
  table,
  told,
} from '../parts/elements.ts';
import { stateBadge } from './page.ts';

/** How the numbers came about; or why the page does not say it. */
export type Explained = Derivation | 'not on the plan' | 'not estimated' | 'not readable';

export interface ReceiptParts {
  id: string;
  document: ReceiptDocument;
  /** The exact bytes, as text. */
  text: string;
  verdict: ReceiptVerdict;
  /** Null until it is in the ledger. */
  entry: LedgerEntry | null;
  /** Ids of its chain, oldest first. */
  revisions: readonly string[];
  key: KeyRecord | undefined;
  explained: Explained;
  problem?: string;
  done?: string;
}

/** One receipt, for a person. */
export function receiptPage(frame: Frame, parts: ReceiptParts): Html {
  const { id, document, entry, verdict } = parts;
  const address = `/dashboard/${frame.membership!.orgId}/receipts`;
  return html`<div class="head">
      <p class="crumb"><a href="${address}">Receipts</a></p>
      <h1>Receipt ${shortId(id)}</h1>
      ${stateBadge(document)}
      ${verdict.good ? badge('good', 'signature holds') : badge('bad', 'does not verify')}
      ${
        entry === null
          ? badge('warn', 'not in the ledger yet')
          : badge('plain', `ledger #${count(entry.index)}`)
      }
      <div class="acts">
        <a class="button" href="/verify#${id}">Verify in this browser</a>
        <a class="button" href="${address}/${id}/receipt.json" download>Download</a>
      </div>
    </div>
    ${told(parts)} ${standing(address, parts)} ${figures(document)} ${asked(frame, parts)}
    ${chain(frame, address, parts)} ${explanation(parts.explained)} ${check(address, parts)}
    ${flagging(frame, address, parts)}
    <details class="act">
      <summary>The receipt as it was signed</summary>
      <pre tabindex="0">${JSON.stringify(JSON.parse(parts.text), null, 2)}</pre>
    </details>`;
}

/** What a reader has to know before the numbers: that others have taken their place, or that there are none. */
function standing(address: string, { id, document, revisions }: ReceiptParts): Html | undefined {
  const newest = revisions.at(-1);
  if (newest !== undefined && newest !== id) {
    return note(
      'warn',
      html`<p>
        <strong>This receipt was revised.</strong> It stays as it was signed; the figures that count
        now are those of <a href="${address}/${newest}">the newest revision</a>.
      </p>`,
    );
  }
  if (document.credentialSubject.outcome === 'failed') {
    return note(
      'warn',
      html`<p>
        <strong>The request failed.</strong> An upstream was called, but no answer came of it. What
        the calls used is not known, so there are no tokens and no estimate.
      </p>`,
    );
  }
  if (document.explanation === undefined) return undefined;
  return note('warn', html`<p><strong>Not estimated.</strong> ${document.explanation}</p>`);
}

const QUANTITIES = Object.keys(QUANTITY_TITLES) as QuantityName[];

function figures({ measurement }: ReceiptDocument): Html | undefined {
  if (measurement === undefined) return undefined;
  const { result, dataQuality, software, qualifiedAssociation } = measurement;
  const { pathname } = new URL(qualifiedAssociation.hadPlan);
  const methodology = pathname.split('/').slice(-2).join(' ');
  return html`<section class="stack tight">
    <h2 class="hidden-words">Figures</h2>
    ${estimateCards(
      QUANTITIES.map(
        (name) => [name, result.find(({ quantityKind }) => quantityKind === name)] as const,
      ),
    )}
    <p class="soft small">
      Brackets are 5–95 % intervals. Quality of the data ${dataQuality}:
      ${QUALITY_WORDS[dataQuality]}. Computed by ${software} by the methodology
      <a href="${pathname}">${methodology}</a>, with its formulas and factors;
      <a href="/docs/guides/methodology">how to read it</a>.
    </p>
  </section>`;
}

function asked(frame: Frame, { document, key, id }: ReceiptParts): Html {
  const subject = document.credentialSubject;
  const more = subject as Partial<Record<string, unknown>>;
  const used = tokenWords(subject);
  const text = (name: string): string | undefined => {
    const value = more[name];
    if (typeof value === 'number') return count(value);
    return typeof value === 'string' ? value : undefined;
  };
  const rows: readonly (readonly [string, Html | string | undefined])[] = [
    ['Asked', moment(timeOfId(id), frame.now)],
    [
      'Model',
      html`<code>${subject.model}</code> ${
          text('modelVersion') === undefined
            ? undefined
            : html`<span class="soft">as ${text('modelVersion')}</span>`
        }${
          text('requestedModel') === undefined
            ? undefined
            : html` <span class="soft">asked for as ${text('requestedModel')}</span>`
        }`,
    ],
    [
      'Region',
      html`<code>${subject.region}</code> ${
          subject.gridZone === undefined
            ? undefined
            : html`<span class="soft">grid zone ${subject.gridZone}</span>`
        }`,
    ],
    [
      'Key',
      key === undefined
        ? undefined
        : html`${frame.membership!.orgState === 'closed' ? key.name : html`<a href="/dashboard/${key.orgId}/keys/${key.id}">${key.name}</a>`}
          ${key.playgroundOf === null ? html`<code>${displayText(key.display)}</code>` : undefined}`,
    ],
    ['Operation', html`<code>${subject.route}</code>`],
    [
      'Tokens',
      html`${used.tokens}
        <span class="soft">${cached(subject.cachedInputTokens)} ${used.counted}</span>`,
    ],
    ['Tier', document.tier],
    [
      'Answer',
      text('answerId') === undefined ? undefined : copyable('answer-id', text('answerId')!),
    ],
    [
      'Answer, as the upstream names it',
      text('upstreamAnswerId') === undefined
        ? undefined
        : html`<code>${text('upstreamAnswerId')}</code>`,
    ],
    [
      'Goes on from',
      text('previous') === undefined
        ? undefined
        : html`<a href="/dashboard/${frame.membership!.orgId}/receipts/${lastOf(text('previous')!)}"
            ><code>${lastOf(text('previous')!)}</code></a
          >`,
    ],
    ['Request', copyable('request-id', lastOf(subject.id))],
    ['Receipt', copyable('receipt-id', id)],
    ['Attempts', text('attempts')],
    [
      'Time at the upstream',
      text('upstreamMs') === undefined ? undefined : `${text('upstreamMs')} ms`,
    ],
    [
      'Failed with',
      text('failure') === undefined ? undefined : html`<code>${text('failure')}</code>`,
    ],
    ['Blocked by', ruleOf(more['policy'])],
  ];
  return factsSection('The request', rows);
}

function cached(number: number | undefined): string {
  return number === undefined || number === 0 ? '' : `${count(number)} of the prompt from a cache;`;
}

function ruleOf(policy: unknown): string | undefined {
  if (typeof policy !== 'object' || policy === null) return undefined;
  const { rule, version } = policy as { rule?: string; version?: string };
  return `${rule ?? 'a rule'} of the policy ${version ?? ''}`.trim();
}

function chain(
  frame: Frame,
  address: string,
  { id, document, entry, revisions, verdict }: ReceiptParts,
): Html {
  const revised = document.wasRevisionOf;
  return html`<section class="stack tight">
    <h2>Its place</h2>
    <dl class="facts">
      <dt>Issued</dt>
      <dd>
        ${moment(Date.parse(document.validFrom), frame.now)}
        <span class="soft small">by ${document.issuer}</span>
      </dd>
      <dt>Signature</dt>
      <dd>
        ${verdict.message}
        ${
          verdict.kid === undefined
            ? undefined
            : html`<span class="soft small"
                >Key ${verdict.kid.slice(verdict.kid.indexOf('#') + 1)}</span
              >`
        }
      </dd>
      <dt>Ledger</dt>
      <dd>
        ${
          entry === null
            ? frame.now - Date.parse(document.validFrom) < LATE_MS
              ? 'It enters the ledger within ten seconds of its issue.'
              : 'It should be in the ledger by now and is not. It will enter by itself once the cause of the delay is fixed.'
            : html`Entry ${count(entry.index)}, ${moment(entry.integratedAt, frame.now)}
                <a href="${address}/${id}/proof.txt">Proof of inclusion</a>`
        }
      </dd>
      <dt>Revises</dt>
      <dd>
        ${
          revised === undefined
            ? 'nothing: it is the first receipt of its request'
            : html`<a href="${address}/${lastOf(revised.id)}">${shortId(lastOf(revised.id))}</a>
                <span class="soft">${REVISION_WORDS[document.revisionReason ?? ''] ?? ''}</span>`
        }
      </dd>
    </dl>
    ${
      revisions.length < 2
        ? undefined
        : table(
            'Revisions',
            ['Revision', 'Receipt'],
            revisions.map(
              (each, i) =>
                html`<tr>
                  <td>${i === 0 ? 'first' : `revision ${i}`}</td>
                  <td>
                    ${
                      each === id
                        ? html`${shortId(each)} <span class="soft">this one</span>`
                        : html`<a href="${address}/${each}">${shortId(each)}</a>`
                    }
                  </td>
                </tr>`,
            ),
          )
    }
  </section>`;
}

/** Specification: receipts are in the ledger within ten seconds; a busy machine may be as late again. */
const LATE_MS = 20_000;

const lastOf = (address: string): string => address.slice(address.lastIndexOf('/') + 1);

const REVISION_WORDS: Readonly<Record<string, string>> = {
  methodology_failed: 'the first estimate failed and was made later',
  new_methodology: 'recomputed with a newer methodology',
  hourly_factor: 'the grid factor of the hour became available',
  hours_incomplete: 'hours of the day are missing, so the annual factor is used',
  measured: 'its energy was metered',
};

function explanation(explained: Explained): Html | undefined {
  if (typeof explained !== 'string') return derivationSections(explained);
  if (explained === 'not estimated') return undefined;
  return html`<section class="stack tight">
    <h2>How it was computed</h2>
    <p class="prose">
      ${
        explained === 'not on the plan'
          ? html`Every step, input and source of a receipt’s numbers is part of the plans Audit Plus
              and Enterprise. On every plan <code>docket recompute receipt.json</code> computes them
              again from public data.`
          : 'The records that it was computed from are not available here right now. The receipt itself is complete: download it and recompute it with docket recompute.'
      }
    </p>
  </section>`;
}

function check(address: string, { id, entry, explained }: ReceiptParts): Html {
  return html`<section class="stack tight">
    <h2>Check it yourself</h2>
    <p class="prose">
      So far this server says that the signature holds.
      <a href="/verify#${id}">Check it in your browser</a>, or download the receipt and check it
      with a program that you trust:
    </p>
    <pre id="verify-command" tabindex="0">docket verify ${id}.json --trust did.json</pre>
    <p class="row">
      <a href="${address}/${id}/receipt.json" download>The receipt</a>
      ${entry === null ? undefined : html`<a href="${address}/${id}/proof.txt">Its proof of inclusion</a>`}
      ${
        typeof explained === 'string'
          ? undefined
          : html`<a href="${address}/${id}/lineage.json" download>Its lineage</a>`
      }
      <a href="/.well-known/did.json">The issuer’s keys</a>
    </p>
    ${entry === null ? undefined : followed(address, id)}
  </section>`;
}

/** The proof of the receipt, of which a browser computes each step. */
function followed(address: string, id: string): Html {
  return html`<div
    class="stack tight"
    id="proof"
    data-verifier="/verify/docket-verify.js"
    data-files="${address}/${id}/proof.json"
  >
    <h3>Follow its proof</h3>
    <p class="prose">
      From the bytes of the receipt over each sibling to the root that is signed, and from there to
      the anchor log where that has it: computed in this browser by the code of
      <code>docket verify</code>, each step with its inputs.
    </p>
    <noscript>
      <p class="soft">
        This needs JavaScript. Without it download the proof of inclusion, which is a C2SP
        tlog-proof: any implementation of that checks it.
      </p>
    </noscript>
    <p class="row">
      <button type="button" hidden>Follow the proof in this browser</button>
      <span class="soft" role="status"></span>
    </p>
    <ol class="proof stack"></ol>
  </div>`;
}

function flagging(frame: Frame, address: string, parts: ReceiptParts): Html | undefined {
  const { id, document, revisions } = parts;
  const isNewest = (revisions.at(-1) ?? id) === id;
  if (document.tier !== 'degraded' || !isNewest || !may(frame.membership!, 'flag receipts')) {
    return undefined;
  }
  if (document.credentialSubject.outputTokens === undefined) {
    return html`<p class="soft">
      It cannot be estimated again, because its number of tokens is not known.
    </p>`;
  }
  return html`<section class="stack tight">
    <h2>Estimate it again now</h2>
    <p class="prose">
      The estimate is retried automatically, at longer and longer intervals while it fails. This
      retries it within a minute. If it succeeds, a new receipt revises this one; this one stays as
      it is.
    </p>
    <form class="form" method="post" action="${address}/${id}/flag">
      ${token(frame)}
      ${field({ name: 'reason', label: 'Why (optional)', max: '400', help: 'Appears in the audit log and on the revision.' })}
      <div><button type="submit">Flag for recalculation</button></div>
    </form>
  </section>`;
}
