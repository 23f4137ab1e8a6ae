import type { Random } from './random.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Schema = Record<string, unknown>;

/** Recursive schemas end here: below it only what is required is written, and no optional branch. */
const DEPTH_MAX = 8;
/** An absurd `minItems` or `minLength` must not fill memory. */
const ITEMS_MAX = 64;
const CHARS_MAX = 4096;

const WORDS = ['harbour', 'ledger', 'lamp', 'garden', 'river', 'signal', 'tide', 'orchard', 'mill'];

/** Texts for the formats that schemas name most. */
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  duration: 'PT1H',
  email: 'keeper@harbour.example',
  hostname: 'harbour.example',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://harbour.example/log',
  'uri-reference': '/log',
  uuid: '6f1c1a52-6a3c-4f6e-9d1b-0c9a5b7e2d41',
};

interface Writing {
  root: Schema;
  random: Random;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Follows `#/…` references inside the same document; anything else stands for "any value". */
function resolve(schema: Schema, root: Schema): Schema {
  let current = schema;
  for (let hops = 0; hops < DEPTH_MAX && typeof current['$ref'] === 'string'; hops += 1) {
    let target: unknown = root;
    for (const part of current['$ref'].replace(/^#\/?/, '').split('/').filter(Boolean)) {
      const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      target = isSchema(target) ? target[name] : undefined;
    }
    if (!isSchema(target)) return {};
    current = target;
  }
  return current;
}

/** One schema out of `allOf`, and of the first branch of `anyOf` or `oneOf` (the shallowest when deep). */
function flatten(schema: Schema, writing: Writing, depth: number): Schema {
  const { anyOf, oneOf, allOf, ...own } = resolve(schema, writing.root);
  const branches = [anyOf, oneOf].filter(Array.isArray).map((list: unknown[]) => {
    const choices = list.filter(isSchema).map((choice) => resolve(choice, writing.root));
    const simple =
      depth >= DEPTH_MAX ? choices.find((choice) => typeOf(choice) !== 'object') : undefined;
    return simple ?? choices[0] ?? {};
  });
  const all = Array.isArray(allOf) ? allOf.filter(isSchema) : [];
  let merged: Schema = own;
  for (const part of [...all, ...branches]) {
    const flat = flatten(part, writing, depth + 1);
    merged = {
      ...merged,
      ...flat,
      properties: { ...record(merged['properties']), ...record(flat['properties']) },
      required: [...strings(merged['required']), ...strings(flat['required'])],
    };
  }
  return merged;
}

function record(value: unknown): Schema {
  return isSchema(value) ? value : {};
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function typeOf(schema: Schema): string {
  const { type } = schema;
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) return String(type.find((name) => name !== 'null') ?? 'null');
  if ('items' in schema || 'prefixItems' in schema) return 'array';
  if ('minimum' in schema || 'maximum' in schema || 'multipleOf' in schema) return 'number';
  if ('minLength' in schema || 'pattern' in schema || 'format' in schema) return 'string';
  const properties = Object.keys(record(schema['properties'])).length;
  if (properties > 0 || strings(schema['required']).length > 0) return 'object';
  return 'type' in schema ? 'null' : 'string';
}

function writeNumber(schema: Schema, whole: boolean, random: Random): number {
  const step = asNumber(schema['multipleOf']) ?? (whole ? 1 : 0.5);
  const above = asNumber(schema['exclusiveMinimum']);
  const below = asNumber(schema['exclusiveMaximum']);
  const low =
    asNumber(schema['minimum']) ?? above ?? Math.min(0, asNumber(schema['maximum']) ?? below ?? 0);
  const high = asNumber(schema['maximum']) ?? below ?? low + 100 * step;
  let first = Math.ceil(low / step);
  let last = Math.floor(high / step);
  if (above !== undefined && first * step <= above) first += 1;
  if (below !== undefined && last * step >= below) last -= 1;
  if (last >= first) return (first + Math.floor(random() * (last - first + 1))) * step;
  // Between two multiples of the step: only a fraction fits.
  return (low + high) / 2;
}

function writeString(schema: Schema, random: Random): string {
  const format = schema['format'];
  if (typeof format === 'string' && Object.hasOwn(FORMATS, format))
    return FORMATS[format] as string;
  const least = Math.min(asNumber(schema['minLength']) ?? 0, CHARS_MAX);
  let text = WORDS[Math.floor(random() * WORDS.length)] as string;
  while (text.length < least) text += ` ${WORDS[Math.floor(random() * WORDS.length)] as string}`;
  return text.slice(0, Math.min(asNumber(schema['maxLength']) ?? CHARS_MAX, CHARS_MAX));
}

function writeArray(schema: Schema, writing: Writing, depth: number): Json[] {
  const tuple = Array.isArray(schema['prefixItems']) ? schema['prefixItems'].filter(isSchema) : [];
  const values = tuple.map((item) => write(item, writing, depth + 1));
  if (schema['items'] === false) return values;
  const item = record(schema['items']);
  const least = asNumber(schema['minItems']) ?? 0;
  const wanted = depth >= DEPTH_MAX ? least : Math.max(least, 1 + Math.floor(writing.random() * 3));
  const most = Math.min(asNumber(schema['maxItems']) ?? ITEMS_MAX, ITEMS_MAX);
  while (values.length < Math.min(wanted, most)) values.push(write(item, writing, depth + 1));
  if (schema['uniqueItems'] !== true) return values;
  const seen = new Map(values.map((value) => [JSON.stringify(value), value]));
  return [...seen.values()];
}

function writeObject(schema: Schema, writing: Writing, depth: number): Json {
  const properties = record(schema['properties']);
  const required = new Set(strings(schema['required']));
  // Built from entries, so that a property named __proto__ is only a property.
  const entries: [string, Json][] = [];
  for (const [name, property] of Object.entries(properties)) {
    if (!required.delete(name) && depth >= DEPTH_MAX / 2) continue;
    entries.push([name, isSchema(property) ? write(property, writing, depth + 1) : true]);
  }
  const rest = record(schema['additionalProperties']);
  for (const name of required) entries.push([name, write(rest, writing, depth + 1)]);
  return Object.fromEntries(entries);
}

function write(schema: Schema, writing: Writing, depth: number): Json {
  const flat = flatten(schema, writing, depth);
  if ('const' in flat) return flat['const'] as Json;
  const choices = flat['enum'];
  if (Array.isArray(choices) && choices.length > 0) {
    return choices[Math.floor(writing.random() * choices.length)] as Json;
  }
  // A schema that demands endless nesting has no value at all; something must still be returned.
  if (depth > 4 * DEPTH_MAX) return null;
  switch (typeOf(flat)) {
    case 'object':
      return writeObject(flat, writing, depth);
    case 'array':
      return writeArray(flat, writing, depth);
    case 'integer':
      return writeNumber(flat, true, writing.random);
    case 'number':
      return writeNumber(flat, false, writing.random);
    case 'boolean':
      return writing.random() < 0.5;
    case 'null':
      return null;
    default:
      return writeString(flat, writing.random);
  }
}

/**
 * A value that satisfies a JSON Schema, for structured answers and tool arguments. Covers what clients
 * send (types, enum, const, combinators, local references, bounds, common formats); `pattern` and
 * `not` are not honoured.
 */
export function schemaValue(schema: unknown, random: Random): Json {
  const root = record(schema);
  return write(root, { root, random }, 0);
}
