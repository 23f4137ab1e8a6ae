/** The keywords of JSON Schema that parameters of ours use. */
export interface ParameterSchema {
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly ParameterSchema[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
}

/** Text that goes into logs and tables: a control character in it would be read as something else there. */
export const WITHOUT_CONTROLS = '^[^\\p{Cc}\\p{Cs}]*$';

/**
 * What a parameter must be, in words: `a whole number from 1 to 100`. A refusal says the whole demand, whichever part of
 * it was not met.
 */
export function demandOf(schema: ParameterSchema): string {
  if (schema.const !== undefined) return textOf(schema.const);
  const choices = choicesOf(schema);
  if (choices !== undefined) return `one of ${choices.join(', ')}`;
  if (schema.anyOf !== undefined) return schema.anyOf.map(demandOf).join(', or ');
  switch (schema.type) {
    case 'integer':
      return `a whole number${rangeOf(schema)}`;
    case 'number':
      return `a number${rangeOf(schema)}`;
    case 'string':
      return `text${atMost(schema.maxLength, 'characters')}${formOf(schema)}`;
    case 'array':
      return `a list${atMost(schema.maxItems, 'items')}`;
    case 'boolean':
      return 'true or false';
    case 'object':
      return 'a JSON object';
    case 'null':
      return 'null';
    case undefined:
    default:
      return 'as the documentation says';
  }
}

function choicesOf({ enum: all, anyOf }: ParameterSchema): readonly unknown[] | undefined {
  if (all !== undefined) return all;
  const choices = anyOf?.map((one) => one.const);
  return choices?.every((one) => one !== undefined) === true ? choices : undefined;
}

function textOf(constant: unknown): string {
  return typeof constant === 'string' ? constant : JSON.stringify(constant);
}

function rangeOf({ minimum, maximum }: ParameterSchema): string {
  // As far as JSON is exact: that is no limit of ours, and no client writes such a number.
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum !== undefined && most !== undefined) return ` from ${minimum} to ${most}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return most === undefined ? '' : ` of at most ${most}`;
}

function atMost(most: number | undefined, of: string): string {
  return most === undefined ? '' : ` of at most ${most} ${of}`;
}

function formOf({ pattern }: ParameterSchema): string {
  if (pattern === undefined) return '';
  return pattern === WITHOUT_CONTROLS
    ? ' without control characters'
    : ' of the form that the documentation says';
}
