import { html, type Html } from '#api/html.ts';
import { capital } from '#shared/kernel/plain-text.ts';
import { OTHER_VALUES } from '#shared/kernel/tags.ts';
import { day, DAY_MS, dateTime, isoDay } from '#shared/kernel/time.ts';
import { count, QUANTITY_TITLES, scaleFor } from '#shared/methodology/readable.ts';
import { PERCENTILE_ERROR } from '#shared/requests/counts.ts';
import { choice, dayFields, empty, note, table } from '../parts/elements.ts';
import { card, percent } from '../parts/figures.ts';
import type { Frame } from '../parts/layout.ts';
import { noTags } from '../parts/no-tags.ts';
import {
  type Asked,
  type ChartBy,
  isOfReceipts,
  KEPT_WORDS,
  PERIODS,
  periodWords,
  queryOf,
  type Subject,
  SUBJECTS,
  timeOf,
  waysOf,
} from './asked.ts';
import { compact, seriesChart, shortened } from './drawing.ts';
import {
  type Charted,
  type Part,
  percentileName,
  PERCENTILES,
  type Series,
  sumOf,
} from './series.ts';

export interface ChartsParts {
  asked: Asked;
  /** Undefined where there is nothing to draw. */
  charted: Charted | 'too many' | undefined;
  /** The tags that the organisation has declared; undefined for all organisations together. */
  tags: readonly string[] | undefined;
  /** Names of keys by id. */
  keys: ReadonlyMap<string, string>;
  /** The address of the page. */
  address: string;
  /** Where the requests of an organisation are one by one. */
  list: string | undefined;
}

/** Rows of the table by name, of which each is read whole. */
export const PARTS_SHOWN = 10;

/**
 * One thing over time, by another: a chart, its tables, and the way to each of the others.
 * @param frame of a page of an organisation; undefined for all of them together
 */
export function chartsPage(parts: ChartsParts, frame?: Frame): Html {
  const { asked, charted, address, tags } = parts;
  const subject = SUBJECTS[asked.of];
  const hasChart = typeof charted === 'object' && charted.total.requests > 0;
  return html`<div class="head">
      <h1>${tags === undefined ? 'Charts of all organisations' : 'Charts'}</h1>
      ${
        hasChart
          ? html`<div class="acts">
              <a class="button" href="${address}.csv?${queryOf(asked)}" download>Download CSV</a>
            </div>`
          : undefined
      }
    </div>
    ${ways(parts)}
    ${frame !== undefined && tags?.length === 0 ? noTags(frame.membership!) : undefined}
    ${asked.problem === undefined ? undefined : note('bad', asked.problem)}
    ${
      charted === 'too many'
        ? note('warn', 'There is too much in this period. Choose a shorter one, or another way.')
        : hasChart
          ? drawn(parts, charted)
          : empty(
              `No ${subject === 'Errors' ? 'requests' : 'figures'} in ${periodWords(asked.period)}`,
              isOfReceipts(asked.of)
                ? 'Each answer counts here when its receipt is in the ledger, within seconds.'
                : 'Each request with a valid key counts here within a quarter of a minute of its answer.',
            )
    }`;
}

