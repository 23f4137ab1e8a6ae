import { MalformedData } from '#shared/kernel/malformed-data.ts';
import type { StrictValue } from '#shared/kernel/json-reader.ts';

/** Passes, or throws a MalformedData that names the place. */
export type Check = (value: StrictValue, path: string) => void;

/** Names and addresses; the longest real one is a context's URL of about 150 characters. */
const TEXT_MAX = 1_024;

/** Text of 1 to 1,024 characters that matches `pattern`. */
export function text(pattern?: RegExp, what = 'text of 1 to 1,024 characters'): Check {
  return (value, path) => {
    const fits = typeof value === 'string' && value.length > 0 && value.length <= TEXT_MAX;
    if (!fits || pattern?.test(value) === false) throw wrong(path, `must be ${what}`);
  };
}

export const iri = text(/^[a-z][a-z0-9+.-]*:[^\s<>"{}|\\^`]+$/i, 'an absolute IRI');
const UTC_TIME = text(
  /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?Z$/,
  'a UTC time such as 2026-11-20T09:38:04.123Z',
);

export const dateTime: Check = (value, path) => {
  UTC_TIME(value, path);
  // `Date` reads 31 February as 3 March; writing it again shows that.
  const time = new Date(value as string);
  const day = (value as string).slice(0, 10);
  if (Number.isNaN(time.getTime()) || time.toISOString().slice(0, 10) !== day) {
    throw wrong(path, 'is not a day of the calendar');
  }
};

export const decimal = text(/^(?:0|[1-9]\d*)(?:\.\d+)?$/, 'a plain decimal');
/** Multibase base64url of a 34-byte SHA-256 multihash. */
export const multihash = text(
  /^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$/,
  'a SHA-256 multihash in base64url multibase',
);
export const saltText = text(/^u[A-Za-z0-9_-]{21}[AQgw]$/, '16 bytes in base64url multibase');

export const wholeNumber: Check = (value, path) => {
  if (typeof value !== 'number' || value < 0)
    throw wrong(path, 'must be a whole number, at least 0');
};

export function oneOf(...allowed: readonly string[]): Check {
  return (value, path) => {
    if (typeof value !== 'string' || !allowed.includes(value)) {
      throw wrong(path, `must be one of ${allowed.join(', ')}`);
    }
  };
}

/** A usage record has eight fields. */
const RECORD_FIELDS_MAX = 32;
const RECORD_FIELD = /^[a-z][a-z0-9_]{0,63}$/;

/** A flat record of text and whole numbers. */
export const carriedRecord: Check = (value, path) => {
  if (typeof value !== 'object' || Array.isArray(value)) throw wrong(path, 'must be an object');
  const entries = Object.entries(value);
  if (entries.length === 0 || entries.length > RECORD_FIELDS_MAX) {
    throw wrong(path, `must have 1 to ${RECORD_FIELDS_MAX} fields`);
  }
  for (const [key, member] of entries) {
    if (!RECORD_FIELD.test(key)) throw wrong(at(path, key), 'must be a name in lower case');
    if (typeof member !== 'number') text()(member, at(path, key));
  }
};

/** A list of `least` to `most` items, each passing `item`. */
export function list(item: Check, least: number, most: number): Check {
  return (value, path) => {
    if (!Array.isArray(value) || value.length < least || value.length > most) {
      throw wrong(path, `must be a list of ${least} to ${most}`);
    }
    value.forEach((entry, i) => item(entry, `${path}[${i}]`));
  };
}

/** Exactly these texts in this order. */
export function exactly(...items: readonly string[]): Check {
  return (value, path) => {
    const same = Array.isArray(value) && value.length === items.length;
    if (!same || !items.every((item, i) => value[i] === item)) {
      throw wrong(path, `must be ${JSON.stringify(items)}`);
    }
  };
}

/** An object with all of `required`, any of `optional`, and nothing else. */
export function fields(
  required: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  const known = new Map(Object.entries({ ...required, ...optional }));
  return (value, path) => {
    if (typeof value !== 'object' || Array.isArray(value)) throw wrong(path, 'must be an object');
    for (const key of Object.keys(required)) {
      if (!Object.hasOwn(value, key)) {
        throw new MalformedData('missing_field', at(path, key), 'is missing');
      }
    }
    for (const [key, member] of Object.entries(value)) {
      const check = known.get(key);
      if (check === undefined) {
        throw new MalformedData('unknown_field', at(path, key), 'is not a field of a receipt');
      }
      check(member, at(path, key));
    }
  };
}

function at(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function wrong(path: string, message: string): MalformedData {
  return new MalformedData('wrong_value', path, message);
}
