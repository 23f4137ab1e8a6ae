import { html, type Html } from '#api/html.ts';
import type { UnsentLetters } from '#shared/accounts/postgres/unsent-letters.ts';
import { LETTER_DAYS } from '#shared/accounts/letters.ts';
import type { ImportedList } from '#shared/accounts/sanctions/listed.ts';
import type { HaltedLog, QuarantinedReceipt } from '#shared/ledger/postgres/attention.ts';
import type { LedgerBacklog } from '#shared/ledger/postgres/integration.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import type { Peer } from '#shared/lanes/redis/peers.ts';
import type { WaitingRecalculation } from '#shared/receipts/postgres/recalculation-requests.ts';
import { card } from '../parts/figures.ts';
import { buttonForm, type Frame } from '../parts/layout.ts';
import { publishedWords } from '../reviews/page.ts';
import { SANCTIONS_ADDRESS } from '../sanctions/page.ts';
import type { Alarm } from './alarms.ts';
import { ACT, badge, note, shortId, shortMoment, table, told } from '../parts/elements.ts';

export interface HealthParts {
  /** The worst first. */
  alarms: readonly Alarm[];
  /** Whether regions, lanes and jobs could not be looked at, because Redis does not say. */
  isPartial: boolean;
  backlog: LedgerBacklog;
  halted: readonly HaltedLog[];
  quarantined: readonly QuarantinedReceipt[];
  /** The processes that run, by their ids; null while Redis does not say. */
  peers: ReadonlyMap<string, Peer> | null;
  parked: readonly WaitingRecalculation[];
  unsent: UnsentLetters;
  /** The current ones. */
  lists: readonly ImportedList[];
  /** Accounts that wait to be compared with the current lists; at most `dueMax` are counted. */
  due: number;
  dueMax: number;
  problem?: string;
  done?: string;
}

/** What alarms, what waits for a person, and how old the lists are that applicants are compared with. */
export function healthPage(frame: Frame, parts: HealthParts): Html {
  return html`<div class="head"><h1>Health</h1></div>
    ${told(parts)} ${alarmSection(parts)} ${ledger(frame, parts)} ${processes(frame, parts)}
    ${recalculations(frame, parts)} ${letters(frame, parts)} ${sanctions(parts)}`;
}

function alarmSection({ alarms, isPartial }: HealthParts): Html {
  const looked = isPartial
    ? 'Regions, lanes and jobs are not known while Redis does not say.'
    : 'Redis, regions, lanes, the ledger, jobs and e-mails were looked at.';
  return html`<section class="stack tight">
    <h2>What alarms</h2>
    ${
      alarms.length === 0
        ? note(isPartial ? 'warn' : 'good', html`<p><strong>Nothing alarms.</strong> ${looked}</p>`)
        : html`${table(
              'What alarms',
              ['Alarm', 'What it means', 'Where'],
              alarms.map(
                ({ tone, title, words, place: [address, name] }) =>
                  html`<tr>
                    <th scope="row" class="wrap">${badge(tone, title)}</th>
                    <td class="wrap">${words}</td>
                    <td>
                      <a href="${address}">${name}<span class="hidden-words">: ${title}</span></a>
                    </td>
                  </tr>`,
              ),
              'stacked',
            )}
            <p class="help">${looked}</p>`
    }
    <p class="help">
      As this process sees it now. What takes a while to tell, such as rates of errors and late
      receipts, is for the <a href="/docs/guides/operations#alarms">alarms of Prometheus</a>; errors
      and times of the last hours are under <a href="/dashboard/service/requests">Requests</a>.
    </p>
  </section>`;
}

const accountLink = (orgId: string): Html =>
  orgId.startsWith('org_')
    ? html`<a href="/dashboard/service/accounts/${orgId}">${shortId(orgId)}</a>`
    : html`<code>${orgId}</code>`;

