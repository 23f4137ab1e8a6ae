import { ReceiptRefusal } from './refusal.ts';

/** What JSON can say. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** Deeper than any document here; a cycle ends as a refusal instead of an overflow. */
const DEPTH_MAX = 64;

/**
 * The canonical form of a JSON value (RFC 8785): keys ordered by UTF-16 code units, no white space, numbers and
 * strings as ECMAScript writes them.
 * @throws ReceiptRefusal for lone surrogates, numbers that are not finite, and nesting beyond 64.
 */
export function canonicalJson(value: JsonValue): string {
  return write(value, 0);
}

function write(value: JsonValue, depth: number): string {
  if (depth > DEPTH_MAX) throw new ReceiptRefusal('too_deep', '', 'is nested too deeply');
  if (typeof value === 'string') return writeText(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new ReceiptRefusal('wrong_value', '', 'a number must be finite');
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`;
  const object = value as { readonly [key: string]: JsonValue };
  const members = Object.keys(object)
    .sort()
    .map((key) => `${writeText(key)}:${write(object[key]!, depth + 1)}`);
  return `{${members.join(',')}}`;
}

function writeText(text: string): string {
  if (!text.isWellFormed()) {
    throw new ReceiptRefusal('lone_surrogate', '', 'a text holds half a surrogate pair');
  }
  return JSON.stringify(text);
}

/** How `JSON.stringify` starts the escape of a lone surrogate: `\ud800`. It writes no other escape like it. */
const SURROGATE_ESCAPE = '\\ud';

/**
 * `JSON.stringify` of a document whose fields already stand in canonical order.
 * @throws ReceiptRefusal `lone_surrogate`: the one thing that `JSON.stringify` writes and RFC 8785 forbids.
 */
export function orderedJson(document: object): string {
  const text = JSON.stringify(document);
  // Also found in an escaped backslash before `ud`; only then is every text looked at.
  if (text.includes(SURROGATE_ESCAPE)) canonicalJson(document as JsonValue);
  return text;
}
