import type { FastifyRequest } from 'fastify';
import { isTagKey } from '#shared/kernel/tags.ts';
import { day, DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';
import {
  type CountedBy,
  type CountedTime,
  DAYS_KEPT_DAYS,
  HOURS_KEPT_DAYS,
} from '#shared/requests/counts.ts';
import { askedFor, askedForDay } from '../forms.ts';

/** What a chart can be of, and how a reader calls it. */
export const SUBJECTS = {
  requests: 'Requests',
  errors: 'Errors',
  times: 'Time in all',
  first: 'Time to the first',
  queued: 'Time in the queue',
  tokens: 'Tokens',
  energy: 'Energy',
  gwp: 'Greenhouse gas',
} as const;
export type Subject = keyof typeof SUBJECTS;

/** Subjects that are read from receipts, as usage is; the others are of requests, which have no receipt where they were refused. */
const OF_RECEIPTS = ['tokens', 'energy', 'gwp'] as const satisfies readonly Subject[];
export type ReceiptSubject = (typeof OF_RECEIPTS)[number];
export const isOfReceipts = (subject: Subject): subject is ReceiptSubject =>
  OF_RECEIPTS.some((each) => each === subject);

const TIMES: Readonly<Partial<Record<Subject, CountedTime>>> = {
  times: 'total',
  first: 'first',
  queued: 'queued',
};
/** The time that a subject is of; undefined for one that is counted. */
export const timeOf = (subject: Subject): CountedTime | undefined => TIMES[subject];

/** What a chart is by: nothing, or `tag:` and a declared tag, or one of these. */
export type ChartBy = '' | Exclude<CountedBy, 'all' | 'tag'> | `tag:${string}`;

/** What a subject can be shown by. Keys and tags are of one organisation; what has a receipt has no code. */
export function waysOf(subject: Subject, tags: readonly string[] | undefined): ChartBy[] {
  return [
    '',
    'model',
    'region',
    ...(tags === undefined ? [] : (['key'] as const)),
    ...(subject === 'errors' ? (['code'] as const) : []),
    ...(tags ?? []).map((key) => `tag:${key}` as const),
  ];
}

/** Periods to choose from, in days until now. */
export const PERIODS = [1, 7, 30, 90] as const;
/** Of hours a longer chart would be hairs. */
const HOURLY_DAYS_MAX = 2;
/** A quarter of a year; the table of a longer one would be over the budget of a page. */
const PERIOD_DAYS_MAX = 92;
const DAYS_DEFAULT = 30;

export interface Period {
  /** Undefined for days of the reader's own. */
  days: (typeof PERIODS)[number] | undefined;
  step: 'hour' | 'day';
  /** Epoch milliseconds, whole hours or days (UTC); `to` is excluded. */
  from: number;
  to: number;
}

export interface Asked {
  of: Subject;
  by: ChartBy;
  as: 'stacked' | 'lines';
  period: Period;
  /** Days of the reader's own as they were typed. */
  typed: { from: string; to: string };
  problem: string | undefined;
}

/** What the address asks for; what is none of ours asks for nothing. */
export function askedChart(
  request: FastifyRequest,
  now: number,
  tags: readonly string[] | undefined,
): Asked {
  const subject = askedFor(request, 'of');
  const isSubject = Object.hasOwn(SUBJECTS, subject);
  const of = isSubject ? (subject as Subject) : 'requests';
  // Those who run the service see no receipts.
  const seen = tags === undefined && isOfReceipts(of) ? 'requests' : of;
  const by = askedFor(request, 'by');
  const key = by.startsWith('tag:') ? by.slice(4) : undefined;
  // One that is not declared any more, and that is asked for, is shown.
  const asked = tags !== undefined && key !== undefined && isTagKey(key) ? [...tags, key] : tags;
  const typed = {
    from: askedFor(request, 'from').slice(0, 10),
    to: askedFor(request, 'to').slice(0, 10),
  };
  const own = typed.from === '' && typed.to === '' ? undefined : ownPeriod(typed, now);
  const days = PERIODS.find((each) => String(each) === askedFor(request, 'days')) ?? DAYS_DEFAULT;
  return {
    of: seen,
    by: waysOf(seen, asked).find((each) => each === by) ?? '',
    as: askedFor(request, 'as') === 'lines' ? 'lines' : 'stacked',
    period: typeof own === 'object' ? own : lastDays(days, now),
    typed,
    problem: typeof own === 'string' ? own : undefined,
  };
}

function lastDays(days: (typeof PERIODS)[number], now: number): Period {
  if (days === 1) {
    const to = Math.floor(now / HOUR_MS) * HOUR_MS + HOUR_MS;
    return { days, step: 'hour', from: to - DAY_MS, to };
  }
  const to = Math.floor(now / DAY_MS) * DAY_MS + DAY_MS;
  return { days, step: 'day', from: to - days * DAY_MS, to };
}

/** Days of the reader's own, both included, or why they are none. */
function ownPeriod(typed: Asked['typed'], now: number): Period | string {
  const [from, last] = [askedForDay(typed.from), askedForDay(typed.to)];
  if (from === undefined || last === undefined) return 'Name both days, like 2026-11-22.';
  if (last < from) return 'The last day is before the first.';
  if (last - from >= PERIOD_DAYS_MAX * DAY_MS)
    return `A period is at most ${PERIOD_DAYS_MAX} days. A year, by month, is under Usage.`;
  const to = last + DAY_MS;
  const hasHours = to - from <= HOURLY_DAYS_MAX * DAY_MS && from >= now - HOURS_KEPT_DAYS * DAY_MS;
  return { days: undefined, step: hasHours ? 'hour' : 'day', from, to };
}

/** The period that one is compared with: as long, and just before it. */
export function asLongBefore({ from, to, step }: Period): Pick<Period, 'from' | 'to' | 'step'> {
  return { from: from - (to - from), to: from, step };
}

/** A period in words, to stand after “in”. */
export function periodWords({ days, from, to }: Period): string {
  if (days === 1) return 'the last 24 hours';
  if (days !== undefined) return `the last ${days} days`;
  const last = day(to - DAY_MS);
  return day(from) === last ? last : `${day(from)} to ${last}`;
}

/** How long counts of requests are kept, as the page says it. */
export const KEPT_WORDS = `Hours are kept for ${HOURS_KEPT_DAYS} days, days for ${DAYS_KEPT_DAYS}.`;

/** The address of a chart, by the parameters that are not as they are anyway. */
export function queryOf({ of, by, as, period, typed }: Asked): string {
  const query = new URLSearchParams({ of });
  if (by !== '') query.set('by', by);
  if (as !== 'stacked') query.set('as', as);
  if (period.days !== undefined) query.set('days', String(period.days));
  else for (const [name, value] of Object.entries(typed)) query.set(name, value);
  return query.toString();
}
