import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dateTime, parseTime, parseTimeOrDay, timeText, timeWords } from '#shared/kernel/time.ts';
import { forAll } from '#test/support/for-all.ts';

describe('times', () => {
  it('are written as `Date` writes them, and read back', () => {
    forAll([fc.integer({ min: 0, max: 253_402_300_799_999 })], (ms) => {
      expect(timeText(ms)).toBe(new Date(ms).toISOString());
      expect(parseTime(timeText(ms))).toBe(ms);
    });
  });

  it('are written whole at the ends of a minute, a second and the calendar, one after another', () => {
    const ends = [0, 1, 999, 1_000, 9_999, 10_000, 59_999, 60_000, 60_001, 253_402_300_799_999];
    for (const ms of [...ends, ...ends.toReversed()])
      expect(timeText(ms)).toBe(new Date(ms).toISOString());
  });

  it.each([-1, 0.5, Number.NaN, 253_402_300_800_000])('%d is no time of a document', (ms) => {
    expect(() => timeText(ms, 'at')).toThrow(
      expect.objectContaining({ code: 'wrong_value', path: 'at' }),
    );
  });

  it.each([
    ['2026-11-20T09:38:04Z', Date.UTC(2026, 10, 20, 9, 38, 4)],
    ['2026-11-20t09:38:04.123456789z', Date.UTC(2026, 10, 20, 9, 38, 4, 123)],
    ['2026-11-20T09:38:04+01:30', Date.UTC(2026, 10, 20, 8, 8, 4)],
    ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
  ])('%s is one of RFC 3339', (text, ms) => {
    expect(parseTime(text)).toBe(ms);
    expect(parseTimeOrDay(text)).toBe(ms);
  });

  it.each([
    '',
    'tomorrow',
    '2026-11-20T09:38',
    '2026-11-20 09:38:04Z',
    '2026-11-20T09:38:04',
    '2026-02-31T00:00:00Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T09:60:00Z',
    '2026-11-20T09:38:04+25:00',
    'Fri, 20 Nov 2026 09:38:04 GMT',
  ])('%j is none', (text) => {
    expect(parseTime(text)).toBeUndefined();
    expect(parseTimeOrDay(text)).toBeUndefined();
  });

  it.each([
    ['1970-01-01T00:00:00.000Z', '1 Jan 1970, 00:00 UTC', '1 Jan 1970, 00:00 UTC'],
    ['2026-11-22T14:05:00.999Z', '22 Nov 2026, 14:05 UTC', '22 Nov 2026, 14:05 UTC'],
    ['2028-02-29T00:59:01.000Z', '29 Feb 2028, 00:59 UTC', '29 Feb 2028, 00:59:01 UTC'],
    ['9999-12-31T23:59:59.999Z', '31 Dec 9999, 23:59 UTC', '31 Dec 9999, 23:59:59 UTC'],
  ])('%s is read in UTC, to the minute or to the second', (text, minute, second) => {
    expect(dateTime(Date.parse(text))).toBe(minute);
    expect(timeWords(text)).toBe(second);
  });

  it('a day alone is its midnight, where days are taken', () => {
    expect(parseTimeOrDay('2026-11-20')).toBe(Date.UTC(2026, 10, 20));
    expect(parseTimeOrDay('2026-02-29')).toBeUndefined();
    expect(parseTime('2026-11-20')).toBeUndefined();
  });
});
