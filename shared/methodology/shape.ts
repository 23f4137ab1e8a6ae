import { MalformedData } from '#shared/kernel/malformed-data.ts';

/** Throws MalformedData when the value at `path` does not have the shape. */
export type Shape = (value: unknown, path: string) => void;

/** Long enough for any note or citation; a longer text is a file gone wrong. */
const TEXT_LENGTH_MAX = 2_000;
/** Several times the longest table shipped (86 models). */
const ITEMS_MAX = 10_000;

export const text: Shape = (value, path) => {
  if (typeof value !== 'string' || value.trim() === '') {
    throw new MalformedData('wrong_value', path, 'must be a text that is not empty');
  }
  if (value.length > TEXT_LENGTH_MAX || !value.isWellFormed()) {
    throw new MalformedData(
      'wrong_value',
      path,
      `must be well-formed and at most ${TEXT_LENGTH_MAX} characters`,
    );
  }
};

/** A text of this form. */
export function pattern(form: RegExp, meaning: string): Shape {
  return (value, path) => {
    if (typeof value !== 'string' || !form.test(value)) {
      throw new MalformedData('wrong_value', path, `must be ${meaning}`);
    }
  };
}

/** A finite number; `from` is allowed, `above` is not. */
export function number(limit: { from?: number; above?: number; to?: number }): Shape {
  const { from = -Infinity, above = -Infinity, to = Infinity } = limit;
  return (value, path) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new MalformedData('wrong_value', path, 'must be a finite number');
    }
    if (value < from || value <= above || value > to) {
      throw new MalformedData('wrong_value', path, `is out of bounds: ${value}`);
    }
  };
}

/** A whole number within bounds, both allowed. */
export function integer(from: number, to: number): Shape {
  return (value, path) => {
    if (!Number.isSafeInteger(value) || (value as number) < from || (value as number) > to) {
      throw new MalformedData('wrong_value', path, `must be a whole number from ${from} to ${to}`);
    }
  };
}

export function oneOf(choices: readonly string[]): Shape {
  return (value, path) => {
    if (typeof value !== 'string' || !choices.includes(value)) {
      throw new MalformedData('wrong_value', path, `must be one of ${choices.join(', ')}`);
    }
  };
}

/** An object with every required field, any of the optional ones, and no other. */
export function record(
  required: Readonly<Record<string, Shape>>,
  optional: Readonly<Record<string, Shape>> = {},
): Shape {
  return (value, path) => {
    const fields = asObject(value, path);
    for (const key of Object.keys(fields)) {
      if (!Object.hasOwn(required, key) && !Object.hasOwn(optional, key)) {
        throw new MalformedData('unknown_field', join(path, key), 'is not a known field');
      }
    }
    for (const [key, shape] of Object.entries(required)) {
      if (!Object.hasOwn(fields, key))
        throw new MalformedData('missing_field', join(path, key), 'is missing');
      shape(fields[key], join(path, key));
    }
    for (const [key, shape] of Object.entries(optional)) {
      if (Object.hasOwn(fields, key)) shape(fields[key], join(path, key));
    }
  };
}

export function list(item: Shape, countMin: number): Shape {
  return (value, path) => {
    if (!Array.isArray(value)) throw new MalformedData('wrong_value', path, 'must be a list');
    if (value.length < countMin || value.length > ITEMS_MAX) {
      throw new MalformedData('wrong_value', path, `must have ${countMin} to ${ITEMS_MAX} items`);
    }
    value.forEach((entry, index) => item(entry, `${path}[${index}]`));
  };
}

/** A plain object. */
export function asObject(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MalformedData('wrong_value', path, 'must be an object');
  }
  return value as Record<string, unknown>;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
