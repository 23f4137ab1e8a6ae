import Type, { type TObject, type TProperties, type TSchema } from 'typebox';
import { WRITTEN_DECIMAL_PATTERN } from '#shared/kernel/decimal.ts';
import { MULTIHASH_PATTERN } from '#shared/kernel/multihash.ts';
import { QUANTITY_UNITS, type QuantityName } from '#shared/methodology/measurement.ts';
import { TEXT_MAX } from './document.ts';
import { SALT_PATTERN } from './salt.ts';

/**
 * The kinds of field that signed documents are made of. A description is a TypeBox schema and so gives the type and the
 * check. Beside JSON Schema it says, under names that begin with `x-`, what a field is as linked data and when it is
 * there; the API's description, the SHACL shapes and the tables of the documentation are made from the same.
 */
export interface Described {
  description?: string;
  /** The property, as a compact IRI. Absent on what JSON-LD itself knows (`id`, `type`, `@context`) and on proofs. */
  'x-term'?: string;
  /** The datatype of the value, as a compact IRI, or a keyword of JSON-LD. */
  'x-type'?: string;
  /** The values that are IRIs, by their names. */
  'x-values'?: Readonly<Record<string, string>>;
  /** Where the field is there. Without it a field that is not required is there where it is known. */
  'x-when'?: Condition;
  /** On an object: the shape in SHACL. */
  'x-shape'?: string;
}

/** What decides whether a field of a receipt is there. */
export type Condition =
  | 'called' /* not blocked by screening */
  | 'ran' /* neither that nor failed */
  | 'refused'
  | 'failed'
  | 'estimated'
  | 'degraded'
  | 'revision';

const TEXT = {
  minLength: 1,
  maxLength: TEXT_MAX,
  'x-expected': `text of 1 to ${TEXT_MAX} characters`,
  'x-type': 'xsd:string',
};

export const text = (term: string | undefined, description: string, pattern?: Pattern) =>
  Type.String({ ...TEXT, ...pattern, ...meaning(term, description) });

export interface Pattern {
  pattern: string;
  /** In words. */
  'x-expected': string;
}

/** A name that the service or its operator gives, as a catalogue may have it for a model. */
export const NAME: Pattern = {
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:/@+~-]{0,255}$',
  'x-expected': 'a name of 1 to 256 letters, digits and . _ : / @ + ~ -',
};

/** The same of a region. */
export const REGION: Pattern = {
  pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
  'x-expected': 'a name of 1 to 64 small letters, digits and . _ -',
};

/** What programs go by, and people look up. */
export const CODE: Pattern = {
  pattern: '^[a-z][a-z0-9_]{0,63}$',
  'x-expected': 'a code of 1 to 64 small letters, digits and _',
};

/** What servers give their answers. Others are left off. */
export const FOREIGN_ID: Pattern = {
  pattern: '^[A-Za-z0-9_][A-Za-z0-9._:/@+~=-]{0,255}$',
  'x-expected': 'an id of 1 to 256 letters, digits and . _ : / @ + ~ = -',
};

/** An absolute IRI, in ASCII as addresses are. */
export const IRI_PATTERN = '^[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\\[\\]_a-z~]+$';

const IRI = {
  ...TEXT,
  pattern: IRI_PATTERN,
  'x-expected': 'an absolute IRI',
  'x-type': '@id',
};

export const iri = (term: string | undefined, description: string) =>
  Type.String({ ...IRI, ...meaning(term, description) });

/** Contexts in the order in which they are applied. */
export const contexts = (description: string) =>
  Type.Immutable(Type.Array(Type.String(IRI), { minItems: 1, maxItems: 4, description }));

export const wholeNumber = (term: string, description: string, minimum = 0) =>
  Type.Integer({
    minimum,
    'x-expected': `a whole number, at least ${minimum}`,
    'x-type': 'xsd:integer',
    ...meaning(term, description),
  });

/** True, or absent. */
export const flag = (term: string, description: string) =>
  Type.Literal(true, {
    'x-expected': 'true',
    'x-type': 'xsd:boolean',
    ...meaning(term, description),
  });

export const decimal = (term: string, description: string) =>
  Type.String({
    ...TEXT,
    pattern: WRITTEN_DECIMAL_PATTERN,
    'x-expected': 'a plain decimal',
    'x-type': 'xsd:decimal',
    ...meaning(term, description),
  });

/** UTC with its milliseconds, of a day that the calendar has: texts of one length, in the order of the times. */
export const time = (term: string | undefined, description: string) =>
  Type.String({
    format: 'date-time',
    pattern:
      '^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z$',
    'x-expected': 'a UTC time such as 2026-11-20T09:38:04.123Z',
    'x-type': 'xsd:dateTime',
    ...meaning(term, description),
  });

/** Whole seconds as an ISO 8601 duration, at least one, and no other. */
export const duration = (term: string, description: string) =>
  Type.String({
    ...TEXT,
    pattern: '^PT[1-9][0-9]{0,5}S$',
    'x-expected': 'seconds as PT10S',
    'x-type': 'xsd:duration',
    ...meaning(term, description),
  });

export const digest = (term: string, description: string) =>
  Type.String({
    pattern: MULTIHASH_PATTERN,
    'x-expected': 'a SHA-256 multihash in base64url multibase',
    'x-type': 'sec:multibase',
    ...meaning(term, description),
  });

