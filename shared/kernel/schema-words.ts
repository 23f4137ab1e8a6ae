/** The JSON Schema keywords that our schemas use. */
export interface Schema {
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  properties?: Readonly<Record<string, Schema>>;
  patternProperties?: Readonly<Record<string, Schema>>;
  /** Of the names in a record. */
  propertyNames?: Schema;
  additionalProperties?: boolean;
  required?: readonly string[];
  minProperties?: number;
  maxProperties?: number;
  items?: Schema;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  minItems?: number;
  maxItems?: number;
  /** Words for people, where those made from the keywords would not be plain enough. */
  'x-expected'?: string;
}

/** What a schema wants, in words that follow "must be": "a number from 0 to 2". */
export function schemaWords(schema: Schema): string {
  const words = schema['x-expected'];
  if (words !== undefined) return words;
  if (schema.anyOf !== undefined) return ofUnion(schema.anyOf);
  if (schema.const !== undefined) return quoted(schema.const);
  if (schema.enum !== undefined) {
    return schema.enum.length === 1
      ? quoted(schema.enum[0])
      : `one of ${schema.enum.map(quoted).join(', ')}`;
  }
  return WORDS_OF_TYPE[schema.type ?? '']?.(schema) ?? 'present';
}

const WORDS_OF_TYPE: Readonly<Record<string, (schema: Schema) => string>> = {
  number: (schema) => `a number${range(schema)}`,
  integer: (schema) => `an integer${range(schema)}`,
  string: ofString,
  boolean: () => 'true or false',
  array: ofArray,
  object: () => 'an object',
  null: () => 'null',
};

/** Null is not mentioned: it is the same as leaving the member out. */
function ofUnion(alternatives: readonly Schema[]): string {
  const words = alternatives.filter((one) => one.type !== 'null').map(schemaWords);
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function range({ minimum, maximum, exclusiveMinimum }: Schema): string {
  if (exclusiveMinimum !== undefined) {
    return ` above ${exclusiveMinimum}${maximum === undefined ? '' : ` and at most ${maximum}`}`;
  }
  // As far as JSON is exact: that is no limit of ours, and no caller writes such a number.
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum !== undefined && most !== undefined) return ` from ${minimum} to ${most}`;
  return minimum === undefined ? '' : ` of ${minimum} or more`;
}

function ofString({ minLength, maxLength }: Schema): string {
  const kind = minLength === undefined ? 'a string' : 'a non-empty string';
  return maxLength === undefined ? kind : `${kind} of at most ${maxLength} characters`;
}

function ofArray({ minItems, maxItems }: Schema): string {
  const kind = minItems === undefined ? 'an array' : 'a non-empty array';
  return maxItems === undefined ? kind : `${kind} of at most ${maxItems} items`;
}

function quoted(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}
