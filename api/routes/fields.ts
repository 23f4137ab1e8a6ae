import { Type, type TSchema } from 'typebox';
import { invalidParam } from '#shared/kernel/errors.ts';
import { ONE_LINE } from '#shared/kernel/plain-text.ts';
import { parseTimeOrDay } from '#shared/kernel/time.ts';

export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** A document whose fields others have described. */
export const anyObject = (description: string) =>
  Type.Object({}, { description, additionalProperties: true });

/** A time in an answer. */
export const Time = Type.String({ description: 'RFC 3339, UTC' });

/** Place in a log, or its size: as far as a number in JSON is exact. */
export const LogIndex = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Text that goes into logs and tables: a control character in it would be read as something else there. */
export const lineOfText = (lengthMax: number, description?: string) =>
  Type.String({
    maxLength: lengthMax,
    pattern: ONE_LINE,
    'x-expected': `a string of at most ${lengthMax} printable characters on one line`,
    ...(description === undefined ? {} : { description }),
  });

/** A path `/…/:id`. Ids are 31 characters at most; 64 leave room for what is not one. */
export const pathId = (description: string, example: string) =>
  Type.Object({ id: Type.String({ maxLength: 64, description, examples: [example] }) });

/** A path `/…/tile/*`; which tile it names is read by the ledger. */
export const tilePath = (example: string) =>
  Type.Object({
    '*': Type.String({
      description: 'Level, index and width, as tlog-tiles names them',
      examples: [example],
    }),
  });

const timeText = (end: string) =>
  Type.String({
    maxLength: 40,
    description: `RFC 3339, a day (its midnight, UTC), or seconds since 1970; ${end}`,
  });

/** The part of a query that names a span of time, `from` included and `to` not; either end may be open. */
export const Span = Type.Object({
  from: Type.Optional(timeText('included')),
  to: Type.Optional(timeText('not included: of a day none of it')),
});

/** From 1973 to 5138: a year alone would otherwise be a moment of 1970. */
const SECONDS = /^\d{9,11}$/;

interface SpanText {
  from?: string | undefined;
  to?: string | undefined;
}

/**
 * Epoch milliseconds of the ends of a span in which something may lie; a day alone is its midnight, UTC.
 * @throws Fault `invalid_from`, `invalid_to`
 */
export function spanOf({ from, to }: SpanText): { from?: number; to?: number } {
  const span = {
    ...(from === undefined ? {} : { from: timeOf('from', from) }),
    ...(to === undefined ? {} : { to: timeOf('to', to) }),
  };
  if (span.from !== undefined && span.to !== undefined && span.to <= span.from)
    throw invalidParam('to', '`to` must be after `from`.');
  return span;
}

function timeOf(param: string, text: string): number {
  if (SECONDS.test(text)) return Number(text) * 1_000;
  const time = parseTimeOrDay(text);
  if (time === undefined) throw invalidParam(param, `\`${param}\` must be a time as in RFC 3339.`);
  return time;
}
