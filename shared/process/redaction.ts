/** Stands in a log line in place of a value that may not be logged. */
const WITHHELD = '[withheld]';

/** Fields whose value is never logged: credentials, and the words of callers and models. */
const PRIVATE_FIELDS = new Set([
  'api_key',
  'apikey',
  'authorization',
  'cookie',
  'password',
  'plaintext',
  'proxy-authorization',
  'secret',
  'set-cookie',
  'token',
  'x-api-key',
  'answer',
  'arguments',
  'body',
  'choices',
  'completion',
  'content',
  'data',
  'delta',
  'embedding',
  'frame',
  'frames',
  'input',
  'messages',
  'output',
  'prompt',
  'text',
  'tool_calls',
]);

/** Deeper than any log line goes on purpose. */
const DEPTH_MAX = 5;
/** As many causes as a chain has that a person would read. */
const CAUSES_MAX = 4;

/** The object of a log call without private fields, at any depth; the original is not touched. */
export function scrubFields(fields: Record<string, unknown>): Record<string, unknown> {
  return scrub(fields, DEPTH_MAX) as Record<string, unknown>;
}

function scrub(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (value instanceof Error) return describeError(value);
  if (depth === 0 || ArrayBuffer.isView(value)) return WITHHELD;
  if (Array.isArray(value)) return value.map((item) => scrub(item, depth - 1));
  const clean: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    clean[name] = scrubField(name, field, depth - 1);
  }
  return clean;
}

function scrubField(name: string, field: unknown, depth: number): unknown {
  if (PRIVATE_FIELDS.has(name.toLowerCase())) return WITHHELD;
  // Anything can be thrown; a value that is no Error may hold a prompt.
  if (name === 'err') return describeError(field);
  return scrub(field, depth);
}

export interface ErrorDescription {
  type: string;
  code?: string;
  message: string;
  stack?: string;
  cause?: ErrorDescription;
}

/**
 * An error as it is logged, with these fields only: drivers hang the failing row, the request's
 * headers or the answer's body on their errors. A `SyntaxError` quotes the text it could not parse,
 * which may be a prompt.
 */
export function describeError(error: unknown, depth: number = CAUSES_MAX): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error, message: WITHHELD };
  const { code } = error as { code?: unknown };
  const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  return {
    type: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    message: error instanceof SyntaxError ? WITHHELD : error.message,
    ...(frames.length === 0 ? {} : { stack: frames.map((line) => line.trim()).join('\n') }),
    ...(error.cause === undefined || depth <= 1
      ? {}
      : { cause: describeError(error.cause, depth - 1) }),
  };
}

/** Our keys, bearer credentials and the passwords of URLs, as they look inside any text. */
const CREDENTIALS: readonly [RegExp, string][] = [
  [/dkt_[0-9A-Za-z]{8,}/g, `dkt_${WITHHELD}`],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${WITHHELD}`],
  [/\bsk-[\w-]{8,}/g, `sk-${WITHHELD}`],
  [/(\b[a-z][a-z+.-]*:\/\/[^\s:/@"]*):[^\s/@"]+@/gi, `$1:${WITHHELD}@`],
];

/** The finished line with every credential that got into some text of it replaced. */
export function hideCredentials(line: string): string {
  return CREDENTIALS.reduce((text, [pattern, mask]) => text.replace(pattern, mask), line);
}
