import { html, type Html } from '#api/html.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { LedgerEntry } from '#shared/ledger/entries.ts';
import { type LossStatement, lossWords } from '#shared/ledger/losses.ts';
import { count } from '#shared/methodology/readable.ts';
import type { SignedHead } from '../parts/signed-head.ts';
import type { Frame } from '../parts/layout.ts';
import { copyable, field, note, pager, shortId, shortMoment, table } from '../parts/elements.ts';

export interface LedgerParts {
  /** The newest signed head; undefined before the first. */
  checkpoint: SignedHead | undefined;
  /** What was declared lost of the log, oldest first. */
  losses: readonly LossStatement[];
  /** Entries that were added within so many days. */
  growth: readonly { days: number; added: number }[];
  page: Page<LedgerEntry>;
  after: string | undefined;
  /** What a proof was asked from, and what came of it. */
  proof: { from: string; hashes: readonly string[] | undefined } | undefined;
}

/** The log of an organisation's receipts: its signed head, how it grows, and its proofs. */
export function ledgerPage(frame: Frame, parts: LedgerParts): Html {
  const address = `/dashboard/${frame.membership!.orgId}/ledger`;
  const { checkpoint, losses, page, after } = parts;
  const next = page.hasMore ? page.items.at(-1)!.receiptId : undefined;
  return html`<div class="head">
      <h1>Ledger</h1>
      ${
        checkpoint === undefined
          ? undefined
          : html`<div class="acts">
              <a class="button" href="/verify#${address}/checkpoint.txt">Verify in this browser</a>
              <a class="button" href="${address}/checkpoint.txt" download>Download checkpoint</a>
            </div>`
      }
    </div>
    <p class="prose">
      Every receipt of your organisation is an entry here, in order. The signed head commits to all
      of them at once: keep one, and nothing before it can be changed, removed or inserted without
      your noticing.
    </p>
    ${losses.map((loss) => note('bad', `Declared by the service: ${lossWords(loss)}.`))}
    ${
      checkpoint === undefined
        ? html`<div class="empty">
            <h2>No signed head yet</h2>
            <p class="prose">${firstHead(frame)}</p>
          </div>`
        : filled(address, parts, checkpoint)
    }
    ${page.items.length === 0 ? undefined : entries(frame, page.items)}
    ${pager('entries', { address, after, next })}`;
}

function firstHead({ membership }: Frame): Html | string {
  const { orgId, orgState } = membership!;
  if (orgState === 'closed')
    return 'The organisation is closed, and its ledger never had a signed head.';
  const first = 'The first head is signed within seconds of your first receipt.';
  if (orgState !== 'active') return first;
  return html`${first} Ask something with one of <a href="/dashboard/${orgId}/keys">your keys</a>.`;
}

function filled(
  address: string,
  { growth, proof }: LedgerParts,
  checkpoint: NonNullable<LedgerParts['checkpoint']>,
): Html {
  return html`<section class="stack tight">
      <h2>Signed head</h2>
      <dl class="facts">
        <dt>Log</dt>
        <dd><code>${checkpoint.origin}</code></dd>
        <dt>Entries</dt>
        <dd>${count(checkpoint.size)}</dd>
        <dt>Growth</dt>
        <dd>
          ${growth.map(
            ({ days, added }) =>
              html`<div>
                ${count(added)}
                <span class="soft">in the last ${days === 1 ? 'day' : `${days} days`}</span>
              </div>`,
          )}
        </dd>
        <dt>Root</dt>
        <dd>${copyable('root', checkpoint.root)}</dd>
      </dl>
      <details class="act">
        <summary>The checkpoint as it was signed</summary>
        <pre tabindex="0">${checkpoint.note}</pre>
      </details>
    </section>
    <section class="stack tight">
      <h2>Prove that an older head is part of this one</h2>
      <form class="row end" method="get" action="${address}">
        ${field({ name: 'from', label: 'Entries of the head that you kept', value: proof?.from ?? '' })}
        <button type="submit">Show proof</button>
      </form>
      ${proof === undefined ? undefined : proofOf(proof, checkpoint.size)}
    </section>`;
}

function proofOf({ from, hashes }: NonNullable<LedgerParts['proof']>, size: number): Html {
  if (hashes === undefined) {
    return note('bad', `“${from}” is not a whole number from 0 to ${count(size)}.`);
  }
  if (hashes.length === 0) {
    return note(
      'good',
      `From ${from} to ${count(size)} entries no hashes are needed: compare the two heads directly.`,
    );
  }
  return html`<p class="soft">
      RFC 6962, from ${from} to ${count(size)} entries: these hashes give both roots, yours and this
      one.
    </p>
    <pre id="consistency" tabindex="0">${hashes.join('\n')}</pre>
    <div><button type="button" hidden data-copy="consistency">Copy</button></div>`;
}

const KINDS: Readonly<Record<string, string>> = {
  inference: 'receipt',
  degraded: 'receipt without an estimate',
  refused: 'refusal',
  recalculated: 'recalculated receipt',
  restated: 'restated receipt',
};

function entries(frame: Frame, items: readonly LedgerEntry[]): Html {
  return html`<section class="stack tight">
    <h2>Entries</h2>
    ${table(
      'Entries',
      [html`<span class="num">Index</span>`, 'Receipt', 'What', 'Leaf hash', 'Entered'],
      items.map(
        ({ index, receiptId, kind, leafHash, integratedAt, supersedes }) =>
          html`<tr>
            <td class="num" data-head="Index">${count(index)}</td>
            <th scope="row">
              <a href="/dashboard/${frame.membership!.orgId}/receipts/${receiptId}"
                >${shortId(receiptId)}</a
              >
            </th>
            <td>
              ${KINDS[kind] ?? kind}
              ${supersedes === null ? undefined : html`<span class="soft">in place of</span> ${shortId(supersedes)}`}
            </td>
            <td>${shortId(Buffer.from(leafHash).toString('hex'))}</td>
            <td data-head="Entered">${shortMoment(integratedAt, frame.now)}</td>
          </tr>`,
      ),
      'stacked',
    )}
  </section>`;
}
