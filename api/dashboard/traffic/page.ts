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
export function trafficPage({ hours, rows, isWhole }: TrafficParts): Html {
  const of = (by: TrafficBy): TrafficRow[] => rows.filter((row) => row.by === by);
  const [all] = of('all');
  return html`<div class="head"><h1>Requests of all organisations</h1></div>
    <form class="row end" method="get" action="/dashboard/service/requests">
      ${choice(
        { name: 'hours', label: 'Hours until now' },
        String(hours),
        PERIODS.map((each) => [String(each), String(each)]),
      )}
      <button type="submit">Show</button>
    </form>
    ${
      isWhole
        ? undefined
        : note(
            'warn',
            html`<p>
              Not all requests of these hours were looked at: the newest
              ${count(OF_ORGANISATION_MAX)} of each organisation, and ${count(TRAFFIC_ROWS_MAX)} in
              all.
            </p>`,
          )
    }
    ${
      all === undefined || all.requests === 0
        ? empty(
            'No requests',
            'No organisation has asked for anything in these hours, or nothing of it is written yet: a request is here about a second after its answer.',
          )
        : html`<dl class="figures">
              ${card('Requests', count(all.requests))}
              ${card('Refused, 4xx', count(all.refused), percent(all.refused / all.requests))}
              ${card('Failed, 5xx', count(all.failed), percent(all.failed / all.requests))}
              ${card('Half took at most', ms(all.p50))}
              ${card('99 of 100 took at most', ms(all.p99))}
            </dl>
            ${section(
              'By hour',
              'Hour',
              of('hour').toSorted((a, b) => (a.name < b.name ? 1 : -1)),
            )}
            ${section(
              'Failed, by code',
              'Code',
              of('code').filter(({ name }) => name !== ''),
            )}
            ${section('By region', 'Region', of('region'))}
            ${section('By model', 'Model', of('model'))}
            ${section('By organisation', 'Organisation', of('organisation'))}`
    }`;
}

const ms = (value: number | null): string =>
  value === null ? 'none answered' : `${count(Math.round(value))} ms`;

function section(title: string, head: string, rows: readonly TrafficRow[]): Html | undefined {
  if (rows.length === 0) return undefined;
  const heads = ['Requests', 'Refused, 4xx', 'Failed, 5xx', 'p50, ms', 'p95, ms', 'p99, ms'];
  return html`<section class="stack tight">
    <h2>${title}</h2>
    ${table(
      title,
      [head, ...heads.map((each) => html`<span class="num">${each}</span>`)],
      rows.slice(0, SHOWN).map(({ by, name, requests, refused, failed, p50, p95, p99 }) => {
        const figures = [requests, refused, failed, p50, p95, p99];
        return html`<tr>
          <th scope="row" class="clip name" title="${name}">${nameOf(by, name)}</th>
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

function nameOf(by: TrafficBy, name: string): Html | string {
  if (name === '') return html`<span class="soft">none</span>`;
  if (by === 'organisation')
    return html`<a href="/dashboard/service/accounts/${name}"><code>${name}</code></a>`;
  // As PostgreSQL writes an hour of UTC.
  return by === 'hour' ? dateTime(Date.parse(`${name.replace(' ', 'T')}Z`)) : name;
}
