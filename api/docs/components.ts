import { isDeepStrictEqual } from 'node:util';
import type { JsonSchema, Reference } from './document-shape.ts';

/** Schemas that have a `title` stand once, under that name, and everywhere else by reference. */
export class Components {
  readonly #schemas = new Map<string, JsonSchema>();

  /** A schema as the document holds it. @throws Error when two different schemas claim one title. */
  place(schema: object): JsonSchema {
    // Written and read again: what is left is what JSON says, without the marks of the schema library.
    return this.#hoist(JSON.parse(JSON.stringify(schema)) as JsonSchema);
  }

  all(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => a.localeCompare(b)));
  }

  #hoist(schema: JsonSchema): JsonSchema {
    const {
      'x-expected': words,
      title,
      ...rest
    } = mapValues(schema, (value, keyword) => this.#inside(keyword, value));
    if (typeof words === 'string' && rest['description'] === undefined) {
      rest['description'] = `${words[0]!.toUpperCase()}${words.slice(1)}.`;
    }
    if (typeof title !== 'string') return rest;
    const known = this.#schemas.get(title);
    if (known !== undefined && !isDeepStrictEqual(known, rest)) {
      throw new Error(`two different schemas have the title ${title}`);
    }
    this.#schemas.set(title, rest);
    return reference('schemas', title);
  }

  #inside(keyword: string, value: unknown): unknown {
    if (LITERAL.has(keyword) || typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((one: unknown) => this.#inside(keyword, one));
    if (!OF_MEMBERS.has(keyword)) return this.#hoist(value as JsonSchema);
    // Its names are those of members, however much one of them may look like a keyword.
    return mapValues(value as Record<string, JsonSchema>, (member) => this.#hoist(member));
  }
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
