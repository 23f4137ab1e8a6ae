import { html, type Html } from '#api/html.ts';
import { REGION_WORDS } from '#api/front/status-page.ts';
import type { RegionStatusLine } from '#api/front/status.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import { REGION_STATUSES, type Region, type RegionStatus } from '#shared/catalogue/catalogue.ts';
import { REGION_NOTE_LENGTH_MAX } from '#shared/catalogue/region-note.ts';
import type { Serving } from '#shared/lanes/room.ts';
import type { LaneDepth } from '#shared/lanes/redis/depths.ts';
import { count } from '#shared/methodology/readable.ts';
import { age } from '../parts/figures.ts';
import { type Frame, token } from '../parts/layout.ts';
import {
  badge,
  choice,
  empty,
  field,
  moment,
  shortMoment,
  table,
  textArea,
  told,
  type Told,
} from '../parts/elements.ts';

/** A region as an operator sees it. */
export interface OperatedRegion {
  region: Region;
  line: RegionStatusLine;
  /** Set at run time; undefined where the catalogue's status holds. */
  override: RegionStatus | undefined;
  /** Undefined where no worker serves it. */
  serving: Serving | undefined;
  /** Its lanes, one of each shard. */
  lanes: readonly LaneDepth[];
  /** Endpoints that are not asked for the moment, each behind the region's code. */
  openCircuits: readonly string[];
}

export interface RegionsParts extends Told {
  regions: readonly OperatedRegion[];
  history: readonly AuditEntry[];
  /** Names of persons by id. */
  names: ReadonlyMap<string, string>;
  /** The form that was not taken, and what was typed. */
  typed?: { code: string; note: string; reason: string };
}

const STATUS_WORDS: Readonly<Record<RegionStatus, string>> = {
  normal: 'normal: takes requests',
  degraded: 'degraded: refuses pinned requests, sends others elsewhere; an incident',
  decommissioned: 'decommissioned: closed, takes no requests',
};

/** Every region: how it is, what was set, and what the public is told of it. */
export function regionsPage(frame: Frame, parts: RegionsParts): Html {
  const { regions, history } = parts;
  return html`<div class="head"><h1>Regions</h1></div>
    ${told(parts)}
    ${
      regions.length === 0
        ? empty('No regions', 'The catalogue has none: no request can be run.')
        : table(
            'Regions',
            [
              'Region',
              'State',
              'Set to',
              'Models',
              html`<span class="num">Slots</span>`,
              html`<span class="num">Finished a second</span>`,
              html`<span class="num">Waiting</span>`,
              html`<span class="num">Oldest</span>`,
              'Open circuits',
              'Told at /status',
            ],
            regions.map((each) => row(frame, each)),
            'stacked',
          )
    }
    <section class="stack tight">
      <h2>Set a region</h2>
      <p class="prose">
        Takes effect in all processes within about a second, and stays until it is set again.
        Running requests continue.
      </p>
      ${regions.map((each) => form(frame, each, parts))}
    </section>
    <section class="stack tight">
      <h2>What was set</h2>
      ${history.length === 0 ? html`<p class="soft">Nothing yet.</p>` : setTable(frame, parts)}
    </section>`;
}

function row(frame: Frame, each: OperatedRegion): Html {
  const { region, line, override, serving, lanes, openCircuits } = each;
  const waiting = lanes.reduce((sum, lane) => sum + lane.waiting, 0);
  const since = lanes.flatMap(({ waitingSince }) => waitingSince ?? []);
  const [tone, word] = REGION_WORDS[line.word];
  return html`<tr>
    <th scope="row">
      ${region.name} <code class="soft nowrap">${region.code}</code>
      ${region.organisations === undefined ? undefined : badge('plain', 'dedicated')}
    </th>
    <td>${badge(tone, word)}</td>
    <td data-head="Set to">
      ${override ?? html`<span class="soft">as the catalogue: ${region.status}</span>`}
    </td>
    <td class="nowrap" data-head="Models">${line.available} of ${line.offered}</td>
    <td class="num" data-head="Slots">
      ${serving === undefined ? html`<span class="soft">no worker</span>` : count(serving.slots)}
    </td>
    <td class="num" data-head="Finished a second">
      ${serving === undefined ? html`<span class="soft">none</span>` : serving.perSecond.toFixed(1)}
    </td>
    <td class="num" data-head="Waiting">${count(waiting)}</td>
    <td class="num" data-head="Oldest">
      ${since.length === 0 ? html`<span class="soft">none</span>` : age(frame.now - Math.min(...since))}
    </td>
    <td class="wrap" data-head="Open circuits">
      ${
        openCircuits.length === 0
          ? html`<span class="soft">none</span>`
          : openCircuits.map((name) => badge('warn', name.slice(region.code.length + 1)))
      }
    </td>
    <td class="wrap" data-head="Told at /status">
      ${
        region.organisations !== undefined
          ? html`<span class="soft">nothing: it is dedicated</span>`
          : line.note === undefined
            ? html`<span class="soft">nothing</span>`
            : html`<span>${line.note.text}<br />${moment(line.note.at, frame.now)}</span>`
      }
    </td>
  </tr>`;
}

function form(
  frame: Frame,
  { region, line, override }: OperatedRegion,
  { typed }: RegionsParts,
): Html {
  const { code, name } = region;
  const was = typed?.code === code ? typed : undefined;
  return html`<details class="act" ${was === undefined ? undefined : html`open`}>
    <summary>${name} <code class="soft">${code}</code></summary>
    <form class="form" method="post" action="/dashboard/service/regions">
      ${token(frame)}<input type="hidden" name="region" value="${code}" />
      ${choice({ name: 'status', id: `status-${code}`, label: 'State' }, override, [
        ['catalogue', `as the catalogue says: ${region.status}`],
        ...REGION_STATUSES.map((status) => [status, STATUS_WORDS[status]] as const),
      ])}
      ${region.organisations === undefined ? toldAtStatus(code, was?.note ?? line.note?.text ?? '') : undefined}
      ${field({ name: 'reason', id: `reason-${code}`, label: 'Reason for the audit log', value: was?.reason ?? '', max: '500', required: true })}
      <div><button class="primary" type="submit">Set ${name}</button></div>
    </form>
  </details>`;
}

/** Of regions that are open to the public; /status has no others. */
const toldAtStatus = (code: string, value: string): Html =>
  textArea({
    name: 'note',
    id: `note-${code}`,
    label: 'Public note at /status (optional)',
    value,
    max: String(REGION_NOTE_LENGTH_MAX),
    required: false,
    help: 'What is wrong, since when, and when it should be over. Leave it empty to remove the note; opening the region removes it too, unless you change it.',
  });

/** What was set of each region, newest first. */
function setTable(frame: Frame, { history, names }: RegionsParts): Html {
  return table(
    'What was set',
    ['When', 'Who', 'Region', 'Set to', 'Reason', 'Note'],
    history.map(({ at, actorId, actorKind, subject, reason, details }) => {
      const { status, note } = JSON.parse(details) as { status?: string; note?: string | null };
      return html`<tr>
        <td>${shortMoment(at, frame.now)}</td>
        <th scope="row" class="clip name">${names.get(actorId) ?? `${actorKind} ${actorId}`}</th>
        <td data-head="Region"><code>${subject ?? undefined}</code></td>
        <td data-head="Set to">${status}</td>
        <td class="wrap" data-head="Reason">${reason ?? undefined}</td>
        <td class="clip" title="${note ?? ''}" data-head="Note">${note ?? undefined}</td>
      </tr>`;
    }),
    'stacked',
  );
}
