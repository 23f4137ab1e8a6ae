import { isUtf8 } from 'node:buffer';
import { Fault } from '#shared/kernel/errors.ts';
import { firstJsonError } from '#shared/kernel/json-reader.ts';
import { stringEnd } from '#shared/kernel/json-text.ts';

/**
 * Deeper than any tool schema in practice, shallow enough that recursive readers of the value
 * (screening, JSON.stringify) stay far from the end of the stack.
 */
export const JSON_DEPTH_MAX = 128;

/**
 * Objects and arrays of one body. Each costs the parser a hundred bytes and more, so 20 MiB of `{},{},…` would take most
 * of a gigabyte. A conversation of 10,000 messages with parts and calls has half as many.
 */
export const CONTAINERS_MAX = 100_000;
/** Values of one body, ids of tokens included: a million of those are the longest context window on offer. */
export const VALUES_MAX = 1_200_000;
/** In a longer body the place of an error is not looked for: it takes tens of milliseconds for so many characters. */
const LOOKED_AT_CHARS_MAX = 256 * 1024;

export interface JsonBody {
  /** The decoded body, for editing as text. A byte-order mark is left out, as RFC 8259 allows. */
  text: string;
  value: unknown;
}

/**
 * Parses a request body. Throws a Fault `invalid_json` that says where the error is and never quotes the body.
 *
 * Repeated member names are refused: parsers disagree on which one counts, so an upstream could be made to read
 * a prompt that screening has not seen. A member named `__proto__` is an ordinary member of the parsed object.
 */
export function parseJsonBody(raw: Buffer): JsonBody {
  if (!isUtf8(raw)) throw invalidJson('The body is not valid UTF-8.');
  const decoded = raw.toString('utf8');
  const text = decoded.charCodeAt(0) === 0xfeff ? decoded.slice(1) : decoded;
  const members = countInText(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw errorOf(text, false);
  }
  // The parser keeps one member per name, so it has fewer than the text when a name repeats.
  if (members !== countMembers(value)) throw errorOf(text, true);
  return { text, value };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
/** With this bit set, `[` and `{` are the same character, and so are `]` and `}`. */
const BRACE_BIT = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Counts the members in any text, before it is parsed: millions of nested brackets or empty objects would take the parser
 * seconds and gigabytes. A colon outside strings is a member, a comma or a bracket a value. Strings are jumped over with
 * indexOf, so long prompts and images cost almost nothing.
 * @throws Fault when the text is nested too deep or has too many values
 */
function countInText(text: string): number {
  let depth = 0;
  let members = 0;
  let containers = 0;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === COMMA) values += 1;
    else if (code === COLON) members += 1;
    else if ((code | BRACE_BIT) === OPEN) {
      depth += 1;
      containers += 1;
      if (depth > JSON_DEPTH_MAX) {
        throw invalidJson(`The body is nested more than ${JSON_DEPTH_MAX} levels deep.`);
      }
      if (containers > CONTAINERS_MAX) {
        throw invalidJson(`The body has more than ${CONTAINERS_MAX} objects and arrays.`);
      }
    } else if ((code | BRACE_BIT) === CLOSE) depth -= 1;
  }
  if (values > VALUES_MAX) throw invalidJson(`The body has more than ${VALUES_MAX} values.`);
  return members;
}

/** Counts the members of all objects in the value. Its depth is bounded already. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const element: unknown = value[index];
      if (typeof element === 'object') count += countMembers(element);
    }
    return count;
  }
  const keys = Object.keys(value);
  for (const key of keys) {
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === 'object') count += countMembers(member);
  }
  return count + keys.length;
}

/** `isJson`: the parser took it, so a name must be repeated. */
function errorOf(text: string, isJson: boolean): Fault {
  const error = text.length > LOOKED_AT_CHARS_MAX ? null : firstJsonError(text);
  const place = error === null ? 'it is too long to say where' : placeOf(text, error.at);
  return (error?.repeatedName ?? isJson)
    ? invalidJson(`The body has a repeated member name: ${place}.`)
    : new Fault('invalid_json', { values: { place } });
}

function placeOf(text: string, at: number): string {
  if (at === text.length) return 'it ends too early';
  let line = 1;
  let lineStart = 0;
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', end + 1)) {
    line += 1;
    lineStart = end + 1;
  }
  return `see line ${line}, column ${at - lineStart + 1}`;
}

function invalidJson(message: string): Fault {
  return new Fault('invalid_json', { message });
}
