import { invalidParam } from '#shared/kernel/errors.ts';
import { parseTimeOrDay } from '#shared/kernel/time.ts';

/**
 * The time that an option names, in epoch milliseconds.
 * @throws Fault where the text is no time, or one before 1970
 */
export function timeOption(name: string, text: string): number {
  const time = parseTimeOrDay(text);
  if (time !== undefined && time >= 0) return time;
  throw invalidParam(name, `--${name} must be a date, or a time as in RFC 3339, from 1970 on.`);
}
