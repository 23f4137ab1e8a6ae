import { html, type Html } from '#api/html.ts';
import type { Page } from '#shared/kernel/page.ts';
import { day, DAY_MS, isoDay } from '#shared/kernel/time.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import type { ExportRecord } from '#shared/packs/export-record.ts';
import { packName } from '#shared/packs/layout.ts';
import { may } from '#shared/persons/roles.ts';
import { sizeWords } from '../parts/figures.ts';
import { calendarPeriods, type Days } from '../usage/periods.ts';
import { type Frame, token } from '../parts/layout.ts';
import {
  badge,
  copyable,
  dayFields,
  empty,
  facts,
  moment,
  note,
  pager,
  shortId,
  shortMoment,
  table,
} from '../parts/elements.ts';

export interface ExportsParts {
  page: Page<ExportRecord>;
  after: string | undefined;
  /** Whether the plan has exports. */
  onPlan: boolean;
  /** Days for which a finished pack is kept. */
  keptDays: number;
  /** What the form was sent with, and what was wrong with it. */
  from: string;
  to: string;
  problem?: string;
  done?: string;
}

const base = (frame: Frame): string => `/dashboard/${frame.membership!.orgId}/exports`;

/** Evidence packs: asked for, and all that there are. */
export function exportsPage(frame: Frame, parts: ExportsParts): Html {
  const { page, after, onPlan, problem, done } = parts;
  const next = page.hasMore ? page.items.at(-1)!.id : undefined;
  return html`<div class="head"><h1>Exports</h1></div>
    ${done === undefined ? undefined : note('good', done)}
    <p class="prose">
      An evidence pack holds the signed receipts of a period, the proof that none is missing, the
      sources of every number, a report, and the programs that check all of it offline.
    </p>
    ${
      onPlan
        ? form(frame, parts)
        : note(
            'warn',
            html`<p>
              <strong>Exports are part of the plans Audit Plus and Enterprise.</strong> Single
              receipts are downloaded on every plan.
            </p>`,
          )
    }
    ${problem === undefined || onPlan ? undefined : note('bad', problem)}
    ${
      page.items.length === 0
        ? empty(
            'No packs',
            html`Packs stand here while they are made, and for ${counted(parts.keptDays, 'day')}
            afterwards; then they are deleted, and the same period can be packed again.`,
          )
        : list(frame, page.items)
    }
    ${pager('packs', { address: base(frame), after, next })}`;
}

function form(frame: Frame, { from, to, problem, keptDays }: ExportsParts): Html {
  return html`<section class="stack tight">
    <h2>Make a pack</h2>
    ${problem === undefined ? undefined : note('bad', html`<p><strong>No pack was made.</strong> ${problem}</p>`)}
    <form class="row end" method="post" action="${base(frame)}">
      ${token(frame)} ${dayFields({ from, to })}
      <button class="primary" type="submit">Make pack</button>
    </form>
    <p class="row small" role="group" aria-label="Usual periods">
      ${calendarPeriods(frame.now).map(([name, days]) => html`<a href="${base(frame)}?${periodQuery(days)}">${name}</a>`)}
    </p>
    <p class="help">
      The days on which receipts entered the ledger. Leave both empty for everything. A pack ends at
      the newest signed checkpoint; later receipts are not in it. It is kept for
      ${counted(keptDays, 'day')}.
    </p>
  </section>`;
}

function list(frame: Frame, items: readonly ExportRecord[]): Html {
  return table(
    'Packs',
    [
      'Pack',
      'Period',
      html`<span class="num">Receipts</span>`,
      html`<span class="num">Size</span>`,
      'State',
      'Asked for',
      'Kept until',
    ],
    items.map(
      (each) =>
        html`<tr>
          <th scope="row"><a href="${base(frame)}/${each.id}">${shortId(each.id)}</a></th>
          <td>${periodOf(each)}</td>
          <td class="num" data-head="Receipts">${count(each.total)}</td>
          <td class="num" data-head="Size">
            ${each.sizeBytes === null ? undefined : sizeWords(each.sizeBytes)}
          </td>
          <td>${stateOf(each)}</td>
          <td data-head="Asked for">${shortMoment(each.createdAt, frame.now)}</td>
          <td data-head="Kept until">
            ${each.expiresAt === null ? undefined : shortMoment(each.expiresAt, frame.now)}
          </td>
        </tr>`,
    ),
    'stacked',
  );
}

