import { html, type Html } from '#api/html.ts';
import { dateTime } from '#shared/kernel/time.ts';
import { count } from '#shared/methodology/readable.ts';
import {
  OF_ORGANISATION_MAX,
  TRAFFIC_ROWS_MAX,
  type TrafficBy,
  type TrafficRow,
} from '#shared/requests/traffic.ts';
import { choice, empty, note, table } from '../parts/elements.ts';
import { card, percent } from '../parts/figures.ts';

/** Hours that one looks at in an incident, and on a day. */
export const PERIODS = [1, 6, 24] as const;

export interface TrafficParts {
  hours: (typeof PERIODS)[number];
  rows: readonly TrafficRow[];
  /** Whether all requests of these hours were looked at. */
  isWhole: boolean;
}

/** Rows of one table: the most frequent, which is what an incident is about. */
const SHOWN = 20;

/** Requests, errors and latencies over all organisations. */
export function trafficPage(parts: TrafficParts): Html {
  return html`<div class="head"><h1>Requests of all organisations</h1></div>
    ${chooser('/dashboard/service/requests', parts)}
    ${allFigures(parts, {
      notWhole: html`the newest ${count(OF_ORGANISATION_MAX)} of each organisation, and
      ${count(TRAFFIC_ROWS_MAX)} in all`,
      nothing: 'No organisation has asked for anything in these hours',
      linkOf: ({ by, name }) =>
        by === 'organisation' ? `/dashboard/service/accounts/${name}` : undefined,
    })}`;
}

/** Those of one organisation: what its people ask when something is slow, or fails. `list` is where its requests are one by one. */
export function timesPage(list: string, parts: TrafficParts): Html {
  return html`<div class="head">
      <p class="crumb"><a href="${list}">Requests</a></p>
      <h1>Errors and times</h1>
    </div>
    ${chooser(`${list}/times`, parts)}
    <p class="prose soft">
      Times are of requests that were answered, from the arrival of the request to the end of its
      answer: half took at most p50, 95 of a hundred at most p95.
    </p>
    ${allFigures(
      { ...parts, rows: parts.rows.filter(({ by }) => by !== 'organisation') },
      {
        notWhole: html`the newest ${count(OF_ORGANISATION_MAX)}`,
        nothing: 'Nothing was asked in these hours',
        linkOf: ({ by, name }) =>
          by === 'code' || by === 'model' || by === 'region'
            ? `${list}?${new URLSearchParams({ [by]: name }).toString()}`
            : undefined,
      },
    )}`;
}

function chooser(address: string, { hours }: TrafficParts): Html {
  return html`<form class="row end" method="get" action="${address}">
    ${choice(
      { name: 'hours', label: 'Hours until now' },
      String(hours),
      PERIODS.map((each) => [String(each), String(each)]),
    )}
    <button type="submit">Show</button>
  </form>`;
}

interface Words {
  /** Which requests were looked at, where those are not all. */
  notWhole: Html;
  nothing: string;
  /** Where the name of a row leads. */
  linkOf: (row: TrafficRow) => string | undefined;
}

function allFigures({ rows, isWhole }: TrafficParts, { notWhole, nothing, linkOf }: Words): Html {
  const of = (by: TrafficBy): TrafficRow[] => rows.filter((row) => row.by === by);
  const [all] = of('all');
  return html`${
    isWhole
      ? undefined
      : note('warn', html`<p>Not all requests of these hours were looked at: ${notWhole}.</p>`)
  }
  ${
    all === undefined || all.requests === 0
      ? empty(
          'No requests',
          `${nothing}, or nothing of it is written yet: a request is here about a second after its answer.`,
        )
      : html`<dl class="figures">
            ${card('Requests', count(all.requests))}
            ${card('Refused, 4xx', count(all.refused), percent(all.refused / all.requests))}
            ${card('Failed, 5xx', count(all.failed), percent(all.failed / all.requests))}
            ${card('Half took at most', ms(all.p50))} ${card('99 of 100 took at most', ms(all.p99))}
          </dl>
          ${SECTIONS.map(([by, title, head]) => section(title, head, { rows: ordered(by, of(by)), linkOf }))}`
  }`;
}

const SECTIONS = [
  ['hour', 'By hour', 'Hour'],
  ['code', 'Failed, by code', 'Code'],
  ['region', 'By region', 'Region'],
  ['model', 'By model', 'Model'],
  ['organisation', 'By organisation', 'Organisation'],
] as const;

/** Hours in their order, newest first; failures without those that did not fail. */
function ordered(by: TrafficBy, rows: readonly TrafficRow[]): readonly TrafficRow[] {
  if (by === 'hour') return rows.toSorted((a, b) => (a.name < b.name ? 1 : -1));
  return by === 'code' ? rows.filter(({ name }) => name !== '') : rows;
}

const ms = (value: number | null): string =>
  value === null ? 'none answered' : `${count(Math.round(value))} ms`;

function section(
  title: string,
  head: string,
  { rows, linkOf }: { rows: readonly TrafficRow[] } & Pick<Words, 'linkOf'>,
): Html | undefined {
  if (rows.length === 0) return undefined;
  const heads = ['Requests', 'Refused, 4xx', 'Failed, 5xx', 'p50, ms', 'p95, ms', 'p99, ms'];
  return html`<section class="stack tight">
    <h2>${title}</h2>
    ${table(
      title,
      [head, ...heads.map((each) => html`<span class="num">${each}</span>`)],
      rows.slice(0, SHOWN).map((row) => {
        const { name, title: called, requests, refused, failed, p50, p95, p99 } = row;
        const address = name === '' ? undefined : linkOf(row);
        const figures = [requests, refused, failed, p50, p95, p99];
        return html`<tr>
          <th scope="row" class="clip name" title="${called ?? name}">
            ${address === undefined ? nameOf(row) : html`<a href="${address}">${nameOf(row)}</a>`}
          </th>
          ${figures.map(
            (figure, i) =>
              html`<td class="num" data-head="${heads[i]}">
                ${figure === null ? undefined : count(Math.round(figure))}
              </td>`,
          )}
        </tr>`;
      }),
      'stacked',
    )}
    ${
      rows.length > SHOWN
        ? html`<p class="soft small">The first ${count(SHOWN)} of ${count(rows.length)}.</p>`
        : undefined
    }
  </section>`;
}

function nameOf({ by, name, title }: TrafficRow): Html | string {
  if (name === '') return html`<span class="soft">none</span>`;
  // As PostgreSQL writes an hour of UTC.
  return by === 'hour' ? dateTime(Date.parse(`${name.replace(' ', 'T')}Z`)) : (title ?? name);
}