/** The choices of the page, each a link that applies at once. */
function ways({ asked, tags, address }: ChartsParts): Html {
  const link = (words: string, change: Partial<Asked>, isChosen: boolean): Html => {
    const of = change.of ?? asked.of;
    const by = waysOf(of, tags).find((each) => each === (change.by ?? asked.by)) ?? '';
    const query = queryOf({ ...asked, ...change, by });
    return compact(
      html`<a href="${address}?${query}" ${isChosen ? html`aria-current="true"` : undefined}
        >${words}</a
      >`,
    );
  };
  const row = (name: string, links: readonly Html[]): Html =>
    html`<p class="ways small" role="group" aria-label="${name}">
      <span class="soft">${name}</span>${links}
    </p>`;
  const subjects = (Object.keys(SUBJECTS) as Subject[]).filter(
    (of) => tags !== undefined || !isOfReceipts(of),
  );
  const { typed, period } = asked;
  return html`<div class="stack tight">
    ${row(
      'Of',
      subjects.map((of) => link(SUBJECTS[of], { of }, of === asked.of)),
    )}
    ${row(
      'By',
      waysOf(asked.of, tags).map((by) => link(byWords(by), { by }, by === asked.by)),
    )}
    ${row(
      'Period',
      PERIODS.map((days) =>
        link(
          days === 1 ? '24 hours' : `${days} days`,
          { period: { ...period, days } },
          days === period.days && asked.problem === undefined,
        ),
      ),
    )}
    ${
      timeOf(asked.of) === undefined
        ? row('As', [
            link('stacked', { as: 'stacked' }, asked.as === 'stacked'),
            link('lines', { as: 'lines' }, asked.as === 'lines'),
          ])
        : undefined
    }
    <details ${period.days === undefined || asked.problem !== undefined ? html`open` : undefined}>
      <summary class="small">Other days</summary>
      <form class="row end" method="get" action="${address}">
        ${dayFields(
          typed.from === '' && typed.to === ''
            ? { from: isoDay(period.from), to: isoDay(period.to - 1) }
            : typed,
        )}
        ${choice(
          { name: 'of', label: 'Of' },
          asked.of,
          subjects.map((of) => [of, SUBJECTS[of]] as const),
        )}
        ${choice(
          { name: 'by', label: 'By' },
          asked.by,
          waysOf(asked.of, tags).map((by) => [by, byWords(by)] as const),
        )}
        ${choice({ name: 'as', label: 'As' }, asked.as, [
          ['stacked', 'stacked'],
          ['lines', 'lines'],
        ])}
        <button type="submit">Draw</button>
      </form>
    </details>
  </div>`;
}

const byWords = (by: ChartBy): string => (by === '' ? 'all together' : by.replace(':', ' '));

function drawn(parts: ChartsParts, charted: Charted): Html {
  const { asked } = parts;
  const { of, by, as, period } = asked;
  const isOfTimes = timeOf(of) !== undefined;
  const { series, rest, points, whole, before } = charted;
  const all = [
    ...series.map(({ name, values }) => ({ label: labelOf(parts, name), values })),
    ...(rest === undefined ? [] : [{ label: restLabel(by), values: rest.values }]),
  ];
  const text = textOf(of, charted);
  const named = points.map((at) => (period.step === 'hour' ? hourName(at) : dayName(at)));
  return html`${cards(asked, charted)}
    ${seriesChart({
      title: titleOf(asked),
      points: named,
      series: all,
      before: hasBefore(charted)
        ? {
            label: isOfTimes ? 'p95 of the period before' : 'the period before',
            values: before.values,
          }
        : undefined,
      as: isOfTimes ? 'lines' : as,
      text,
      whole: isOfTimes ? undefined : whole.values,
    })}
    ${by === '' ? undefined : partsTable(parts, charted)}
    ${pointsTable({ asked, points, all, whole, text })}
    <p class="soft small">${about(parts, charted)}</p>`;
}

/** Whether there is a line to draw of the period before. */
const hasBefore = ({ before }: Charted): boolean =>
  before.values.some((value) => value !== undefined && value > 0);

function titleOf({ of, by, period }: Asked): string {
  const what = by === '' || timeOf(of) === undefined ? SUBJECTS[of] : `${SUBJECTS[of]}, p95`;
  return `${what}${by === '' ? '' : ` by ${by.replace(':', ' ')}`}, each ${period.step}`;
}

/** Where what a page shows comes from, and what it leaves out. */
function about({ asked: { of, by }, tags, list }: ChartsParts, charted: Charted): Html {
  const inUtc = `Hours and days are UTC.${hasBefore(charted) ? ' The dotted line is the period before.' : ''}`;
  if (isOfReceipts(of)) {
    return html`${inUtc} Added up from receipts, exactly as
      <code>GET /v1/usage</code
      >${by.startsWith('tag:') ? '; requests without the tag are “not stated”' : ''}. Requests
      without an estimate add no energy and no gas.`;
  }
  const lost =
    'Counted from the rows of requests: a process that is killed loses its last second of them, so take tokens and footprint from receipts.';
  const times = `Times are of answers of a model that were not given before, from the arrival of the request; each percentile is within ${Math.ceil(PERCENTILE_ERROR * 100)} % and a millisecond.`;
  const rates =
    'Every request with a valid key counts, also those without a receipt: refused ones, and calls that run no model. Errors are what was refused (4xx) or failed (5xx, or an answer that broke off). A request that its client left is no error.';
  return html`${inUtc} ${timeOf(of) === undefined ? rates : times} ${lost} ${KEPT_WORDS}
  ${
    list === undefined || tags === undefined
      ? undefined
      : html`One by one: <a href="${list}">Requests</a>.`
  }`;
}

