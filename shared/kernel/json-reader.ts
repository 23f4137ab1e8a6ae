import { skipSpace } from './json-text.ts';
import { MalformedData, type MalformedCode } from './malformed-data.ts';

/** What a signed document may be made of: no null, no fractions. */
export type StrictValue = string | number | boolean | StrictValue[] | StrictObject;
interface StrictObject {
  [key: string]: StrictValue;
}

/** A receipt is five levels deep. */
const DEPTH_MAX = 16;

/**
 * Reads untrusted JSON in the subset that signed documents have: every key once, in ASCII, and never `__proto__`; whole
 * numbers within ±(2^53-1) without a fraction, an exponent or a negative zero; no null; no half surrogate pairs.
 * `JSON.parse` would take all of those, and two readers would then see two documents.
 * @throws MalformedData with the place of the fault
 */
export function parseStrictJson(text: string): StrictValue {
  try {
    return new Reader(text, true).document() as StrictValue;
  } catch (error) {
    if (!(error instanceof Misplaced)) throw error;
    throw refuse('not_json', '', `is not JSON at character ${error.at}`);
  }
}

export interface JsonError {
  /** The index of the offending character; the length of the text when it ends too early. */
  at: number;
  /** The text is JSON up to here, but this member name stands in its object already. */
  repeatedName: boolean;
}

/** The first place where a text is not JSON, or repeats a name in an object; null when there is none. Recursive: the caller has bounded the depth. */
export function firstJsonError(text: string): JsonError | null {
  try {
    new Reader(text, false).document();
    return null;
  } catch (error) {
    if (!(error instanceof Misplaced)) throw error;
    return error;
  }
}

/** Never leaves this file as an error. */
class Misplaced extends Error implements JsonError {
  readonly at: number;
  readonly repeatedName: boolean;
  constructor(at: number, repeatedName = false) {
    super('misplaced character');
    this.at = at;
    this.repeatedName = repeatedName;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const FRACTION = /[.eE]/;
const ASCII_KEY = /^[\x20-\x7e]+$/;
const WORDS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/** What a strict reader gives; one that only looks for errors keeps nothing of objects, arrays and numbers. */
type Value = StrictValue | null;

class Reader {
  readonly #text: string;
  /** Refuses, beside what is no JSON, what signed documents may not hold, and says where with a path. */
  readonly #strict: boolean;
  #at = 0;

  constructor(text: string, strict: boolean) {
    this.#text = text;
    this.#strict = strict;
  }

  document(): Value {
    const value = this.#value(0, '');
    this.#at = skipSpace(this.#text, this.#at);
    if (this.#at !== this.#text.length) throw new Misplaced(this.#at);
    return value;
  }

  #value(depth: number, path: string): Value {
    if (this.#strict && depth > DEPTH_MAX) throw refuse('too_deep', path, 'is nested too deeply');
    const first = this.#next();
    if (first === QUOTE) return this.#string(path);
    if (first === OPEN_BRACE) return this.#object(depth, path);
    if (first === OPEN_BRACKET) return this.#array(depth, path);
    const digit = first === MINUS || (first >= ZERO && first <= NINE);
    return digit ? this.#number(path) : this.#word(path);
  }

  #object(depth: number, path: string): StrictObject {
    const object: StrictObject = {};
    this.#at += 1;
    if (this.#take(CLOSE_BRACE)) return object;
    const names = new Set<string>();
    do {
      if (this.#next() !== QUOTE) throw new Misplaced(this.#at);
      const start = this.#at;
      const key = this.#string(path);
      const place = this.#strict && path !== '' ? `${path}.${key}` : key;
      if (this.#strict) checkKey(key, path, place, names);
      else if (names.has(key)) throw new Misplaced(start, true);
      names.add(key);
      if (!this.#take(COLON)) throw new Misplaced(this.#at);
      const value = this.#value(depth + 1, place);
      if (this.#strict) object[key] = value as StrictValue;
    } while (this.#take(COMMA));
    if (!this.#take(CLOSE_BRACE)) throw new Misplaced(this.#at);
    return object;
  }

  #array(depth: number, path: string): StrictValue[] {
    const items: StrictValue[] = [];
    this.#at += 1;
    if (this.#take(CLOSE_BRACKET)) return items;
    do {
      const place = this.#strict ? `${path}[${items.length}]` : path;
      const value = this.#value(depth + 1, place);
      if (this.#strict) items.push(value as StrictValue);
    } while (this.#take(COMMA));
    if (!this.#take(CLOSE_BRACKET)) throw new Misplaced(this.#at);
    return items;
  }

  #string(path: string): string {
    const text = this.#text;
    const start = this.#at;
    let escaped = false;
    let at = start + 1;
    for (let unit = text.charCodeAt(at); unit !== QUOTE; unit = text.charCodeAt(at)) {
      // NaN past the end; control characters must be escaped.
      if (!(unit >= 0x20)) throw new Misplaced(at);
      if (unit !== BACKSLASH) {
        at += 1;
        continue;
      }
      escaped = true;
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text)) throw new Misplaced(at);
      at = ESCAPE.lastIndex;
    }
    this.#at = at + 1;
    const value = escaped
      ? (JSON.parse(text.slice(start, at + 1)) as string)
      : text.slice(start + 1, at);
    if (this.#strict && !value.isWellFormed()) {
      throw refuse('lone_surrogate', path, 'holds half a surrogate pair');
    }
    return value;
  }

  #word(path: string): Value {
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      if (this.#strict && value === null) {
        throw refuse('null_value', path, 'null has no place in a signed document');
      }
      this.#at += word.length;
      return value;
    }
    throw new Misplaced(this.#at);
  }

  #number(path: string): number {
    NUMBER.lastIndex = this.#at;
    if (!NUMBER.test(this.#text)) throw new Misplaced(this.#at);
    const start = this.#at;
    this.#at = NUMBER.lastIndex;
    return this.#strict ? integerOf(this.#text.slice(start, this.#at), path) : 0;
  }

  /** The character that comes next, white space passed over. */
  #next(): number {
    this.#at = skipSpace(this.#text, this.#at);
    return this.#text.charCodeAt(this.#at);
  }

  #take(character: number): boolean {
    if (this.#next() !== character) return false;
    this.#at += 1;
    return true;
  }
}

function checkKey(key: string, path: string, place: string, names: ReadonlySet<string>): void {
  if (!ASCII_KEY.test(key)) throw refuse('non_ascii_key', path, 'a key is not printable ASCII');
  // Assigning it would change what the object is instead of what it holds.
  if (key === '__proto__') throw refuse('forbidden_key', path, 'a key is __proto__');
  if (names.has(key)) throw refuse('duplicate_key', place, 'stands twice');
}

function integerOf(digits: string, path: string): number {
  const value = Number(digits);
  if (FRACTION.test(digits)) throw refuse('not_an_integer', path, 'is written as a fraction');
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
    throw refuse('not_an_integer', path, 'lies outside ±(2^53-1), or is a negative zero');
  }
  return value;
}

function refuse(code: MalformedCode, path: string, message: string): MalformedData {
  return new MalformedData(code, path, message);
}
