/**
 * JSON whose numbers are written again as they were: where a number of JavaScript would have other digits (above 2^53, with
 * more than 17, beyond 1e308), its text stands in its place, which only `JSON.stringify` understands.
 *
 * TC39's "JSON.parse source text access", which TypeScript's library does not describe yet.
 */
interface ExactJson {
  rawJSON(text: string): object;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
}

const exact = JSON as unknown as ExactJson;

/**
 * A value to be written by `JSON.stringify`, and not to be read.
 * @throws SyntaxError where the text is not JSON
 */
export function parseExactly(text: string): unknown {
  return exact.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source
      ? exact.rawJSON(source)
      : value,
  );
}

/** Whether a text may hold a number that JavaScript would write with another value: false only where that is certain. */
export function mayRound(text: string): boolean {
  return /\d[\d.]{15}|\d[eE][+-]?\d{3}/.test(text);
}