function periodOf({ period, firstIndex, lastIndex }: ExportRecord): string {
  if (period === undefined) return entriesOf(firstIndex, lastIndex);
  const from = period.from === undefined ? 'the beginning' : day(period.from);
  // The end is not included: of whole days the one before is the last.
  const to =
    period.to === undefined ? 'the newest' : day(period.to - (period.to % DAY_MS === 0 ? 1 : 0));
  return `${from} to ${to}${period.to === undefined ? '' : ', included'}`;
}

const periodQuery = ({ from, to }: Days): string =>
  new URLSearchParams({ from: isoDay(from), to: isoDay(to - DAY_MS) }).toString();

/** The way to what was used in the period of a pack, where that is of whole days. */
function usageLink({ membership }: Frame, { orgId, period }: ExportRecord): Html | undefined {
  const { from, to } = period ?? {};
  if (from === undefined || to === undefined || !isOfDays({ from, to })) return undefined;
  if (membership!.orgState === 'closed') return undefined;
  return html`<a href="/dashboard/${orgId}/usage?${periodQuery({ from, to })}"
    >Usage of these days</a
  >`;
}

const entriesOf = (first: number, last: number): string =>
  first === last ? `entry ${count(first)}` : `entries ${count(first)} to ${count(last)}`;

const STATES = {
  queued: ['plain', 'waiting'],
  running: ['plain', 'being made'],
  ready: ['good', 'ready'],
  failed: ['bad', 'failed'],
  expired: ['plain', 'deleted'],
} as const;

function stateOf({ status, done, total }: ExportRecord): Html {
  const [tone, word] = STATES[status];
  return badge(
    tone,
    status === 'running' ? `${word}, ${Math.floor((done / total) * 100)} %` : word,
  );
}

/** One pack: how far it is, and what it is when it is ready. */
export function exportPage(frame: Frame, record: ExportRecord): Html {
  const { id, status, done, total, sizeBytes, sha256, error, firstIndex, lastIndex } = record;
  const { waitsBecause } = record;
  const address = `${base(frame)}/${id}`;
  const underWay = status === 'queued' || status === 'running';
  return html`<div id="live" class="stack" ${underWay ? html`data-live="2"` : undefined}>
      <div class="head">
        <p class="crumb"><a href="${base(frame)}">Exports</a></p>
        <h1>Evidence pack ${shortId(id)}</h1>
        ${stateOf(record)}
        ${
          status === 'ready'
            ? html`<div class="acts">
                <a class="button primary" href="${address}/pack.zip" download>Download</a>
              </div>`
            : undefined
        }
      </div>
      ${
        underWay
          ? html`<section class="stack tight">
              <label for="progress">${count(done)} of ${counted(total, 'receipt')}</label>
              <progress id="progress" max="${total}" value="${done}"></progress>
              <p class="soft">
                You can leave; it goes on.
                <a href="${address}">Look again</a>
              </p>
            </section>`
          : undefined
      }
      ${
        waitsBecause === null
          ? undefined
          : note(
              'warn',
              html`<p>
                <strong>The pack waits.</strong> ${waitsBecause} It goes on by itself when that is
                over, and is given up a day after it was asked for.
              </p>`,
            )
      }
      ${
        error === null
          ? undefined
          : note(
              'bad',
              html`<p>
                <strong>The pack could not be made.</strong> ${error.message}
                ${afterFailure(error.code, id)}
              </p>`,
            )
      }
      ${facts([
        ['Period', html`${periodOf(record)} ${usageLink(frame, record)}`],
        ['Receipts', html`${count(total)}, ${entriesOf(firstIndex, lastIndex)} of the ledger`],
        ['Leads to', html`the checkpoint of ${counted(record.checkpointSize, 'entry', 'entries')}`],
        ['Asked for', moment(record.createdAt, frame.now)],
        ['Finished', record.finishedAt === null ? undefined : moment(record.finishedAt, frame.now)],
        [
          'Size',
          sizeBytes === null
            ? undefined
            : html`<span title="${count(sizeBytes)} bytes">${sizeWords(sizeBytes)}</span>`,
        ],
        ['SHA-256', sha256 === null ? undefined : copyable('sha256', sha256)],
        ['Kept until', record.expiresAt === null ? undefined : moment(record.expiresAt, frame.now)],
      ])}
    </div>
    ${
      status === 'ready'
        ? html`<section class="stack tight">
            <h2>Check it</h2>
            <p class="prose">
              Offline, with keys that you fetched yourself. <code>VERIFY.md</code> in the pack says
              how to do it without our programs.
            </p>
            <pre id="verify-command" tabindex="0">
docket verify ${packName(record.orgId, record)}.zip --trust did.json</pre>
            <p class="row">
              <a
                class="button"
                href="/verify#/dashboard/${record.orgId}/exports/${record.id}/pack.zip"
                >Verify in this browser</a
              >
            </p>
          </section>`
        : undefined
    }
    ${packActs(frame, record)}`;
}