function cards({ of, period }: Asked, charted: Charted): Html {
  const { total, totalBefore } = charted;
  const before = `the ${period.days === 1 ? '24 hours' : `${Math.round((period.to - period.from) / DAY_MS)} days`} before`;
  if (timeOf(of) !== undefined) {
    return html`<dl class="figures">
      ${PERCENTILES.map((share, i) => {
        const [now, then] = [total.percentiles[i], totalBefore.percentiles[i]];
        return card(percentileName(share), msText(now), `${msText(then)} in ${before}`);
      })}
      ${card('Answers', count(total.timed), `${count(totalBefore.timed)} in ${before}`)}
    </dl>`;
  }
  const [now, then] = [sumOf(of, total)!, sumOf(of, totalBefore)!];
  const text = amountText(of, now);
  const rate = (part: Part): string =>
    part.requests === 0 ? 'no requests' : percent((part.refused + part.failed) / part.requests);
  return html`<dl class="figures">
    ${card(
      SUBJECTS[of],
      isOfReceipts(of) && of !== 'tokens'
        ? html`<span title="${total.amount}">${text}</span>`
        : text,
      begunLate(charted)
        ? `${amountText(of, then)} in ${before}, which began without any`
        : compared(now, then, before),
    )}
    ${isOfReceipts(of) ? undefined : card('Share of errors', rate(total), `${rate(totalBefore)} in ${before}`)}
    ${
      of === 'requests'
        ? undefined
        : card('Requests', count(total.requests), `${count(totalBefore.requests)} in ${before}`)
    }
  </dl>`;
}

/**
 * Whether the period before has something in its later half alone: what began there, or was counted from there on, has not grown
 * as many times as the two amounts say.
 */
function begunLate({ before: { values } }: Charted): boolean {
  const first = values.findIndex((value) => value !== undefined && value > 0);
  return first * 2 >= values.length;
}

/** How an amount stands to that of the period before. */
function compared(now: number, then: number, before: string): string {
  if (then === 0) return now === 0 ? `none in ${before} either` : `none in ${before}`;
  if (now === then) return `as much as in ${before}`;
  if (now >= 2 * then) return `${timesText(now / then)} times as much as in ${before}`;
  return `${percent(Math.abs(now - then) / then)} ${now > then ? 'more' : 'less'} than ${before}`;
}

/** `6.4`, and a whole number where it is large. */
const timesText = (times: number): string =>
  times < 10 ? times.toFixed(1) : count(Math.round(times));

function labelOf({ asked: { by }, keys }: ChartsParts, name: string): string {
  if (by === '') return name;
  const value =
    by.startsWith('tag:') && name.includes('=') ? name.slice(name.indexOf('=') + 1) : name;
  if (value === OTHER_VALUES) return by.startsWith('tag:') ? 'other values' : 'others';
  return (by === 'key' ? keys.get(value) : undefined) ?? (value === '' ? 'not stated' : value);
}

/** What has another name, or none. */
const restLabel = (by: ChartBy): string => (by === 'code' ? 'the others' : 'the others, or none');

function textOf(of: Subject, { whole, before }: Charted): (value: number) => string {
  if (timeOf(of) !== undefined) return msText;
  const values = [...whole.values, ...before.values].map((value) => value ?? 0);
  if (of !== 'energy' && of !== 'gwp') return (value) => count(Math.round(value));
  const scale = scaleFor(of, Math.max(0, ...values));
  return (value) => `${scale.text(value)} ${scale.unit}`;
}

function amountText(of: Subject, value: number): string {
  if (of !== 'energy' && of !== 'gwp') return count(value);
  const scale = scaleFor(of, value);
  return `${scale.text(value)} ${scale.unit}`;
}

const msText = (value: number | undefined): string =>
  value === undefined ? 'none' : `${count(Math.round(value))} ms`;

