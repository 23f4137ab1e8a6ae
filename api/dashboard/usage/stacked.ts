import type { Html } from '#api/html.ts';
import { DecimalSum } from '#shared/kernel/decimal.ts';
import { DAY_MS, isoDay } from '#shared/kernel/time.ts';
import { count, moneyText } from '#shared/methodology/readable.ts';
import type { UsageFigures, UsageGrouping, UsageReport } from '#shared/receipts/usage.ts';
import { SERIES_MAX, stackedChart } from './chart.ts';

/** Columns of a chart: a year of days would be hairs. */
const COLUMNS_MAX = 60;

export interface StackedParts {
  report: UsageReport;
  groupBy: readonly UsageGrouping[];
  /** How a reader calls the name of a group. */
  nameOf: (name: string, grouping: UsageGrouping) => string;
  /** Epoch milliseconds, `to` excluded. */
  range: { from: number; to: number };
}

/**
 * What a report says, as columns by the first thing that it is grouped by, with the second one in each above the other: of cost
 * where there are prices, and of tokens otherwise. Undefined where there is nothing to see.
 */
export function usageChart({ report, groupBy, nameOf, range }: StackedParts): Html | undefined {
  const { groups, currency } = report;
  if (groups === null || groups.length === 0) return undefined;
  const amountOf = (of: UsageFigures): string =>
    currency === null ? String(of.tokens.input + of.tokens.output) : of.cost;
  const text = (amount: number): string =>
    currency === null ? `${count(amount)} tokens` : `${moneyText(amount)} ${currency}`;
  const [by, and] = groupBy as [UsageGrouping, UsageGrouping?];
  const totals = new Map<string, number>();
  const columns = new Map<string, Map<string, number>>();
  // As figures by the column alone have it: a sum of doubles may be another when it is rounded.
  const wholes = new Map<string, DecimalSum>();
  for (const group of groups) {
    const [column = '', series = ''] = group.names;
    const whole = wholes.get(column) ?? new DecimalSum();
    whole.add(amountOf(group));
    wholes.set(column, whole);
    const amount = Number(amountOf(group));
    totals.set(series, (totals.get(series) ?? 0) + amount);
    const parts = columns.get(column) ?? new Map<string, number>();
    columns.set(column, parts.set(series, amount));
  }
  const ranked = [...totals].toSorted(([, a], [, b]) => b - a).map(([series]) => series);
  const shown = ranked.slice(0, SERIES_MAX);
  const hasMore = ranked.length > SERIES_MAX;
  const names = columnsOf(by, columns, range);
  const points = names.map((column) => {
    const parts = columns.get(column) ?? new Map<string, number>();
    const amounts = shown.map((series) => parts.get(series) ?? 0);
    const all = Number(wholes.get(column)?.toString() ?? 0);
    const each = shown.flatMap((series, i) =>
      and === undefined || amounts[i] === 0 ? [] : [`${nameOf(series, and)} ${text(amounts[i]!)}`],
    );
    const rest = Math.max(0, all - amounts.reduce((sum, one) => sum + one, 0));
    const name = nameOf(column, by);
    return {
      name,
      parts: hasMore ? [...amounts, rest] : amounts,
      words: [`${name}: ${text(all)}`, ...each].join('; '),
      all,
    };
  });
  const legend = and === undefined ? [] : shown.map((series) => nameOf(series, and));
  const top = Math.max(0, ...points.map(({ all }) => all));
  if (top === 0) return undefined;
  const title = `${currency === null ? 'Tokens' : 'Cost'} by ${[by, and]
    .filter((one) => one !== undefined)
    .join(' and ')
    .replaceAll(':', ' ')}`;
  return stackedChart(title, text(top), hasMore ? [...legend, 'the others'] : legend, points);
}

/** Every day of a period, those without a request too; of other things those with the most. */
function columnsOf(
  by: UsageGrouping,
  columns: ReadonlyMap<string, ReadonlyMap<string, number>>,
  { from, to }: StackedParts['range'],
): string[] {
  if (by === 'day') {
    const days = Math.min(Math.round((to - from) / DAY_MS), COLUMNS_MAX);
    return Array.from({ length: days }, (_, i) => isoDay(to - (days - i) * DAY_MS));
  }
  const names = [...columns.keys()];
  if (by === 'hour' || by === 'month') return names.slice(-COLUMNS_MAX);
  const sumOf = (name: string): number =>
    [...columns.get(name)!.values()].reduce((sum, each) => sum + each, 0);
  return names.toSorted((a, b) => sumOf(b) - sumOf(a)).slice(0, COLUMNS_MAX);
}
