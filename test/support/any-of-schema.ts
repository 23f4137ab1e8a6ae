import fc from 'fast-check';
import { anyCharacter } from './any-character.ts';

/** The JSON Schema keywords that our own description uses. */
interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  not?: { const?: boolean };
  properties?: Readonly<Record<string, Schema>>;
  patternProperties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

export interface SchemaChoices {
  /** `#/components/schemas/…` by name. */
  components: Readonly<Record<string, unknown>>;
  /** Instead of what the schema says, for members of this name. */
  named?: Readonly<Record<string, fc.Arbitrary<unknown>>>;
}

/** Long enough to be more than one token, short enough that thousands are quick. */
const CHARS_MAX = 24;
const ITEMS_MAX = 3;

/** Values that satisfy a schema. */
export function anyOfSchema(schema: unknown, choices: SchemaChoices): fc.Arbitrary<unknown> {
  const { $ref, ...own } = schema as Schema;
  if ($ref !== undefined) {
    return anyOfSchema(choices.components[$ref.slice($ref.lastIndexOf('/') + 1)], choices);
  }
  if (own.const !== undefined) return fc.constant(own.const);
  if (own.enum !== undefined) return fc.constantFrom(...own.enum);
  if (own.anyOf !== undefined) {
    const possible = own.anyOf.filter(({ not }) => not === undefined || 'const' in not);
    return fc.oneof(...possible.map((one) => anyOfSchema(one, choices)));
  }
  return (ARBITRARIES[own.type ?? ''] ?? (() => fc.jsonValue()))(own, choices);
}

const ARBITRARIES: Readonly<
  Record<string, (schema: Schema, choices: SchemaChoices) => fc.Arbitrary<unknown>>
> = {
  null: () => fc.constant(null),
  boolean: ({ not }) => fc.boolean().filter((one) => one !== not?.const),
  integer: ({ minimum, maximum, exclusiveMinimum }) =>
    fc.integer({ min: minimum ?? (exclusiveMinimum ?? -1_000) + 1, max: maximum ?? 1_000 }),
  number: ({ minimum, maximum, exclusiveMinimum }) =>
    fc.double({
      min: minimum ?? exclusiveMinimum ?? -1e6,
      max: maximum ?? 1e6,
      minExcluded: exclusiveMinimum !== undefined,
      noNaN: true,
    }),
  string: ({ minLength = 0, maxLength = CHARS_MAX }) =>
    fc.string({ minLength, maxLength: Math.min(maxLength, CHARS_MAX), unit: anyCharacter }),
  array: ({ items, minItems = 0, maxItems = ITEMS_MAX }, choices) =>
    fc.array(items === undefined ? fc.jsonValue() : anyOfSchema(items, choices), {
      minLength: minItems,
      maxLength: Math.max(minItems, Math.min(maxItems, ITEMS_MAX)),
    }),
  object: ({ properties, patternProperties, required = [] }, choices) => {
    const values = Object.values(patternProperties ?? {})[0];
    if (values !== undefined) {
      return fc.dictionary(fc.string({ maxLength: 8 }), anyOfSchema(values, choices), {
        maxKeys: ITEMS_MAX,
      });
    }
    const members = Object.entries(properties ?? {}).map(([name, member]) => [
      name,
      choices.named?.[name] ?? anyOfSchema(member, choices),
    ]);
    return fc.record(Object.fromEntries(members) as Record<string, fc.Arbitrary<unknown>>, {
      requiredKeys: [...required],
    });
  },
};
