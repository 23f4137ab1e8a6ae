/** Where a span stands in a trace, as W3C Trace Context writes it. */
export interface SpanPlace {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** Whether what belongs to it is to be recorded. */
  isSampled: boolean;
}

/** Of a later version what is behind a further hyphen is not known here, and what is before it is read as that of version 00. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Longer ones are of no version that there is; a header may have kilobytes. */
const CHARS_MAX = 512;
const ZEROS = /^0+$/;
const SAMPLED = 1;

/** Reads a `traceparent` as a caller has sent it; undefined when it is none: a caller's mistake there fails no request. */
export function readTraceparent(text: unknown): SpanPlace | undefined {
  if (typeof text !== 'string' || text.length > CHARS_MAX) return undefined;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

/** Writes it as every version reads it. */
export function writeTraceparent({ traceId, spanId, isSampled }: SpanPlace): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
