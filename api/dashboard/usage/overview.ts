import { html, type Html } from '#api/html.ts';
import type { Limits } from '#shared/kernel/plan.ts';
import { day, DAY_MS, isoDay } from '#shared/kernel/time.ts';
import {
  count,
  counted,
  moneyText,
  QUANTITY_TITLES,
  scaleFor,
} from '#shared/methodology/readable.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';
import type { UsageFigures, UsageReport } from '#shared/receipts/usage.ts';
import { bandChart, countChart } from './chart.ts';
import { comparisons } from './comparisons.ts';
import {
  card,
  estimateCards,
  inScale,
  limitWords,
  money,
  percent,
  shareBar,
  threeDigits,
} from '../parts/figures.ts';
import type { Frame } from '../parts/layout.ts';
import { type ListedReceipt, receiptTable } from '../receipts/page.ts';
import { table } from '../parts/elements.ts';

/** Periods to choose from, in days that end with today. */
export const PERIODS = [7, 30, 90] as const;
/** What the table is by, and how a reader calls it. */
export const BREAKDOWNS = { model: 'Model', region: 'Region', key: 'Key' } as const;
export type Breakdown = keyof typeof BREAKDOWNS;

export interface OverviewParts {
  days: (typeof PERIODS)[number];
  by: Breakdown;
  /** Epoch milliseconds of the period, whole UTC days. */
  from: number;
  to: number;
  byDay: UsageReport;
  byName: UsageReport;
  /** The newest receipts of all, the newest first. */
  newest: readonly ListedReceipt[];
  /** Names of keys by id. */
  keyNames: ReadonlyMap<string, string>;
  limits: Limits;
  /** Requests since midnight, UTC. */
  today: number;
  /** Requests of the busiest of the last twenty-four hours. */
  busiestHour: number;
}

const SHOWN = ['energy', 'gwp', 'water'] as const satisfies readonly QuantityName[];

/** What an organisation has used, and what it took. */
export function overviewPage(frame: Frame, parts: OverviewParts): Html {
  const { total } = parts.byDay;
  const base = `/dashboard/${frame.membership!.orgId}`;
  return html`<div class="head">
      <h1>Overview</h1>
      ${chooser(base, parts)}
    </div>
    ${total.requests === 0 ? empty(base, parts) : filled(frame, parts, total)}`;
}

/** Each choice is a link, which applies at once. */
function chooser(base: string, { days, by }: OverviewParts): Html {
  const link = (
    words: string,
    change: Partial<Record<'days' | 'by', string>>,
    isChosen: boolean,
  ) => {
    const query = new URLSearchParams({ days: String(days), by, ...change });
    return html`<a
      href="${base}/overview?${query.toString()}"
      ${isChosen ? html`aria-current="true"` : undefined}
      >${words}</a
    >`;
  };
  return html`<div class="acts">
    <p class="ways small" role="group" aria-label="Period">
      ${PERIODS.map((each) => link(`${each} days`, { days: String(each) }, each === days))}
    </p>
    <p class="ways small" role="group" aria-label="Broken down by">
      ${Object.keys(BREAKDOWNS).map((each) => link(`by ${each}`, { by: each }, each === by))}
    </p>
  </div>`;
}

function empty(base: string, { days, limits }: OverviewParts): Html {
  return html`<div class="empty">
    <h2>No requests with a receipt in the last ${days} days</h2>
    <p class="prose">
      Your organisation’s requests, tokens, energy, greenhouse gas and water appear here a moment
      after each answer. The plan allows ${count(limits.requestsPerDay)} requests a day.
    </p>
    <p class="row">
      <a class="button primary" href="${base}/keys">See the keys</a>
      <a class="button" href="${base}/requests?status=failed">See refused and failed requests</a>
      <a class="button" href="/docs">Read the documentation</a>
    </p>
  </div>`;
}

