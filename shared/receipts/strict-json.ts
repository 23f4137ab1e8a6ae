import { ReceiptRefusal, type RefusalCode } from './refusal.ts';

/** What a receipt may be made of: no null, no fractions. */
export type StrictValue = string | number | boolean | StrictValue[] | StrictObject;
interface StrictObject {
  [key: string]: StrictValue;
}

/** A receipt is five levels deep. */
const DEPTH_MAX = 16;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

const ASCII_KEY = /^[\x20-\x7e]+$/;

/**
 * Reads untrusted JSON in the subset that receipts have: every key once, in ASCII, and never `__proto__`; whole numbers
 * within ±(2^53-1) without a fraction, an exponent or a negative zero; no null; no half surrogate pairs.
 * `JSON.parse` would take all of those, and two readers would then see two documents.
 * @throws ReceiptRefusal with the place of the fault.
 */
export function parseStrictJson(text: string): StrictValue {
  const reader = new Reader(text);
  const value = reader.value(0, '');
  reader.end();
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number, path: string): StrictValue {
    if (depth > DEPTH_MAX) throw refuse('too_deep', path, 'is nested too deeply');
    this.#space();
    const first = this.#text.charCodeAt(this.#at);
    if (first === QUOTE) return this.#string(path);
    if (first === 0x7b) return this.#object(depth, path);
    if (first === 0x5b) return this.#array(depth, path);
    if (first === MINUS || (first >= ZERO && first <= NINE)) return this.#integer(path);
    if (this.#literal('true')) return true;
    if (this.#literal('false')) return false;
    if (this.#literal('null')) throw refuse('null_value', path, 'null has no place in a receipt');
    throw this.#broken();
  }

  end(): void {
    this.#space();
    if (this.#at !== this.#text.length) throw this.#broken();
  }

  #object(depth: number, path: string): StrictObject {
    const object: StrictObject = {};
    this.#at += 1;
    if (this.#take('}')) return object;
    do {
      this.#space();
      if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#broken();
      const key = this.#string(path);
      const place = path === '' ? key : `${path}.${key}`;
      if (!ASCII_KEY.test(key)) throw refuse('non_ascii_key', path, 'a key is not printable ASCII');
      // Assigning it would change what the object is instead of what it holds.
      if (key === '__proto__') throw refuse('forbidden_key', path, 'a key is __proto__');
      if (Object.hasOwn(object, key)) throw refuse('duplicate_key', place, 'stands twice');
      if (!this.#take(':')) throw this.#broken();
      object[key] = this.value(depth + 1, place);
    } while (this.#take(','));
    if (!this.#take('}')) throw this.#broken();
    return object;
  }

  #array(depth: number, path: string): StrictValue[] {
    const items: StrictValue[] = [];
    this.#at += 1;
    if (this.#take(']')) return items;
    do {
      items.push(this.value(depth + 1, `${path}[${items.length}]`));
    } while (this.#take(','));
    if (!this.#take(']')) throw this.#broken();
    return items;
  }

  #string(path: string): string {
    const start = this.#at;
    let escaped = false;
    let at = start + 1;
    for (let unit = this.#text.charCodeAt(at); unit !== QUOTE; unit = this.#text.charCodeAt(at)) {
      // NaN past the end; control characters must be escaped.
      if (!(unit >= 0x20)) throw this.#broken(at);
      if (unit === BACKSLASH) escaped = true;
      at += unit === BACKSLASH ? 2 : 1;
    }
    this.#at = at + 1;
    const text = escaped ? this.#unescape(start, at + 1) : this.#text.slice(start + 1, at);
    if (!text.isWellFormed()) throw refuse('lone_surrogate', path, 'holds half a surrogate pair');
    return text;
  }

  #unescape(start: number, end: number): string {
    try {
      return JSON.parse(this.#text.slice(start, end)) as string;
    } catch {
      throw this.#broken(start);
    }
  }

  #integer(path: string): number {
    const start = this.#at;
    let at = start + (this.#text.charCodeAt(start) === MINUS ? 1 : 0);
    const digits = at;
    while (isDigit(this.#text.charCodeAt(at))) at += 1;
    if (at === digits) throw this.#broken();
    if (this.#text.charCodeAt(digits) === ZERO && at > digits + 1) throw this.#broken();
    const next = this.#text.charAt(at);
    const value = Number(this.#text.slice(start, at));
    if (next === '.' || next === 'e' || next === 'E') {
      throw refuse('not_an_integer', path, 'is written as a fraction');
    }
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
      throw refuse('not_an_integer', path, 'lies outside ±(2^53-1), or is a negative zero');
    }
    this.#at = at;
    return value;
  }

  #literal(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  #take(character: string): boolean {
    this.#space();
    return this.#literal(character);
  }

  #space(): void {
    for (;;) {
      const unit = this.#text.charCodeAt(this.#at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.#at += 1;
    }
  }

  #broken(at: number = this.#at): ReceiptRefusal {
    return refuse('not_json', '', `is not JSON at character ${at}`);
  }
}

function isDigit(unit: number): boolean {
  return unit >= ZERO && unit <= NINE;
}

function refuse(code: RefusalCode, path: string, message: string): ReceiptRefusal {
  return new ReceiptRefusal(code, path, message);
}
