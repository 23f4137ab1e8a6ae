import { html, type Html } from '#api/html.ts';
import { capital } from '#shared/kernel/plain-text.ts';
import { OTHER_VALUES, TAG_LENGTH_MAX, TAG_VALUES_A_DAY_MAX } from '#shared/kernel/tags.ts';
import type { Price } from '#shared/catalogue/catalogue.ts';
import { day, DAY_MS, isoDay } from '#shared/kernel/time.ts';
import { count, moneyText, scaleFor } from '#shared/methodology/readable.ts';
import {
  tagKeyOf,
  USAGE_GROUPS,
  USAGE_ROWS_MAX,
  type UsageFigures,
  type UsageGrouping,
  type UsageReport,
} from '#shared/receipts/usage.ts';
import type { Frame } from '../parts/layout.ts';
import { noTags } from '../parts/no-tags.ts';
import { usageChart } from './stacked.ts';
import { countedHere, figuresTable } from './overview.ts';
import { choice, dayFields, field, note, table } from '../parts/elements.ts';
import { type Days, isRunningMonth, timesOfMonth, usualPeriods } from './periods.ts';

export interface UsageParts {
  /** Days as the address names them, both included. */
  from: string;
  to: string;
  groupBy: readonly UsageGrouping[];
  report: UsageReport | undefined;
  problem: string | undefined;
  /** The tags that the organisation has declared, and the one that requests are filtered by, as it was typed. */
  tags: readonly string[];
  tag: string;
  keyNames: ReadonlyMap<string, string>;
  /** Epoch milliseconds of these days; undefined where they are none. */
  range: Days | undefined;
  /** The period that it is compared with, and what that used. */
  before: (Days & { figures: UsageFigures }) | undefined;
  prices: readonly ListedPrice[];
}

/** A price of a model, as the organisation is shown it. */
export type ListedPrice = Price & { model: string };

/** A page shows so many rows, of a kilobyte each, within its budget of bytes; the CSV has all. */
const ROWS_MAX = 100;
/** Prices that it shows beside them, of a third of a kilobyte each. */
const PRICES_MAX = 30;

/** Usage of a period by one or two things, as a table and as CSV. */
export function usagePage(frame: Frame, parts: UsageParts): Html {
  const { from, to, groupBy, report, problem, tags, tag } = parts;
  const address = `/dashboard/${frame.membership!.orgId}/usage`;
  const [by, and] = groupBy;
  const query = new URLSearchParams({
    from,
    to,
    by: by!,
    ...(and !== undefined && { and }),
    ...(tag !== '' && { tag }),
  });
  // One that is not declared any more, and that is asked for, stays chosen.
  const groups = [
    ...new Set([...USAGE_GROUPS, ...tags.map((key) => `tag:${key}` as const), ...groupBy]),
  ];
  const options = groups.map((each) => [each, each.replace(':', ' ')] as const);
  return html`<div class="head">
      <h1>Usage</h1>
      ${
        report?.groups == null || report.groups.length === 0
          ? undefined
          : html`<div class="acts">
              <a class="button" href="${address}.csv?${query.toString()}" download>Download CSV</a>
            </div>`
      }
    </div>
    <form class="row end" method="get" action="${address}">
      ${dayFields({ from, to })} ${choice({ name: 'by', label: 'By' }, by, options)}
      ${choice({ name: 'and', label: 'and by' }, and, [['', 'nothing else'], ...options])}
      ${
        tags.length === 0 && tag === ''
          ? undefined
          : field({
              name: 'tag',
              label: `Only the tag, as ${tags[0] ?? 'team'}=…`,
              value: tag,
              max: String(TAG_LENGTH_MAX),
            })
      }
      <button type="submit">Show</button>
    </form>
    ${tags.length === 0 ? noTags(frame.membership!) : undefined}
    <p class="row small" role="group" aria-label="Usual periods">
      ${usualPeriods(frame.now).map(([name, days]) => {
        query.set('from', isoDay(days.from));
        query.set('to', isoDay(days.to - DAY_MS));
        return html`<a href="${address}?${query.toString()}">${name}</a>`;
      })}
    </p>
    ${problem === undefined ? undefined : note('bad', problem)}
    ${priceList(parts.prices, report?.currency ?? null)}
    ${report === undefined ? undefined : rows(frame, parts, report)}`;
}