function filled(frame: Frame, parts: OverviewParts, total: UsageFigures): Html {
  const base = `/dashboard/${frame.membership!.orgId}`;
  const ran = total.covered + total.uncovered;
  return html`${estimateCards(
      SHOWN.map((name) => [name, total.covered === 0 ? undefined : total.amounts[name]] as const),
      card(
        'Requests',
        count(total.requests),
        `with a receipt; ${counted(total.tokens.input, 'token')} in, ${count(total.tokens.output)} out`,
      ),
      card(
        'Covered',
        ran === 0 ? 'none ran' : percent(total.covered / ran),
        coverageWords(receiptsOf(base, parts), total),
      ),
      ...costCards(parts.byDay),
    )}
    <section class="charts">
      ${requestsChart(parts)} ${tokensChart(parts)}
      ${SHOWN.map((quantity) => quantityChart(parts, quantity))}
    </section>
    <p class="soft small">
      Days are UTC. Band: 5–95 %, added up as if all receipts were off in the same direction. Sums
      use the current receipt of each request, at ledger size ${count(parts.byDay.ledgerSize)}.
      Dashed: requests without an estimate; on a shaded day no request has one. ${countedHere(base)}
    </p>
    ${dayTable(parts)} ${breakdown(base, parts)} ${newestReceipts(frame, base, parts)}
    <div class="sides">
      ${headroom(parts)} ${total.covered === 0 ? undefined : comparisons(total.amounts)}
    </div>`;
}

/** Of figures by receipts: what is counted, and where the rest is. */
export const countedHere = (base: string): Html =>
  html`Requests are those with a receipt. Failed: a provider was called, and nothing came of it. Of
    what was refused only what screening blocked has a receipt. What else this service or a provider
    refused is under <a href="${base}/requests?status=failed">Requests</a>, beside calls that run no
    model; Charts count all of them.`;

/** Without prices there is no money on the page. */
function costCards({ total, currency }: UsageReport): Html[] {
  if (currency === null) return [];
  const unpriced = total.requests - total.refused - total.failed - total.priced;
  return [
    card(
      'Cost',
      money(total.cost, currency),
      unpriced === 0 ? 'by the price list' : `${counted(unpriced, 'request')} not in it`,
    ),
  ];
}

/** The receipts of the period, before what else is asked of the list. */
const receiptsOf = (base: string, { from, to }: OverviewParts): string =>
  `${base}/receipts?from=${isoDay(from)}&to=${isoDay(to - DAY_MS)}`;

/** What the share of covered requests leaves out. */
function coverageWords(receipts: string, { covered, uncovered, failed }: UsageFigures): Html {
  const ran = covered + uncovered;
  const estimated =
    uncovered === 0
      ? html`${failed === 0 ? 'all have an estimate' : 'all others have an estimate'}`
      : // A number leads to as many: one whose estimate came later is listed and not in it.
        html`${count(uncovered)} of ${count(ran)} not estimated (<a href="${receipts}&tier=degraded"
            >all issued without estimate</a
          >)`;
  if (failed === 0) return estimated;
  const withFailed = percent(covered / (ran + failed));
  return html`<a href="${receipts}&outcome=failed"
      >${count(failed)} failed, ${withFailed} with ${failed === 1 ? 'it' : 'them'}</a
    >; ${ran === 0 ? 'nothing to estimate' : estimated}`;
}

function newestReceipts(frame: Frame, base: string, { newest }: OverviewParts): Html | undefined {
  if (newest.length === 0) return undefined;
  return html`<section class="stack tight">
    <h2>Newest receipts</h2>
    ${receiptTable(frame, newest)}
    <p class="row">
      <a href="${base}/receipts">All receipts</a>
      <a href="${base}/requests?status=failed">Refused and failed requests</a>
    </p>
  </section>`;
}

/** Of requests a second: less is one every two minutes. */
const PACE_SHOWN_MIN = 0.01;

function headroom({ limits, today, busiestHour }: OverviewParts): Html {
  const share = today / limits.requestsPerDay;
  const pace = busiestHour / 3_600;
  return html`<section class="stack tight">
    <h2>Today</h2>
    <dl class="facts">
      <dt>Requests with a receipt, of the day’s limit</dt>
      <dd>
        ${count(today)} of ${count(limits.requestsPerDay)}, ${percent(share)}
        <span class="soft">until 00:00 UTC</span> ${shareBar(share)}
      </dd>
      <dt>Busiest of the last 24 hours</dt>
      <dd>
        ${counted(busiestHour, 'request')} in an hour,
        ${pace > 0 && pace < PACE_SHOWN_MIN ? `less than ${PACE_SHOWN_MIN}` : threeDigits(pace)} a
        second: ${percent(pace / limits.requestsPerSecond)} of ${count(limits.requestsPerSecond)}
        ${shareBar(pace / limits.requestsPerSecond)}
      </dd>
      <dt>Limits of the plan</dt>
      <dd>${limitWords(limits)}</dd>
    </dl>
  </section>`;
}

