import { isDeepStrictEqual } from 'node:util';
import type { JsonSchema, Reference } from './document-shape.ts';

/**
 * Schemas that have a `title` stand once, under that name, and everywhere else by reference. Alternatives that are objects
 * get a name by what tells them apart, and a closed set of values is an `enum`: generators of clients make types of both.
 */
export class Components {
  readonly #schemas = new Map<string, JsonSchema>();

  /** A schema as the document holds it. @throws Error when two different schemas claim one title. */
  place(schema: object): JsonSchema {
    // Written and read again: what is left is what JSON says, without the marks of the schema library.
    return this.#hoist(JSON.parse(JSON.stringify(schema)) as JsonSchema, '');
  }

  all(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => a.localeCompare(b)));
  }

  /** `place` is where the schema stands, as a name: that of the title around it and of the members on the way. */
  #hoist(schema: JsonSchema, place: string): JsonSchema {
    const within = typeof schema['title'] === 'string' ? schema['title'] : place;
    const {
      'x-expected': words,
      title,
      ...rest
    } = closedSets(
      mapValues(schema, (value, keyword) =>
        keyword === 'anyOf'
          ? this.#alternatives(value as JsonSchema[], within)
          : this.#inside(keyword, value, within),
      ),
    );
    if (typeof words === 'string' && rest['description'] === undefined) {
      rest['description'] = `${words[0]!.toUpperCase()}${words.slice(1)}.`;
    }
    // What is not named may stand there as well. Not every reader takes that for said, and some refuse what they do not know.
    const isOpen =
      rest['additionalProperties'] === undefined && rest['patternProperties'] === undefined;
    if (rest['type'] === 'object' && isOpen) rest['additionalProperties'] = true;
    if (typeof title !== 'string') return rest;
    const known = this.#schemas.get(title);
    if (known !== undefined && !isDeepStrictEqual(known, rest)) {
      throw new Error(`two different schemas have the title ${title}`);
    }
    this.#schemas.set(title, rest);
    return reference('schemas', title);
  }

  #inside(keyword: string, value: unknown, place: string): unknown {
    if (LITERAL.has(keyword) || typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((one: unknown) => this.#inside(keyword, one, place));
    if (!OF_MEMBERS.has(keyword)) return this.#hoist(value as JsonSchema, place);
    // Its names are those of members, however much one of them may look like a keyword.
    return mapValues(value as Record<string, JsonSchema>, (member, name) =>
      this.#hoist(member, place === '' ? '' : place + pascal(name)),
    );
  }

  #alternatives(anyOf: readonly JsonSchema[], place: string): JsonSchema[] {
    const objects = anyOf.filter(isUnnamedObject);
    const taken = new Set<string>();
    return anyOf.map((one) => {
      if (one['type'] === 'null') return one;
      if (place === '' || objects.length < 2 || !objects.includes(one))
        return this.#hoist(one, place);
      const name = place + pascal(tagOf(one));
      const title = taken.has(name) || name === place ? `${name}${taken.size + 1}` : name;
      taken.add(name);
      return this.#hoist({ ...one, title }, place);
    });
  }
}

function isUnnamedObject({ title, properties }: JsonSchema): boolean {
  return title === undefined && properties !== undefined;
}

/** Members that tell alternatives apart, in the order in which they do. */
const TAGS = ['role', 'type', 'object'];

/** What one alternative has in such a member; empty when it has none. */
function tagOf({ properties }: JsonSchema): string {
  const members = properties as Record<string, JsonSchema>;
  for (const tag of TAGS) {
    const { const: value, enum: values, anyOf } = members[tag] ?? {};
    const first = [value, ...((values as unknown[] | undefined) ?? []), ...constants(anyOf)];
    const text = first.find((one) => typeof one === 'string');
    if (text !== undefined) return text;
  }
  return '';
}

function constants(anyOf: unknown): unknown[] {
  return ((anyOf as JsonSchema[] | undefined) ?? []).map((one) => one['const']);
}

/**
 * What few programs read, said in other words: a union of constants as an `enum`, constants that are lists as a list of their
 * values, one truth value as a boolean that is not the other, and null alone as null or a text, which no text is.
 */
function closedSets(schema: Record<string, unknown>): Record<string, unknown> {
  const { anyOf, const: value, enum: values, ...rest } = schema;
  if (rest['type'] === 'null') {
    const { type, ...words } = rest;
    return { ...words, anyOf: [{ type: 'string', not: {} }, { type }] };
  }
  if (typeof value === 'boolean') return { ...rest, not: { const: !value } };
  const lists = [value, ...((values as unknown[] | undefined) ?? [])].filter((one) =>
    Array.isArray(one),
  );
  if (lists.length > 0) {
    const lengths = lists.map(({ length }) => length);
    const items = { type: 'string', enum: [...new Set(lists.flat())] };
    const [minItems, maxItems] = [Math.min(...lengths), Math.max(...lengths)];
    return { ...rest, type: 'array', items, minItems, maxItems };
  }
  if (!Array.isArray(anyOf)) return schema;
  const isText = ({ const: one }: JsonSchema): boolean => typeof one === 'string';
  const texts = anyOf.filter(isText);
  if (texts.length < 2) return schema;
  const set = { type: 'string', enum: constants(texts) };
  const others = anyOf.filter((one: JsonSchema) => !isText(one));
  return others.length === 0 ? { ...rest, ...set } : { ...rest, anyOf: [set, ...others] };
}

function pascal(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}

/** Keywords whose values are values, not schemas. */
const LITERAL: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required']);
const OF_MEMBERS: ReadonlySet<string> = new Set(['properties', 'patternProperties']);

export function reference(
  kind: 'schemas' | 'examples' | 'headers',
  name: string,
): Reference & JsonSchema {
  return { $ref: `#/components/${kind}/${name}` };
}

export function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  map: (value: T, key: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
