import { hash } from 'node:crypto';

/** A value that JSON can carry. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/**
 * The canonical JSON (RFC 8785) of a value: keys in the order of their UTF-16 code units, no white space,
 * numbers as ECMAScript writes them. Throws TypeError for what has no canonical form
 * (NaN, infinities, lone surrogates, undefined, functions).
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new TypeError('a number that is not finite has no JSON form');
  }
  if (value === null || typeof value === 'number' || typeof value === 'boolean') {
    return JSON.stringify(value);
  }
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object') throw new TypeError(`a ${typeof value} has no JSON form`);
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${quoted(key)}:${canonicalJson(value[key]!)}`);
  return `{${members.join(',')}}`;
}

/** base64url SHA-256 of the canonical JSON of a value. */
export function digestOf(value: Json): string {
  return digestOfText(canonicalJson(value));
}

/** base64url SHA-256 of a text's UTF-8 bytes. */
export function digestOfText(text: string): string {
  return hash('sha256', text, 'base64url');
}

/** `Array.isArray` does not narrow read-only arrays. */
function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function quoted(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('a lone surrogate has no canonical JSON form');
  return JSON.stringify(text);
}
