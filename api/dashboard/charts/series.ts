import { DecimalSum } from '#shared/kernel/decimal.ts';
import { DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';
import type { UsageFigures, UsageReport } from '#shared/receipts/usage.ts';
import {
  addedTimes,
  type CountsRow,
  percentileOf,
  type TimeCounts,
} from '#shared/requests/counts.ts';
import { SERIES_MAX } from '../usage/chart.ts';
import { isOfReceipts, type Period, type ReceiptSubject, type Subject, timeOf } from './asked.ts';

/** Values over time; undefined where there is none, which is not zero. */
export interface Series {
  /** As it is stored; a heading of ours where the chart is by nothing. */
  name: string;
  values: readonly (number | undefined)[];
}

/** What of a chart's period has one name. */
export interface Part {
  name: string;
  requests: number;
  refused: number;
  failed: number;
  gone: number;
  /** Milliseconds, for a chart of times; undefined for none. */
  percentiles: readonly (number | undefined)[];
  /** How many requests these are of. */
  timed: number;
  /** Of receipts, as an exact decimal. */
  amount: string;
}

export interface Charted {
  /** The beginnings of its hours or days, in epoch milliseconds. */
  points: readonly number[];
  /** Those with the most come first. */
  series: readonly Series[];
  /** What of the whole is in none of them; undefined where that is nothing, or cannot be said. */
  rest: Series | undefined;
  /** Of all together. */
  whole: Series;
  before: Series;
  total: Part;
  totalBefore: Part;
  /** By name, those with the most first. */
  parts: readonly Part[];
}

/** The shares of requests whose times are shown. */
export const PERCENTILES = [0.5, 0.95, 0.99] as const;
export const percentileName = (share: number): string => `p${Math.round(share * 100)}`;
/** The one that a chart by something is of. */
const PERCENTILE_OF_PARTS = 0.95;

export function pointsOf({ from, to, step }: Pick<Period, 'from' | 'to' | 'step'>): number[] {
  const ms = step === 'hour' ? HOUR_MS : DAY_MS;
  return Array.from({ length: Math.round((to - from) / ms) }, (_, i) => from + i * ms);
}

export interface CountsGiven {
  of: Exclude<Subject, ReceiptSubject>;
  period: Pick<Period, 'from' | 'to' | 'step'>;
  before: Pick<Period, 'from' | 'to' | 'step'>;
  /** Of all requests of the period, and of the one before. */
  all: readonly CountsRow[];
  allBefore: readonly CountsRow[];
  /** By name; undefined for a chart by nothing. */
  named: readonly CountsRow[] | undefined;
}

const errorsOf = ({ refused, failed }: Pick<CountsRow, 'refused' | 'failed'>): number =>
  refused + failed;

/** A chart of requests, of their errors, or of their times. */
export function chartOfCounts({ of, period, before, all, allBefore, named }: CountsGiven): Charted {
  const points = pointsOf(period);
  const isOfTimes = timeOf(of) !== undefined;
  const valueOf = (row: CountsRow): number | undefined =>
    isOfTimes
      ? percentileOf(row.times, PERCENTILE_OF_PARTS)
      : of === 'errors'
        ? errorsOf(row)
        : row.requests;
  const nothing = isOfTimes ? undefined : 0;
  const valuesOf = (
    rows: readonly CountsRow[],
    at: readonly number[],
    value = valueOf,
  ): Series['values'] => {
    const known = new Map(rows.map((row) => [row.at, value(row)]));
    return at.map((each) => (known.has(each) ? known.get(each) : nothing));
  };
  const whole = { name: '', values: valuesOf(all, points) };
  const byName = Map.groupBy(named ?? [], ({ name }) => name);
  const parts = [...byName]
    .map(([name, rows]) => partOf(name, rows))
    .filter((part) => of !== 'errors' || errorsOf(part) > 0)
    .toSorted((a, b) => (of === 'errors' ? errorsOf(b) - errorsOf(a) : b.requests - a.requests));
  const series =
    named === undefined
      ? seriesOfAll(of).map(({ name, value }) => ({ name, values: valuesOf(all, points, value) }))
      : parts
          .filter(({ timed }) => !isOfTimes || timed > 0)
          .slice(0, SERIES_MAX)
          .map(({ name }) => ({ name, values: valuesOf(byName.get(name)!, points) }));
  return {
    points,
    series,
    rest: named === undefined || isOfTimes ? undefined : restOf(whole, series),
    whole,
    before: { name: '', values: valuesOf(allBefore, pointsOf(before)) },
    total: partOf('', all),
    totalBefore: partOf('', allBefore),
    parts,
  };
}

interface SeriesOfAll {
  name: string;
  value: (row: CountsRow) => number | undefined;
}

/** What a chart by nothing tells apart. */
function seriesOfAll(of: CountsGiven['of']): SeriesOfAll[] {
  const errors: SeriesOfAll[] = [
    { name: 'refused, 4xx', value: ({ refused }) => refused },
    { name: 'failed, 5xx', value: ({ failed }) => failed },
  ];
  if (of === 'errors') return errors;
  if (of === 'requests') {
    return [
      { name: 'answered', value: (row) => row.requests - errorsOf(row) - row.gone },
      ...errors,
      { name: 'client left', value: ({ gone }) => gone },
    ];
  }
  return PERCENTILES.map((share) => ({
    name: percentileName(share),
    value: ({ times }) => percentileOf(times, share),
  }));
}

function restOf(whole: Series, series: readonly Series[]): Series | undefined {
  const values = whole.values.map((value, i) =>
    // A round of counting may have come between the two that were read.
    Math.max(0, (value ?? 0) - series.reduce((sum, each) => sum + (each.values[i] ?? 0), 0)),
  );
  return values.some((value) => value > 0) ? { name: '', values } : undefined;
}

function partOf(name: string, rows: readonly CountsRow[]): Part {
  const sum = (of: (row: CountsRow) => number): number =>
    rows.reduce((all, row) => all + of(row), 0);
  const times = rows.reduce<TimeCounts>((all, row) => addedTimes(all, row.times), []);
  return {
    name,
    requests: sum(({ requests }) => requests),
    refused: sum(({ refused }) => refused),
    failed: sum(({ failed }) => failed),
    gone: sum(({ gone }) => gone),
    percentiles: PERCENTILES.map((share) => percentileOf(times, share)),
    timed: times.reduce((all, each) => all + each, 0),
    amount: '0',
  };
}

export interface UsageGiven {
  of: ReceiptSubject;
  period: Pick<Period, 'from' | 'to' | 'step'>;
  before: Pick<Period, 'from' | 'to' | 'step'>;
  /** By hour or day, and by the thing that the chart is by, where there is one. */
  report: UsageReport & { groups: NonNullable<UsageReport['groups']> };
  /** By hour or day. */
  reportBefore: UsageReport & { groups: NonNullable<UsageReport['groups']> };
  isByNothing: boolean;
}

/** The amount of a subject, as an exact decimal. */
function amountOf(of: ReceiptSubject, figures: UsageFigures): string {
  const { input, output } = figures.tokens;
  return of === 'tokens' ? String(input + output) : figures.amounts[of].value;
}

/** A chart of what receipts state: exactly what usage adds up. */
export function chartOfUsage(given: UsageGiven): Charted {
  const { of, period, before, report, reportBefore, isByNothing } = given;
  const points = pointsOf(period);
  const whole = { name: '', values: over(report.groups, of, points) };
  const named = Map.groupBy(isByNothing ? [] : report.groups, ({ names }) => names[1]!);
  const parts = [...named]
    .map(([name, groups]) => partOfGroups(name, groups, of))
    .toSorted((a, b) => Number(b.amount) - Number(a.amount));
  const series = isByNothing
    ? seriesOfUsage(of, report, points)
    : parts.slice(0, SERIES_MAX).map(({ name }) => ({
        name,
        values: over(named.get(name)!, of, points),
      }));
  return {
    points,
    series,
    rest: isByNothing || parts.length <= SERIES_MAX ? undefined : restOf(whole, series),
    whole,
    before: { name: '', values: over(reportBefore.groups, of, pointsOf(before)) },
    total: partOfUsage('', report.total, amountOf(of, report.total)),
    totalBefore: partOfUsage('', reportBefore.total, amountOf(of, reportBefore.total)),
    parts,
  };
}

/** Tokens in and out; another amount is one. */
function seriesOfUsage(
  of: ReceiptSubject,
  { groups }: Pick<UsageGiven['report'], 'groups'>,
  points: readonly number[],
): Series[] {
  const values = (pick: (figures: UsageFigures) => number): Series['values'] => {
    const known = new Map(groups.map((group) => [Date.parse(group.names[0]!), pick(group)]));
    return points.map((at) => known.get(at) ?? 0);
  };
  if (of !== 'tokens') return [{ name: '', values: values((each) => Number(amountOf(of, each))) }];
  return [
    { name: 'in', values: values(({ tokens }) => tokens.input) },
    { name: 'out', values: values(({ tokens }) => tokens.output) },
  ];
}

type Groups = UsageGiven['report']['groups'];

/** The sum of each hour or day, over all of these groups. */
function over(groups: Groups, of: ReceiptSubject, points: readonly number[]): number[] {
  const known = new Map<number, DecimalSum>();
  for (const group of groups) {
    const at = Date.parse(group.names[0]!);
    const sum = known.get(at) ?? new DecimalSum();
    sum.add(amountOf(of, group));
    known.set(at, sum);
  }
  return points.map((at) => Number(known.get(at)?.toString() ?? 0));
}

function partOfGroups(name: string, groups: Groups, of: ReceiptSubject): Part {
  const amount = new DecimalSum();
  for (const group of groups) amount.add(amountOf(of, group));
  const count = (pick: (figures: UsageFigures) => number): number =>
    groups.reduce((all, each) => all + pick(each), 0);
  const figures = {
    requests: count(({ requests }) => requests),
    refused: count(({ refused }) => refused),
    failed: count(({ failed }) => failed),
  };
  return partOfUsage(name, figures, amount.toString());
}

function partOfUsage(
  name: string,
  { requests, refused, failed }: Pick<UsageFigures, 'requests' | 'refused' | 'failed'>,
  amount: string,
): Part {
  return { name, requests, refused, failed, gone: 0, percentiles: [], timed: 0, amount };
}

/** What a chart adds up of a part: requests, errors, or an amount; undefined for a time, which is not added up. */
export function sumOf(of: Subject, part: Part): number | undefined {
  if (isOfReceipts(of)) return Number(part.amount);
  if (timeOf(of) !== undefined) return undefined;
  return of === 'errors' ? errorsOf(part) : part.requests;
}
