import { Type } from 'typebox';
import { invalidParam } from '#shared/kernel/errors.ts';

/** A moment in a query: RFC 3339 or whole epoch seconds. */
export const TimeText = Type.String({
  maxLength: 40,
  description: 'RFC 3339, or seconds since 1970',
});

const RFC3339 = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2}))?$/i;
const SECONDS = /^\d{1,11}$/;

/** Epoch milliseconds of a query's moment; a date alone is its midnight, UTC. @throws Fault `invalid_<param>` */
export function timeOf(param: string, text: string): number {
  if (SECONDS.test(text)) return Number(text) * 1_000;
  const time = RFC3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw invalidParam(param, `\`${param}\` must be a time as in RFC 3339.`);
  return time;
}