/** The button of what is given another try: where it is sent, with what, and its name for who does not see the row. */
function tryAgain(
  frame: Frame,
  act: 'retry' | 'letters',
  hidden: Readonly<Record<string, string>>,
  what: string,
): Html {
  return buttonForm(frame, {
    action: `/dashboard/service/health/${act}`,
    button: html`Try again<span class="hidden-words"> ${what}</span>`,
    hidden,
  });
}

function ledger(frame: Frame, { backlog, halted, quarantined }: HealthParts): Html {
  const noneOrSome = (number: number): Html =>
    number === 0 ? badge('good', 'none') : badge('bad', 'look at them');
  return html`<section class="stack" id="ledger">
    <h2>Ledger</h2>
    <dl class="figures">
      ${card('Receipts that wait', count(backlog.pending))}
      ${card(
        'Oldest of them',
        backlog.pending === 0 ? 'none' : `${count(Math.round(backlog.oldestMs / 1_000))} s`,
      )}
      ${card('Halted logs', count(backlog.haltedLogs), noneOrSome(backlog.haltedLogs))}
      ${card('In quarantine', count(backlog.quarantined), noneOrSome(backlog.quarantined))}
    </dl>
    ${
      halted.length === 0
        ? undefined
        : html`<section class="stack tight">
            <h3>Halted logs</h3>
            <p class="help">
              Nothing is appended to them. <code>docket ledger fsck --org ID</code> says what is
              wrong, <code>docket ledger resume</code> lets one go on that is sound.
            </p>
            ${table(
              'Halted logs',
              ['Log', 'Halted', 'Why'],
              halted.map(
                ({ orgId, haltedAt, reason }) =>
                  html`<tr>
                    <th scope="row">${accountLink(orgId)}</th>
                    <td data-head="Halted">${shortMoment(haltedAt, frame.now)}</td>
                    <td class="wrap">${reason ?? undefined}</td>
                  </tr>`,
              ),
              'stacked',
            )}
          </section>`
    }
    ${
      quarantined.length === 0
        ? undefined
        : html`<section class="stack tight">
            <h3>Receipts in quarantine</h3>
            <p class="help">
              They could not be integrated. When the cause is gone,
              <code>docket ledger requeue ID</code> gives one another try.
            </p>
            ${table(
              'Receipts in quarantine',
              ['Receipt', 'Organisation', 'Since', 'Why'],
              quarantined.map(
                ({ receiptId, orgId, quarantinedAt, reason }) =>
                  html`<tr>
                    <th scope="row">${shortId(receiptId)}</th>
                    <td data-head="Organisation">${accountLink(orgId)}</td>
                    <td data-head="Since">${shortMoment(quarantinedAt, frame.now)}</td>
                    <td class="wrap"><code>${reason}</code></td>
                  </tr>`,
              ),
              'stacked',
            )}
          </section>`
    }
  </section>`;
}

/** Characters by which digests of catalogues are told apart. */
const DIGEST_SHOWN = 12;

function processes(frame: Frame, { peers }: HealthParts): Html {
  return html`<section class="stack tight" id="processes">
    <h2>Processes</h2>
    <p class="help">
      The processes that take requests, run them and issue receipts. Those for the ledger, exports
      and jobs are not listed.
    </p>
    ${peers === null ? note('warn', html`<p>Redis does not say which processes run.</p>`) : running(frame, peers)}
  </section>`;
}

function running(frame: Frame, peers: ReadonlyMap<string, Peer>): Html {
  if (peers.size === 0) return html`<p class="soft">No process is taking or running requests.</p>`;
  return table(
    'Processes that take and run requests',
    ['Process', 'Since', 'Build', 'Catalogue'],
    [...peers]
      .toSorted(([one], [other]) => one.localeCompare(other))
      .map(
        ([id, { startedAt, build, catalogue }]) =>
          html`<tr>
            <th scope="row" class="wrap"><code>${id}</code></th>
            <td data-head="Since">${shortMoment(startedAt, frame.now)}</td>
            <td class="wrap" data-head="Build">${build}</td>
            <td data-head="Catalogue"><code>${catalogue.slice(0, DIGEST_SHOWN)}</code></td>
          </tr>`,
      ),
    'stacked',
  );
}

