/** Control characters, line and paragraph separators, and what turns the direction of text or shows nothing. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Text of others, on one line and without what could move the cursor, turn the direction, or look like a line of ours:
 * such characters are shown as `\u{…}`.
 */
export function plain(foreign: string): string {
  return foreign.replace(
    UNPRINTABLE,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

/** The message of an error on one line. A connection refused at several addresses has its reason inside. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const reason = error instanceof Error ? error.message || error.name : String(error);
  return plain(reason.replaceAll(/\s*\n\s*/g, ' · '));
}
