import { expect, it } from 'vitest';
import {
  isRunningMonth,
  periodBefore,
  timesOfMonth,
  usualPeriods,
} from '#api/dashboard/usage/periods.ts';

const at = (text: string): number => Date.parse(text);
const days = (from: string, to: string) => ({ from: at(from), to: at(to) });

it.each([
  ['a month with the month before', ['2026-03-01', '2026-04-01'], ['2026-02-01', '2026-03-01']],
  ['its beginning with as much of it', ['2026-01-01', '2026-01-11'], ['2025-12-01', '2025-12-11']],
  ['and never with its own days', ['2026-03-01', '2026-03-31'], ['2026-02-01', '2026-03-01']],
  ['other days with as many', ['2026-03-02', '2026-03-09'], ['2026-02-23', '2026-03-02']],
  ['two months with as many days', ['2026-03-01', '2026-05-01'], ['2025-12-30', '2026-03-01']],
])('a period is compared with the one before: %s', (_, asked, before) => {
  expect(periodBefore(days(asked[0]!, asked[1]!))).toEqual(days(before[0]!, before[1]!));
});

it('the usual periods are whole days, and none ends before its last day', () => {
  const found = new Map(usualPeriods(at('2026-03-10T13:00Z')));
  expect(found.get('This month')).toEqual(days('2026-03-01', '2026-03-11'));
  expect(found.get('Last month')).toEqual(days('2026-02-01', '2026-03-01'));
  expect(found.get('Last quarter')).toEqual(days('2025-10-01', '2026-01-01'));
  expect(found.get('Last 7 days')).toEqual(days('2026-03-04', '2026-03-11'));
});

it('a month is foretold from its second day on, from all of it so far, and only while it runs', () => {
  const month = days('2026-04-01', '2026-04-11');
  expect(timesOfMonth(month, at('2026-04-10T12:00Z'))).toBeCloseTo(30 / 9.5);
  expect(timesOfMonth(month, at('2026-04-01T23:00Z'))).toBeUndefined();
  const isRunning = (of: ReturnType<typeof days>, now: string) => isRunningMonth(of, at(now));
  expect(isRunning(month, '2026-04-10T12:00Z')).toBe(true);
  expect(isRunning(days('2026-04-01', '2026-04-02'), '2026-04-01T00:00Z')).toBe(true);
  expect(isRunning(month, '2026-04-12')).toBe(false);
  expect(isRunning(days('2026-04-02', '2026-04-11'), '2026-04-10')).toBe(false);
  expect(isRunning(days('2026-03-01', '2026-04-11'), '2026-04-10')).toBe(false);
});