/** Figures by day, and the days that they are of. */
export type FiguresOfDays = Pick<OverviewParts, 'from' | 'to'> & {
  byDay: Pick<UsageReport, 'groups'>;
};

/** Every day of the period, those without a request too. */
function daysOf({
  from,
  to,
  byDay,
}: FiguresOfDays): { name: string; figures: UsageFigures | undefined }[] {
  const known = new Map((byDay.groups ?? []).map((group) => [group.names[0]!, group]));
  return Array.from({ length: Math.round((to - from) / DAY_MS) }, (_, i) => {
    const at = from + i * DAY_MS;
    return { name: day(at), figures: known.get(isoDay(at)) };
  });
}

/** Requests of each day as bars. */
export function requestsChart(parts: FiguresOfDays): Html {
  const days = daysOf(parts);
  const largest = Math.max(...days.map(({ figures }) => figures?.requests ?? 0));
  return countChart(
    'Requests per day',
    count(largest),
    days.map(({ name, figures }) => {
      const uncovered = figures?.uncovered ?? 0;
      const failed = figures?.failed ?? 0;
      const all = figures?.requests ?? 0;
      const missing =
        (uncovered === 0 ? '' : `, ${count(uncovered)} not estimated`) +
        (failed === 0 ? '' : `, ${count(failed)} failed`);
      return {
        name,
        covered: all - uncovered - failed,
        uncovered: uncovered + failed,
        words: `${name}: ${counted(all, 'request')}${missing}`,
      };
    }),
  );
}

function tokensChart(parts: OverviewParts): Html {
  const days = daysOf(parts).map(({ name, figures }) => {
    const all = figures?.tokens.output ?? 0;
    const uncovered = figures?.uncoveredTokens.output ?? 0;
    return {
      name,
      covered: all - uncovered,
      uncovered,
      words: `${name}: ${counted(all, 'token')}`,
    };
  });
  const largest = Math.max(...days.map(({ covered, uncovered }) => covered + uncovered));
  return countChart('Tokens out per day', count(largest), days);
}

function quantityChart(parts: OverviewParts, quantity: QuantityName): Html {
  const days = daysOf(parts);
  const uppers = days.map(({ figures }) => Number(figures?.amounts[quantity].upper ?? 0));
  const scale = scaleFor(quantity, Math.max(...uppers));
  return bandChart(
    `${QUANTITY_TITLES[quantity]} per day, ${scale.unit}`,
    scale.text(Math.max(...uppers)),
    days.map(({ name, figures }) => {
      // A day without requests took nothing; one whose requests have no estimate is a gap.
      if (figures === undefined) {
        return { name, value: { value: 0, lower: 0, upper: 0 }, words: `${name}: no requests` };
      }
      if (figures.covered === 0) return { name, value: undefined, words: `${name}: not estimated` };
      const { value, lower, upper } = figures.amounts[quantity];
      return {
        name,
        value: { value: Number(value), lower: Number(lower), upper: Number(upper) },
        words: `${name}: ${scale.text(value)} ${scale.unit} [${scale.text(lower)}–${scale.text(upper)}]`,
      };
    }),
  );
}

function dayTable(parts: OverviewParts): Html {
  const days = daysOf(parts)
    .filter(({ figures }) => figures !== undefined)
    .toReversed();
  return html`<details class="act">
    <summary>The figures of each day</summary>
    ${figuresTable(
      'Figures of each day',
      ['Day'],
      days.map(({ name, figures }) => ({ names: [name], figures: figures! })),
      { currency: parts.byDay.currency },
    )}
  </details>`;
}

