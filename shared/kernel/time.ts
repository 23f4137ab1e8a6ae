import { MalformedData } from './malformed-data.ts';

/** 9999-12-31T23:59:59.999Z: later years have five digits, which `xsd:dateTime` writers and readers disagree on. */
const TIME_MAX = 253_402_300_799_999;

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

let cachedMinute = -1;
let cachedText = '';

/**
 * Epoch milliseconds as `2026-11-20T09:38:04.123Z`, always 24 characters. The minute's text is remembered: the
 * times of receipts cluster, and formatting one costs more than all else in building a document.
 * @param path the field that will hold it, for the error
 * @throws MalformedData `wrong_value`
 */
export function timeText(ms: number, path = ''): string {
  if (!Number.isSafeInteger(ms) || ms < 0 || ms > TIME_MAX) {
    throw new MalformedData('wrong_value', path, 'a time must be whole milliseconds since 1970');
  }
  const minute = Math.floor(ms / MINUTE_MS);
  if (minute !== cachedMinute) {
    cachedText = new Date(minute * MINUTE_MS).toISOString().slice(0, 17);
    cachedMinute = minute;
  }
  // A digit before the five of the second and its milliseconds keeps their zeros.
  const rest = String(100_000 + ms - minute * MINUTE_MS);
  return `${cachedText}${rest.slice(1, 3)}.${rest.slice(3)}Z`;
}

const RFC3339 =
  /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Epoch milliseconds of a time as in RFC 3339, or undefined for anything else: what `Date.parse` takes beside it
 * depends on the machine.
 */
export function parseTime(text: string): number | undefined {
  const upper = text.toUpperCase();
  return RFC3339.test(upper) && isOfCalendar(upper.slice(0, 10)) ? Date.parse(upper) : undefined;
}

/** The same, or a day alone, which is its midnight in UTC. */
export function parseTimeOrDay(text: string): number | undefined {
  if (!DAY.test(text)) return parseTime(text);
  return isOfCalendar(text) ? Date.parse(text) : undefined;
}

/** `Date` reads 31 February as 3 March; writing it again shows that. */
function isOfCalendar(text: string): boolean {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

/** Whether a text is a time as signed documents have it, so that one time has one text: UTC with its milliseconds. */
export function isTimeText(text: string): boolean {
  const ms = parseTime(text);
  return ms !== undefined && !text.startsWith('0') && new Date(ms).toISOString() === text;
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** A day (UTC) as programs, addresses and fields of forms have it: `2026-11-22`. */
export function isoDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** A day as people read it: `22 Nov 2026`. */
export function day(at: number): string {
  const date = new Date(at);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

/** A time as people read it, on pages and in letters: `22 Nov 2026, 14:05 UTC`. */
export function dateTime(at: number): string {
  return `${day(at)}, ${new Date(at).toISOString().slice(11, 16)} UTC`;
}

/** The same of a time that a document states in ISO 8601: with seconds where there are any, since readers compare it with its bytes. */
export function timeWords(time: string): string {
  return `${day(Date.parse(time))}, ${time.slice(11, 19).replace(/:00$/, '')} UTC`;
}