function recalculations(frame: Frame, { parked }: HealthParts): Html {
  return html`<section class="stack tight" id="recalculations">
    <h2>Parked recalculations</h2>
    ${
      parked.length === 0
        ? html`<p class="soft">
            None: what failed is tried again by itself, and nothing has been given up.
          </p>`
        : table(
            'Parked recalculations',
            ['Receipt', 'Organisation', 'Attempts', 'Failed', 'At', 'Code', ACT],
            parked.map(
              (each) =>
                html`<tr>
                  <th scope="row">${shortId(each.receiptId)}</th>
                  <td data-head="Organisation">${accountLink(each.orgId)}</td>
                  <td class="num" data-head="Attempts">${count(each.attempts)}</td>
                  <td data-head="Failed">
                    ${each.failedAt === null ? undefined : shortMoment(each.failedAt, frame.now)}
                  </td>
                  <td data-head="At">${each.stage ?? undefined}</td>
                  <td data-head="Code"><code>${each.code ?? undefined}</code></td>
                  <td class="num">
                    ${tryAgain(frame, 'retry', { org: each.orgId, receipt: each.receiptId }, each.receiptId)}
                  </td>
                </tr>`,
            ),
            'stacked',
          )
    }
  </section>`;
}

function letters(frame: Frame, { unsent }: HealthParts): Html {
  return html`<section class="stack tight" id="letters">
    <h2>E-mails that could not be sent</h2>
    ${
      unsent.letters.length === 0
        ? html`<p class="soft">None has failed, and none has waited for more than five minutes.</p>`
        : html`<p class="help">
              Waiting, and tried again for a day: ${count(unsent.waiting)}. Given up in the last
              ${LETTER_DAYS} days: ${count(unsent.givenUp)}. <code>docket doctor</code> asks the
              mail server what is wrong. A link of an e-mail to a person is over by then: they ask
              for a new one.
            </p>
            ${table(
              'E-mails that could not be sent',
              ['To', 'Subject', 'Organisation', 'Written', 'Next attempt', 'Why', ACT],
              unsent.letters.map(
                ({ id, orgId, to, subject, writtenAt, attempts, nextAttemptAt, failure }) =>
                  html`<tr>
                    <th scope="row" class="wrap">${to}</th>
                    <td class="wrap">${subject}</td>
                    <td data-head="Organisation">
                      ${orgId === null ? undefined : accountLink(orgId)}
                    </td>
                    <td data-head="Written">${shortMoment(writtenAt, frame.now)}</td>
                    <td data-head="Next attempt">
                      ${nextAttemptAt === null ? badge('bad', 'given up') : shortMoment(nextAttemptAt, frame.now)}
                      <span class="soft small nowrap">after ${counted(attempts, 'attempt')}</span>
                    </td>
                    <td class="wrap">${failure ?? 'not tried yet'}</td>
                    <td class="num">
                      ${nextAttemptAt === null ? tryAgain(frame, 'letters', { letter: id }, `the e-mail to ${to}`) : undefined}
                    </td>
                  </tr>`,
              ),
              'stacked',
            )}`
    }
  </section>`;
}

function sanctions({ lists, due, dueMax }: HealthParts): Html {
  return html`<section class="stack tight">
    <h2>Sanctions lists</h2>
    ${
      lists.length === 0
        ? html`<p class="soft">None is current.</p>`
        : html`<p>
            Current:
            ${lists.map(
              (list, index) =>
                html`${index === 0 ? '' : '; '}${list.source}, published ${publishedWords(list)}`,
            )}.
          </p>`
    }
    <p class="soft">
      Accounts waiting to be compared with the current lists:
      ${count(due)}${due === dueMax ? ' or more' : ''}.
      <a href="${SANCTIONS_ADDRESS}">See and upload lists</a>.
    </p>
  </section>`;
}
