import { Format } from 'typebox/format';
import { schemaWords, type Schema } from './schema-words.ts';

/** The first thing that is wrong with a value. */
export interface Flaw {
  kind: 'missing' | 'unknown' | 'wrong';
  /** Where: member names and indexes. */
  path: readonly (string | number)[];
  /** What the schema wants there, in words that follow "must be". The value is never quoted: it may be a prompt. */
  wanted: string;
}

/**
 * Finds the first reason why `value` does not fit `schema`, or null when it fits.
 *
 * The compiled validator only says no. This walk runs after a refusal and says where and why; it knows exactly the
 * keywords that our schemas use, and property tests hold it to the compiled validator's verdict.
 */
export function findFlaw(schema: Schema, value: unknown, path: Flaw['path'] = []): Flaw | null {
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
export function dotted(path: Flaw['path']): string {
  return path.reduce<string>(
    (text, step) =>
      typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`,
    '',
  );
}

function refuse(schema: Schema, path: Flaw['path']): Flaw {
  return { kind: 'wrong', path, wanted: schemaWords(schema) };
}

function diagnoseObject(
  schema: Schema,
  value: Record<string, unknown>,
  path: Flaw['path'],
): Flaw | null {
  const properties = schema.properties ?? {};
  for (const key of schema.required ?? []) {
    if (value[key] !== undefined) continue;
    return { kind: 'missing', path: [...path, key], wanted: schemaWords(properties[key] ?? {}) };
  }
  if (schema.additionalProperties === false) {
    const unknown = Object.keys(value).find((key) => !Object.hasOwn(properties, key));
    if (unknown !== undefined) {
      return { kind: 'unknown', path: [...path, unknown], wanted: 'left out' };
    }
  }
  for (const [key, property] of Object.entries(properties)) {
    if (value[key] === undefined) continue;
    const flaw = findFlaw(property, value[key], [...path, key]);
    if (flaw !== null) return flaw;
  }
  return diagnoseRecord(schema, value, path);
}

/** An object whose names are not known beforehand. */
function diagnoseRecord(
  schema: Schema,
  value: Record<string, unknown>,
  path: Flaw['path'],
): Flaw | null {
  const [values] = Object.values(schema.patternProperties ?? {});
  if (values === undefined) return null;
  for (const [key, member] of Object.entries(value)) {
    // Where any name will do it may be the caller's text, so the record is named and not its member.
    const inside = schema.propertyNames === undefined ? path : [...path, key];
    const names = schema.propertyNames;
    if (names !== undefined && findFlaw(names, key) !== null) return refuse(names, inside);
    if (findFlaw(values, member) !== null) {
      return refuse(names === undefined ? schema : values, inside);
    }
  }
  return null;
}

function diagnoseItems(items: Schema, value: readonly unknown[], path: Flaw['path']): Flaw | null {
  for (const [index, item] of value.entries()) {
    const flaw = findFlaw(items, item, [...path, index]);
    if (flaw !== null) return flaw;
  }
  return null;
}

/** Picks the alternative that the caller must have meant, so that the refusal is about that one. */
function diagnoseUnion(
  schema: Schema,
  alternatives: readonly Schema[],
  value: unknown,
  path: Flaw['path'],
): Flaw | null {
  const alike = alternatives.filter((one) => looksLike(one, value));
  const tag = alike.length > 0 ? tagOf(alike) : undefined;
  if (tag !== undefined) return diagnoseTagged(alike, tag, value as Record<string, unknown>, path);
  if (alike.length === 1) {
    const meant = alike[0]!;
    const flaw = findFlaw(meant, value, path);
    // The value is of this kind but not as wanted: the words of the whole union are clearer than those of one bound.
    return flaw?.path.length === path.length && meant['x-expected'] === undefined
      ? refuse(schema, path)
      : flaw;
  }
  return alternatives.some((one) => findFlaw(one, value, path) === null)
    ? null
    : refuse(schema, path);
}

/** Alternatives told apart by one member, as messages are by `role`. */
function diagnoseTagged(
  alternatives: readonly Schema[],
  tag: string,
  value: Record<string, unknown>,
  path: Flaw['path'],
): Flaw | null {
  const meant = alternatives.find((one) => findFlaw(one.properties![tag]!, value[tag]) === null);
  if (meant !== undefined) return findFlaw(meant, value, path);
  const tags = alternatives.map((one) => one.properties![tag]!);
  const spelt = tags.filter((one) => one.pattern !== undefined).map(schemaWords);
  const wanted = [schemaWords({ enum: tags.flatMap(choices) }), ...spelt].join(', or ');
  return { kind: 'wrong', path: [...path, tag], wanted };
}

/**
 * The member whose fixed values tell these objects apart, if there is one. In one of them it may be spelt by a pattern, which
 * has none of the others' values.
 */
function tagOf(alternatives: readonly Schema[]): string | undefined {
  return Object.keys(alternatives[0]!.properties ?? {}).find((key) => {
    const tags = alternatives.map((one) => one.properties?.[key] ?? {});
    return tags.every(isTag) && tags.filter((tag) => tag.pattern !== undefined).length <= 1;
  });
}

function isTag(schema: Schema): boolean {
  return choices(schema).length > 0 || schema.pattern !== undefined;
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
  if (schema.const !== undefined) return isSame(value, schema.const);
  if (schema.enum !== undefined) return schema.enum.some((one) => isSame(value, one));
  if (!hasType(schema.type, value, true)) return false;
  if (typeof value === 'number') return isWithin(schema, value);
  if (typeof value === 'string') return isSpelt(schema, value);
  if (Array.isArray(value)) return isBounded(value.length, schema.minItems, schema.maxItems);
  if (typeof value !== 'object' || value === null) return true;
  return isBounded(Object.keys(value).length, schema.minProperties, schema.maxProperties);
}

/** Constants of schemas are scalars, and lists of them. */
function isSame(value: unknown, constant: unknown): boolean {
  if (!Array.isArray(value) || !Array.isArray(constant)) return value === constant;
  return value.length === constant.length && constant.every((one, i) => isSame(value[i], one));
}

function isSpelt(schema: Schema, value: string): boolean {
  const { minLength, pattern, format } = schema;
  if (!isBounded(value.length, minLength, undefined) || !isShort(schema, value)) return false;
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) return false;
  return format === undefined || Format.Test(format, value);
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
