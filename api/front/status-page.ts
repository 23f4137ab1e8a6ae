import { html, type Html } from '#api/html.ts';
import { badge, moment, note, table, type Tone } from '#api/dashboard/parts/elements.ts';
import { dateTime } from '#shared/kernel/time.ts';
import { historySections } from './status-history.ts';
import type { RegionStatusLine, RegionWord, ServiceHistory, ServiceStatus } from './status.ts';

/** What is said of a region in each state. */
export const REGION_WORDS: Readonly<Record<RegionWord, readonly [Tone, string, string]>> = {
  normal: ['good', 'normal', 'takes requests'],
  impaired: [
    'warn',
    'impaired',
    'some models cannot be had here; they are tried again by themselves',
  ],
  saturated: ['warn', 'saturated', 'full: requests pinned to it are refused for the moment'],
  degraded: [
    'bad',
    'degraded',
    'requests pinned to it are refused; others go to another region where one has the model',
  ],
  decommissioned: ['plain', 'decommissioned', 'closed: it takes no requests'],
};

const LEDGER_WORDS: Readonly<Record<ServiceStatus['ledger'], readonly [Tone, string, string]>> = {
  normal: ['good', 'normal', 'receipts enter the ledger within seconds'],
  behind: [
    'warn',
    'behind',
    'receipts are issued; some wait for more than twenty seconds to enter the ledger',
  ],
  unknown: [
    'bad',
    'not known',
    'the database does not answer this process; receipts that are owed are issued when it does',
  ],
};

/** The same within a sentence about regions; nothing where all is well. */
const LEDGER_SUMMARY: Readonly<Record<ServiceStatus['ledger'], string | undefined>> = {
  normal: undefined,
  behind: 'the ledger is behind',
  unknown: 'the state of the ledger is not known',
};

/** How the service is now, as the public sees it. */
export function statusPage(
  { at, regions, ledger }: ServiceStatus,
  supportEmail: string,
  history?: ServiceHistory,
): Html {
  const [tone, word, what] = LEDGER_WORDS[ledger];
  return html`<div class="head"><h1>Status</h1></div>
    <div class="stack">
      ${summary(regions, ledger)} ${regions.map((region) => regionNote(region, at))}
    </div>
    <section class="stack tight">
      <h2>Regions</h2>
      ${
        regions.length === 0
          ? html`<p class="soft">No region is open to everyone.</p>`
          : table(
              'Regions',
              ['Region', 'State', 'Models', 'What this means'],
              regions.map((region) => {
                const [regionTone, regionWord, means] = REGION_WORDS[region.word];
                return html`<tr>
                  <th scope="row">
                    ${region.name} <code class="soft nowrap">${region.code}</code>
                  </th>
                  <td>${badge(regionTone, regionWord)}</td>
                  <td class="nowrap" data-head="Models">
                    ${
                      region.word === 'decommissioned'
                        ? undefined
                        : `${region.available} of ${region.offered}`
                    }
                  </td>
                  <td class="soft">${means}</td>
                </tr>`;
              }),
              'stacked',
            )
      }
    </section>
    <section class="stack tight">
      <h2>Receipts</h2>
      <dl class="facts">
        <dt>Ledger</dt>
        <dd>${badge(tone, word)} <span class="soft">${what}</span></dd>
      </dl>
    </section>
    ${historySections(history, { at, regions })}
    <p class="soft small">
      As one process of the service saw it on ${dateTime(at)}; reload for the state now. Something
      else is wrong? Write to <a href="mailto:${supportEmail}">${supportEmail}</a>, with the
      <code>x-request-id</code> of an answer.
    </p>`;
}

function regionNote({ name, note: said }: RegionStatusLine, now: number): Html | undefined {
  if (said === undefined) return undefined;
  return note(
    'plain',
    html`<p class="prose"><strong>${name}</strong>: ${said.text}</p>
      <p class="soft small">${moment(said.at, now)}</p>`,
  );
}

function summary(regions: ServiceStatus['regions'], ledger: ServiceStatus['ledger']): Html {
  const open = regions.filter(({ word }) => word !== 'decommissioned');
  const well = open.filter(({ word }) => word === 'normal').length;
  if (open.length === 0) {
    const none =
      regions.length === 0 ? 'No region is open to everyone.' : 'No region takes requests.';
    return note('warn', html`<strong>${none}</strong>`);
  }
  if (well === open.length && ledger === 'normal') {
    return note('good', html`<strong>Everything works.</strong>`);
  }
  if (open.every(({ word }) => word === 'degraded')) {
    return note('bad', html`<strong>No region takes requests.</strong>`);
  }
  const ofLedger = LEDGER_SUMMARY[ledger];
  return note(
    'warn',
    html`<strong
      >Normal regions: ${well} of ${open.length}${ofLedger && html`; ${ofLedger}`}.</strong
    >`,
  );
}