function partsTable(parts: ChartsParts, { parts: named, total }: Charted): Html {
  const { asked } = parts;
  const { of, by } = asked;
  const heads = headsOf(of);
  const rows = named.slice(0, PARTS_SHOWN);
  const row = (name: Html | string, part: Part): Html => {
    const cells = cellsOf(of, part, total);
    return compact(
      html`<tr>
        <th scope="row" class="clip name">${name}</th>
        ${cells.map((cell, i) => html`<td class="num" data-head="${heads[i]}">${cell}</td>`)}
      </tr>`,
    );
  };
  return html`<section class="stack tight">
    <h2>By ${by.replace(':', ' ')}</h2>
    ${table(
      `By ${by.replace(':', ' ')}`,
      [
        capital(by.replace(':', ' ')),
        ...heads.map((head) => html`<span class="num">${head}</span>`),
      ],
      [row('All', total), ...rows.map((part) => row(nameOf(parts, part), part))],
      'stacked',
    )}
    ${
      named.length > PARTS_SHOWN
        ? html`<p class="soft small">And ${count(named.length - PARTS_SHOWN)} more, in the CSV.</p>`
        : undefined
    }
  </section>`;
}

/** The name of a part, with the way to its requests, where those are listed by it. */
function nameOf(parts: ChartsParts, { name }: Part): Html {
  const { asked, list } = parts;
  const { by, of, period } = asked;
  const label = labelOf(parts, name);
  const isOther = name === '' || name.endsWith(OTHER_VALUES);
  const words = html`<span title="${label}">${shortened(label)}</span>`;
  if (list === undefined || isOther) return words;
  const [filter, value] =
    by.startsWith('tag:') && isOfReceipts(of)
      ? ['tag', `${by.slice(4)}=${name}`]
      : [by.startsWith('tag:') ? 'tag' : by, name];
  const query = new URLSearchParams({
    [filter]: value,
    ...(of === 'errors' ? { status: 'failed' } : {}),
    from: isoDay(period.from),
    to: isoDay(period.to - 1),
  });
  return html`<a href="${list}?${query.toString()}">${words}</a>`;
}

function headsOf(of: Subject): string[] {
  if (timeOf(of) !== undefined) {
    return ['Answers', ...PERCENTILES.map((share) => `${percentileName(share)}, ms`)];
  }
  if (of === 'tokens') return ['Requests', 'Tokens', 'Share'];
  if (isOfReceipts(of)) return ['Requests', QUANTITY_TITLES[of as 'energy'], 'Share'];
  return ['Requests', 'Refused, 4xx', 'Failed, 5xx', 'Client left', 'Share of errors'];
}

function cellsOf(of: Subject, part: Part, total: Part): (string | Html)[] {
  if (timeOf(of) !== undefined) {
    return [
      count(part.timed),
      ...part.percentiles.map((value) => (value === undefined ? '' : count(Math.round(value)))),
    ];
  }
  if (isOfReceipts(of)) {
    const [amount, all] = [Number(part.amount), Number(total.amount)];
    return [
      count(part.requests),
      html`<span title="${part.amount}">${amountText(of, amount)}</span>`,
      all === 0 ? '' : percent(amount / all),
    ];
  }
  const { requests, refused, failed, gone } = part;
  return [
    ...[requests, refused, failed, gone].map((each) => count(each)),
    requests === 0 ? '' : percent((refused + failed) / requests),
  ];
}

/** Rows of a table that scrolls, newest first: one for each hour or day. */
function pointsTable({
  asked: { of, period },
  points,
  all,
  whole,
  text,
}: {
  asked: Asked;
  points: readonly number[];
  all: readonly { label: string; values: readonly (number | undefined)[] }[];
  whole: Series;
  text: (value: number) => string;
}): Html {
  const isOfTimes = timeOf(of) !== undefined;
  const columns = [
    ...(isOfTimes ? [] : [{ label: 'All', values: whole.values }]),
    ...(all.length < 2 && !isOfTimes ? [] : all),
  ];
  const title = `The figures of each ${period.step}`;
  return html`<details class="act points" data-points>
    <summary>${title}</summary>
    ${table(
      title,
      [
        period.step === 'hour' ? 'Hour' : 'Day',
        ...columns.map(
          ({ label }) => html`<span class="num" title="${label}">${shortened(label)}</span>`,
        ),
      ],
      points
        .map((at, i) =>
          compact(
            html`<tr>
              <th scope="row">${period.step === 'hour' ? dateTime(at) : day(at)}</th>
              ${columns.map(
                ({ values }) => html`<td>${values[i] === undefined ? '' : text(values[i])}</td>`,
              )}
            </tr>`,
          ),
        )
        .toReversed(),
    )}
  </details>`;
}

/** `22 Nov`: the year stands in the table. */
const dayName = (at: number): string => day(at).split(' ').slice(0, 2).join(' ');
const hourName = (at: number): string =>
  `${dayName(at)}, ${new Date(at).toISOString().slice(11, 16)}`;
