import { expectation } from './expectation.ts';
import type { Schema } from './expectation.ts';

/** The first thing that is wrong with a value: where (member names and indexes), and a sentence for people. */
export interface Problem {
  path: readonly (string | number)[];
  message: string;
}

/**
 * Finds the first reason why `value` does not fit `schema`, or null when it fits.
 *
 * The compiled validator only says no. This walk runs after a refusal and says where and why; it knows exactly the
 * keywords that the request schemas use, and a property test holds it to the compiled validator's verdict.
 * Values are never quoted: they may be somebody's prompt.
 */
export function diagnose(
  schema: Schema,
  value: unknown,
  path: Problem['path'] = [],
): Problem | null {
  if (schema.anyOf !== undefined) return diagnoseUnion(schema, schema.anyOf, value, path);
  if (!fitsShallowly(schema, value)) return refuse(schema, path);
  if (schema.type === 'object')
    return diagnoseObject(schema, value as Record<string, unknown>, path);
  if (schema.type === 'array' && schema.items !== undefined) {
    return diagnoseItems(schema.items, value as unknown[], path);
  }
  return null;
}

/** `messages[2].content` */
export function dotted(path: Problem['path']): string {
  return path.reduce<string>(
    (text, step) =>
      typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`,
    '',
  );
}

function refuse(schema: Schema, path: Problem['path']): Problem {
  return { path, message: `\`${dotted(path)}\` must be ${expectation(schema)}.` };
}

function diagnoseObject(
  schema: Schema,
  value: Record<string, unknown>,
  path: Problem['path'],
): Problem | null {
  for (const key of schema.required ?? []) {
    if (value[key] !== undefined) continue;
    const inside = [...path, key];
    const wanted = expectation(schema.properties?.[key] ?? {});
    return { path: inside, message: `\`${dotted(inside)}\` is required: ${wanted}.` };
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (value[key] === undefined) continue;
    const problem = diagnose(property, value[key], [...path, key]);
    if (problem !== null) return problem;
  }
  // The names in a record are the caller's text, so the record is named and not its member.
  const values = Object.values(schema.patternProperties ?? {})[0];
  if (values === undefined) return null;
  return Object.values(value).every((one) => diagnose(values, one) === null)
    ? null
    : refuse(schema, path);
}

function diagnoseItems(
  items: Schema,
  value: readonly unknown[],
  path: Problem['path'],
): Problem | null {
  for (const [index, item] of value.entries()) {
    const problem = diagnose(items, item, [...path, index]);
    if (problem !== null) return problem;
  }
  return null;
}

/** Picks the alternative that the caller must have meant, so that the refusal is about that one. */
function diagnoseUnion(
  schema: Schema,
  alternatives: readonly Schema[],
  value: unknown,
  path: Problem['path'],
): Problem | null {
  const alike = alternatives.filter((one) => looksLike(one, value));
  const tag = alike.length > 0 ? tagOf(alike) : undefined;
  if (tag !== undefined) return diagnoseTagged(alike, tag, value as Record<string, unknown>, path);
  if (alike.length === 1) {
    const meant = alike[0]!;
    const problem = diagnose(meant, value, path);
    // The value is of this kind but not as wanted: the words of the whole union are clearer than those of one bound.
    return problem?.path.length === path.length && meant['x-expected'] === undefined
      ? refuse(schema, path)
      : problem;
  }
  return alternatives.some((one) => diagnose(one, value, path) === null)
    ? null
    : refuse(schema, path);
}

/** Alternatives told apart by one member, as messages are by `role`. */
function diagnoseTagged(
  alternatives: readonly Schema[],
  tag: string,
  value: Record<string, unknown>,
  path: Problem['path'],
): Problem | null {
  const meant = alternatives.find((one) => diagnose(one.properties![tag]!, value[tag]) === null);
  if (meant !== undefined) return diagnose(meant, value, path);
  const allowed = alternatives.flatMap((one) => choices(one.properties![tag]!));
  return refuse({ enum: allowed }, [...path, tag]);
}

/** The member whose fixed values tell all of these objects apart, if there is one. */
function tagOf(alternatives: readonly Schema[]): string | undefined {
  return Object.keys(alternatives[0]!.properties ?? {}).find((key) =>
    alternatives.every((one) => choices(one.properties?.[key] ?? {}).length > 0),
  );
}

function choices(schema: Schema): readonly unknown[] {
  return schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
}

/** Same JSON type; for arrays, also of the first element. */
function looksLike(schema: Schema, value: unknown): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some((one) => looksLike(one, value));
  if (schema.enum !== undefined) return schema.enum.some((one) => typeof one === typeof value);
  if (!hasType(schema.type, value, false)) return false;
  if (schema.items === undefined || !Array.isArray(value)) return true;
  return value.length === 0 || looksLike(schema.items, value[0]);
}

function fitsShallowly(schema: Schema, value: unknown): boolean {
  if (schema.const !== undefined) return value === schema.const;
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (!hasType(schema.type, value, true)) return false;
  if (typeof value === 'number') return isWithin(schema, value);
  if (typeof value === 'string')
    return isBounded(value.length, schema.minLength, undefined) && isShort(schema, value);
  if (Array.isArray(value)) return isBounded(value.length, schema.minItems, schema.maxItems);
  return true;
}

function isWithin(schema: Schema, value: number): boolean {
  if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) return false;
  return isBounded(value, schema.minimum, schema.maximum);
}

/** Characters are code points here, as in JSON Schema. Counted only when the string is near the bound. */
function isShort(schema: Schema, value: string): boolean {
  const bound = schema.maxLength;
  if (bound === undefined || value.length <= bound) return true;
  return value.length <= 2 * bound && Array.from(value).length <= bound;
}

function isBounded(
  size: number,
  minimum: number | undefined,
  maximum: number | undefined,
): boolean {
  return (minimum === undefined || size >= minimum) && (maximum === undefined || size <= maximum);
}

/** `strictly`: an integer has no fraction. Otherwise any number resembles one, so that 1.5 gets the integer's words. */
function hasType(type: string | undefined, value: unknown, strictly: boolean): boolean {
  switch (type) {
    case undefined:
      return true;
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return typeof value === 'number' && (!strictly || Number.isInteger(value));
    case 'number':
      return typeof value === 'number' && (!strictly || Number.isFinite(value));
    default:
      return typeof value === type;
  }
}