/** What a month that is not over comes to, as it went so far; and on its first day, when that is said. */
function outlook(frame: Frame, { range }: UsageParts, { total, currency }: UsageReport) {
  if (range === undefined || !isRunningMonth(range, frame.now)) return undefined;
  const times = timesOfMonth(range, frame.now);
  if (times === undefined) {
    return html`<p>
      This month began today: what it comes to at its pace is here from tomorrow on. The month
      before is under <em>Last month</em>.
    </p>`;
  }
  if (total.covered === 0) return undefined;
  const comesTo = (quantity: 'energy' | 'gwp'): string => {
    const amount = Number(total.amounts[quantity].value) * times;
    const scale = scaleFor(quantity, amount);
    return `${scale.text(amount)} ${scale.unit}`;
  };
  return html`<p>
    At the pace since it began, this month comes to
    about${currency === null ? '' : ` ${moneyText(Number(total.cost) * times)} ${currency},`}
    ${comesTo('energy')} of energy and ${comesTo('gwp')}.
  </p>`;
}

function priceList(prices: readonly ListedPrice[], currency: string | null): Html | undefined {
  if (prices.length === 0 || currency === null) return undefined;
  const perMillion = (ofToken: number): string => String(ofToken / 1e6);
  const heads = ['Input', 'Input from a cache', 'Output'];
  return html`<details class="act" id="prices">
    <summary>Prices, in ${currency} for a million tokens</summary>
    ${table(
      'Prices',
      ['Model', 'Where', 'From', ...heads.map((text) => html`<span class="num">${text}</span>`)],
      prices.slice(0, PRICES_MAX).map(
        ({ model, region, endpoint, from, input, cachedInput, output }) =>
          html`<tr>
            <th scope="row">${model}</th>
            <td data-head="Where">
              ${region ?? 'everywhere'}${endpoint === undefined ? '' : ', on one of its servers'}
            </td>
            <td data-head="From">${day(from)}</td>
            ${[input, cachedInput, output].map(
              (each, i) => html`<td class="num" data-head="${heads[i]}">${perMillion(each)}</td>`,
            )}
          </tr>`,
      ),
      'stacked',
    )}
    <p class="soft small">
      ${prices.length > PRICES_MAX ? `The first ${count(PRICES_MAX)} of ${count(prices.length)}. ` : undefined}The
      price that says most about where a request ran is used. Costs are what this list gives, and no
      invoice.
    </p>
  </details>`;
}

function rows(frame: Frame, parts: UsageParts, report: UsageReport): Html {
  const { groupBy, keyNames, range, before } = parts;
  if (report.groups === null) {
    return note(
      'warn',
      `There are more than ${count(USAGE_ROWS_MAX)} rows. Choose a shorter period or fewer groups.`,
    );
  }
  if (report.groups.length === 0) {
    return html`<div class="empty">
      <h2>No requests in this period</h2>
      <p class="prose">
        Each request with a receipt counts on the UTC day on which it was asked. Choose other days,
        or look at <a href="/dashboard/${frame.membership!.orgId}/requests">Requests</a>, which has
        those without a receipt too.
      </p>
    </div>`;
  }
  const nameOf = (name: string, grouping: UsageGrouping): string => {
    if (grouping === 'day') return day(Date.parse(name));
    if (name === OTHER_VALUES) return 'other values';
    return (grouping === 'key' ? keyNames.get(name) : undefined) ?? (name || 'not stated');
  };
  const shown = report.groups.slice(0, ROWS_MAX).map((group) => ({
    names: group.names.map((name, i) => nameOf(name, groupBy[i]!)),
    figures: group,
  }));
  const named = (first: string): string[] => groupBy.map((_, i) => (i === 0 ? first : ''));
  return html`${outlook(frame, parts, report)}
    ${range && usageChart({ report, groupBy, nameOf, range })}
    ${figuresTable(
      'Usage',
      groupBy.map((each) => capital(each.replace(':', ' '))),
      [
        { names: named('Total'), figures: report.total },
        ...(before === undefined
          ? []
          : [
              {
                names: named('Before'),
                figures: before.figures,
              },
            ]),
        ...shown,
      ],
      { currency: report.currency },
    )}
    <p class="soft small">
      ${
        report.groups.length > ROWS_MAX
          ? `The first ${count(ROWS_MAX)} of ${count(report.groups.length)} rows; the CSV has all. `
          : undefined
      }Brackets
      are 5–95 % intervals, added up as if all receipts erred alike; requests that are not estimated
      are in no amount.
      ${
        before === undefined
          ? undefined
          : `“Before” is ${[...new Set([day(before.from), day(before.to - DAY_MS)])].join(' to ')}. `
      }${countedHere(`/dashboard/${frame.membership!.orgId}`)}
      The CSV has exact figures of all five quantities.
      ${
        groupBy.some((each) => tagKeyOf(each) !== undefined)
          ? `Requests without the tag are “not stated”. Beyond ${TAG_VALUES_A_DAY_MAX} values of a tag in a day (UTC), plus those with a budget, the rest are counted together as “other values”.`
          : undefined
      }
    </p>`;
}
