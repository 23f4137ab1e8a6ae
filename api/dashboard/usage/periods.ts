import { DAY_MS } from '#shared/kernel/time.ts';

/** Whole days (UTC), as epoch milliseconds: the first one’s begin, and the last one’s end. */
export interface Days {
  from: number;
  to: number;
}

const monthOf = (at: number, more = 0): number => {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more);
};

const tomorrow = (now: number): number => Math.floor(now / DAY_MS) * DAY_MS + DAY_MS;

/** Months and quarters of the calendar, as books are kept and evidence is asked for; they end with today at the latest. */
export function calendarPeriods(now: number): readonly (readonly [string, Days])[] {
  const intoQuarter = new Date(now).getUTCMonth() % 3;
  const quarter = monthOf(now, -intoQuarter);
  return [
    ['This month', { from: monthOf(now), to: tomorrow(now) }],
    ['Last month', { from: monthOf(now, -1), to: monthOf(now) }],
    ['This quarter', { from: quarter, to: tomorrow(now) }],
    ['Last quarter', { from: monthOf(quarter, -3), to: quarter }],
  ];
}

/** The periods that a finance person, or an engineer, asks for most, which end with today at the latest. */
export function usualPeriods(now: number): readonly (readonly [string, Days])[] {
  const to = tomorrow(now);
  return [
    ...calendarPeriods(now),
    ...[7, 30, 90].map((days) => [`Last ${days} days`, { from: to - days * DAY_MS, to }] as const),
  ];
}

/** What a period is compared with: of a month, or its beginning, the month before or its beginning; else as many days before it. */
export function periodBefore({ from, to }: Days): Days {
  if (from !== monthOf(from) || to > monthOf(from, 1))
    return { from: from - (to - from), to: from };
  const before = monthOf(from, -1);
  const isWhole = to === monthOf(from, 1);
  return { from: before, to: isWhole ? from : Math.min(before + (to - from), from) };
}

/** Whether these days are the month that is running, from its first day to today at least. */
export function isRunningMonth({ from, to }: Days, now: number): boolean {
  return from === monthOf(now) && to > now && to <= monthOf(from, 1);
}

/**
 * By how much what the running month has used so far is multiplied, to be that of all of it at the same pace; undefined on its
 * first day, which says too little.
 */
export function timesOfMonth({ from }: Days, now: number): number | undefined {
  return now - from >= DAY_MS ? (monthOf(from, 1) - from) / (now - from) : undefined;
}