/** What helps after a failure. What is wrong with receipts or ledger stays so, however often a pack is made. */
function afterFailure(code: string, id: string): Html | undefined {
  // Its message says which range to ask for.
  if (code === 'receipts_expired') return undefined;
  return code === 'given_up'
    ? html`Ask for it again, and if it fails again write to support with <code>${id}</code>.`
    : html`Write to support with <code>${id}</code>, and ask for it again when they have mended it.`;
}

/** What ends a pack: the words of its button, and what comes of it. */
const ENDS = {
  queued: ['Cancel', 'What has been made so far is discarded.'],
  running: ['Cancel', 'What has been made so far is discarded.'],
  ready: ['Delete pack', 'The pack is deleted at once. You can make one of the same period again.'],
  failed: ['Remove from the list', 'The audit log keeps a record of the request.'],
  expired: ['Remove from the list', 'The audit log keeps a record of the request.'],
} as const;

/** What makers of packs do with this one, and those who delete them. */
function packActs(frame: Frame, record: ExportRecord): Html {
  const { id, status, period, error } = record;
  const { membership } = frame;
  const [end, effect] = ENDS[status];
  const isOver = status === 'failed' || status === 'expired';
  const mayCome = isOver && error?.code !== 'receipts_expired';
  return html`${
    mayCome && period !== undefined && isOfDays(period) && may(membership!, 'make exports')
      ? html`<form class="stack tight" method="post" action="${base(frame)}">
          ${token(frame)} ${hiddenDay('from', period.from)}
          ${hiddenDay('to', period.to === undefined ? undefined : period.to - DAY_MS)}
          <p class="help">The same period, up to the newest signed checkpoint.</p>
          <div><button class="primary" type="submit">Make pack again</button></div>
        </form>`
      : undefined
  }
  ${
    may(membership!, 'delete exports')
      ? html`<form class="stack tight" method="post" action="${base(frame)}/${id}/delete">
          ${token(frame)}
          <p class="help">${effect}</p>
          <div>
            <button ${isOver ? undefined : html`class="danger"`} type="submit">${end}</button>
          </div>
        </form>`
      : undefined
  }`;
}

/** Whether the form of a new pack, which takes whole days, can ask for this period. */
function isOfDays({ from = 0, to = 0 }: NonNullable<ExportRecord['period']>): boolean {
  return from % DAY_MS === 0 && to % DAY_MS === 0;
}

/** A day of a period, as the form of a new pack has it. */
function hiddenDay(name: string, at: number | undefined): Html {
  const text = at === undefined ? '' : isoDay(at);
  return html`<input type="hidden" name="${name}" value="${text}" />`;
}