function breakdown(base: string, { by, byName, keyNames, from, to }: OverviewParts): Html {
  const rows = (byName.groups ?? [])
    .map((group) => {
      const name = group.names[0] === '' ? 'not stated' : group.names[0]!;
      return { names: [by === 'key' ? (keyNames.get(name) ?? name) : name], figures: group };
    })
    .toSorted((a, b) => gas(b.figures) - gas(a.figures));
  const lastDay = isoDay(to - DAY_MS);
  const firstDay = isoDay(from);
  return html`<section class="stack tight">
    <h2>By ${by}</h2>
    ${
      byName.groups === null
        ? html`<p class="soft">There are too many to show. Look at a shorter period.</p>`
        : figuresTable(`By ${by}`, [BREAKDOWNS[by]], rows.slice(0, ROWS_MAX), {
            whole: gas(byName.total),
            currency: byName.currency,
          })
    }
    ${
      rows.length > ROWS_MAX
        ? html`<p class="soft">And ${count(rows.length - ROWS_MAX)} more with less.</p>`
        : undefined
    }
    <p>
      <a href="${base}/usage?from=${firstDay}&amp;to=${lastDay}&amp;by=${by}"
        >All figures, by two things at once, and as CSV</a
      >
    </p>
  </section>`;
}

/** More rows are on the page of usage. */
const ROWS_MAX = 20;

const gas = ({ amounts }: UsageFigures): number => Number(amounts.gwp.value);

/** Figures, and what they are of: a name for each column of names. */
export interface NamedFigures {
  names: readonly string[];
  figures: UsageFigures;
}

function costCell({ priced, cost, requests }: UsageFigures, currency: string): Html {
  if (priced === 0 && requests > 0) return html`<span class="soft">not known</span>`;
  return html`<span title="${cost} ${currency}">${moneyText(Number(cost))}</span>`;
}

/** On a phone each row of a stacked table is as high as half of the screen. */
const STACKED_ROWS_MAX = 40;

/** Figures by name; with their share of the whole greenhouse gas and their cost where these are given. */
export function figuresTable(
  label: string,
  named: readonly string[],
  rows: readonly NamedFigures[],
  { whole, currency = null }: { whole?: number; currency?: string | null } = {},
): Html {
  const scales = SHOWN.map((quantity) => {
    const largest = Math.max(
      0,
      ...rows.map(({ figures }) => Number(figures.amounts[quantity].value)),
    );
    return [quantity, scaleFor(quantity, largest)] as const;
  });
  const heads = [
    ...(['Requests', 'Not estimated', 'Failed', 'Tokens in', 'Tokens out'] as const),
    ...scales.map(([quantity, scale]) => `${QUANTITY_TITLES[quantity]}, ${scale.unit}`),
    ...(currency === null ? [] : [`Cost, ${currency}`]),
    ...(whole === undefined ? [] : ['Share of gas']),
  ];
  return table(
    label,
    [...named, ...heads.map((text) => html`<span class="num">${text}</span>`)],
    rows.map(({ names, figures }) => {
      const [name = '', ...more] = names;
      const { requests, uncovered, failed, covered, tokens } = figures;
      const cells = [
        count(requests),
        count(uncovered),
        count(failed),
        count(tokens.input),
        count(tokens.output),
        ...scales.map(([quantity, scale]) =>
          covered === 0 && uncovered + failed > 0
            ? html`<span class="soft">not estimated</span>`
            : inScale(figures.amounts[quantity], scale),
        ),
        ...(currency === null ? [] : [costCell(figures, currency)]),
        ...(whole === undefined
          ? []
          : [
              whole === 0 || covered === 0
                ? ''
                : html`${percent(gas(figures) / whole)} ${shareBar(gas(figures) / whole)}`,
            ]),
      ];
      return html`<tr>
        <th scope="row" class="clip name" title="${name}">${name}</th>
        ${more.map((each) => html`<td class="clip name" title="${each}">${each}</td>`)}
        ${cells.map((cell, i) => html`<td class="num" data-head="${heads[i]}">${cell}</td>`)}
      </tr>`;
    }),
    rows.length > STACKED_ROWS_MAX ? 'scrolls' : 'stacked',
  );
}
