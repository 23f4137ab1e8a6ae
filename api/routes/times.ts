import { Type } from 'typebox';
import { invalidParam } from '#shared/kernel/errors.ts';
import { parseTimeOrDay } from '#shared/kernel/time.ts';

/** A moment in a query: RFC 3339 or whole epoch seconds. */
export const TimeText = Type.String({
  maxLength: 40,
  description: 'RFC 3339, or seconds since 1970',
});

const SECONDS = /^\d{1,11}$/;

/** Epoch milliseconds of a query's moment; a date alone is its midnight, UTC. @throws Fault `invalid_<param>` */
export function timeOf(param: string, text: string): number {
  if (SECONDS.test(text)) return Number(text) * 1_000;
  const time = parseTimeOrDay(text);
  if (time === undefined) throw invalidParam(param, `\`${param}\` must be a time as in RFC 3339.`);
  return time;
}