export const salt = (term: string, description: string) =>
  Type.String({
    pattern: SALT_PATTERN,
    'x-expected': '16 bytes in base64url multibase',
    'x-type': 'sec:multibase',
    ...meaning(term, description),
  });

/** One of these texts. */
export const oneOf = <const V extends string[]>(
  term: string,
  values: readonly [...V],
  description: string,
) => Type.Enum(values, { 'x-type': 'xsd:string', ...meaning(term, description) });

/** A usage record has eight fields. */
const RECORD_FIELDS_MAX = 32;

/** A flat record of text and whole numbers under names in lower case. */
export const carriedRecord = (term: string, description: string) =>
  Type.Immutable(
    Type.Record(Type.String(), Type.Union([Type.String(TEXT), Type.Integer()]), {
      minProperties: 1,
      maxProperties: RECORD_FIELDS_MAX,
      propertyNames: {
        type: 'string',
        pattern: '^[a-z][a-z0-9_]{0,63}$',
        'x-expected': 'a name in lower case',
      },
      'x-expected': `a record of 1 to ${RECORD_FIELDS_MAX} fields, text and whole numbers`,
      'x-type': '@json',
      ...meaning(term, description),
    }),
  );

/** One of these names, each of which is an IRI as linked data. */
export const named = <const N extends string>(
  term: string | undefined,
  names: Readonly<Record<N, string>>,
  description: string,
) =>
  Type.Enum(Object.keys(names) as N[], {
    'x-type': '@vocab',
    'x-values': names,
    ...meaning(term, description),
  });

/** Names that are terms of our own vocabulary, for `named`. */
export const own = <const N extends string>(names: readonly N[]) =>
  Object.fromEntries(names.map((name) => [name, `docket:${name}`])) as Record<N, string>;

/** The `type` of a node: all of these classes, in this order. */
export const classes = <const N extends string[]>(
  names: readonly [...N],
  iris: Readonly<Record<N[number], string>>,
) =>
  Type.Unsafe<N>({
    type: 'array',
    const: names,
    description: 'what it is in PROV-O, and here',
    'x-type': '@vocab',
    'x-values': iris,
  });

/** The `type` of a node of one class. */
export const oneClass = <const N extends string>(name: N, is: string) =>
  Type.Literal(name, {
    description: 'what it is',
    'x-type': '@vocab',
    'x-values': { [name]: is },
  });

/** An object with these fields and no others. */
export const node = <P extends TProperties>(fields: P, more: Described & { title?: string } = {}) =>
  Type.Object(fields, { additionalProperties: false, ...more });

/** A field that is there under this condition alone. */
export const when = <S extends TSchema>(condition: Condition, schema: S) =>
  Type.Optional(Object.assign(schema, { 'x-when': condition }));

function meaning(term: string | undefined, description: string): Described {
  return term === undefined ? { description } : { description, 'x-term': term };
}

/** What a quantity is. */
export const quantityKind = () =>
  named(
    'qudt:hasQuantityKind',
    {
      energy: 'quantitykind:Energy',
      gwp: 'docket:GlobalWarmingPotential100',
      water: 'docket:WaterConsumption',
      adpe: 'docket:AbioticDepletionOfElements',
      adpf: 'docket:AbioticDepletionOfFossilFuels',
    } satisfies Record<QuantityName, string>,
    '`energy`: electricity, data centre overhead included; `gwp`: greenhouse gas over 100 years; `water`: consumed on site and for the electricity; `adpe`: depletion of minerals and metals; `adpf`: depletion of fossil energy',
  );

/** The unit of a quantity. */
export const unit = () =>
  named(
    'qudt:hasUnit',
    {
      kWh: 'unit:KiloW-HR',
      kgCO2e: 'docket:KilogramCarbonDioxideEquivalent',
      L: 'unit:L',
      kgSbe: 'docket:KilogramAntimonyEquivalent',
      MJ: 'unit:MegaJ',
    } satisfies Record<(typeof QUANTITY_UNITS)[QuantityName], string>,
    `each kind has one: ${Object.entries(QUANTITY_UNITS)
      .map(([kind, its]) => `${kind} ${its}`)
      .join(', ')}`,
  );

/** A field with a condition: where it stands, and which. */
export interface ConditionalField {
  /** The field of the document that holds it; undefined at the top. */
  holder: string | undefined;
  field: string;
  path: string;
  condition: Condition;
}

/** The fields of a document, and of its objects, that have a condition; those at the top first. */
export function conditionalFields(document: TObject): ConditionalField[] {
  const top = conditionalIn(document, undefined);
  const nested = Object.entries(document.properties).flatMap(([holder, schema]) =>
    Type.IsObject(schema) ? conditionalIn(schema, holder) : [],
  );
  return [...top, ...nested];
}

function conditionalIn({ properties }: TObject, holder: string | undefined): ConditionalField[] {
  return Object.entries(properties as Record<string, Described>).flatMap(([field, schema]) => {
    const condition = schema['x-when'];
    if (condition === undefined) return [];
    return { holder, field, condition, path: holder === undefined ? field : `${holder}.${field}` };
  });
}
