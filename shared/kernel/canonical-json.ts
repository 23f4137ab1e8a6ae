import { sha256Text } from '#primitives';
import { MalformedData } from './malformed-data.ts';

/** A value that JSON can carry. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/**
 * The canonical JSON (RFC 8785) of a value: keys in the order of their UTF-16 code units, no white space,
 * numbers as ECMAScript writes them.
 * @throws MalformedData `lone_surrogate`
 * @throws TypeError for what no JSON can say (NaN, infinities, undefined, functions): a bug in the caller
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new TypeError('a number that is not finite has no JSON form');
  }
  if (value === null || typeof value === 'number' || typeof value === 'boolean') {
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object') throw new TypeError(`a ${typeof value} has no JSON form`);
  const fields = value as Readonly<Record<string, unknown>>;
  const members = Object.keys(fields)
    .toSorted()
    .map((key) => `${quoted(key)}:${canonicalJson(fields[key])}`);
  return `{${members.join(',')}}`;
}

/** How `JSON.stringify` starts the escape of a lone surrogate: `\ud800`. It writes no other escape like it. */
const SURROGATE_ESCAPE = '\\ud';

/**
 * The canonical form of a document whose fields already stand in canonical order, at the price of `JSON.stringify`.
 * @throws MalformedData `lone_surrogate`: the one thing that `JSON.stringify` writes and RFC 8785 forbids.
 */
export function orderedJson(document: object): string {
  const text = JSON.stringify(document);
  // Also found in an escaped backslash before `ud`; only then is every text looked at.
  return text.includes(SURROGATE_ESCAPE) ? canonicalJson(document) : text;
}

/** base64url SHA-256 of the canonical JSON of a value. */
export function digestOf(value: unknown): string {
  return digestOfText(canonicalJson(value));
}

/** base64url SHA-256 of a text's UTF-8 bytes. */
export function digestOfText(text: string): string {
  return sha256Text(text, 'base64url');
}

function quoted(text: string): string {
  if (!text.isWellFormed()) {
    throw new MalformedData('lone_surrogate', '', 'half a surrogate pair has no canonical form');
  }
  return JSON.stringify(text);
}
