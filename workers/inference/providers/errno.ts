/** Libraries wrap what a socket said a few times. */
const CAUSES_MAX = 6;

/** The code of the socket, the resolver or the parser at the bottom of an error, as in ECONNREFUSED; undefined where none is. */
export function errnoOf(error: unknown): string | undefined {
  let found: string | undefined;
  let one = error;
  for (let depth = 0; depth < CAUSES_MAX && one instanceof Error; depth += 1) {
    const { code } = one as Error & { code?: unknown };
    if (typeof code === 'string' && /^[A-Z][A-Z_0-9]+$/.test(code)) found = code;
    else if (one.name === 'HTTPParserError') found = 'HPE_INVALID';
    // A name with several addresses, none of which could be reached.
    one = one instanceof AggregateError ? one.errors[0] : one.cause;
  }
  return found;
}
