/**
 * The SHACL shapes of receipts, made from their description: `node dev/receipt-shapes.ts` writes those of the format in
 * which receipts are issued. Packs pin their bytes, so their digest in shared/packs/shapes.ts and verify.py goes with them.
 */
import { writeFileSync } from 'node:fs';
import type { TObject } from 'typebox';
import type { Described } from '#shared/receipts/fields.ts';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';
import { PLANS } from '#shared/kernel/plan.ts';

/** What compact IRIs of descriptions begin with. */
export const PREFIXES = {
  cred: 'https://www.w3.org/2018/credentials#',
  dcterms: 'http://purl.org/dc/terms/',
  docket: 'urn:docket:vocabulary#',
  prov: 'http://www.w3.org/ns/prov#',
  qudt: 'http://qudt.org/schema/qudt/',
  quantitykind: 'http://qudt.org/vocab/quantitykind/',
  schema: 'https://schema.org/',
  sec: 'https://w3id.org/security#',
  sh: 'http://www.w3.org/ns/shacl#',
  unit: 'http://qudt.org/vocab/unit/',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
} as const;

/** The terms in which shapes are written. */
const SHACL_CONTEXT = {
  '@version': 1.1,
  ...PREFIXES,
  class: { '@id': 'sh:class', '@type': '@id' },
  datatype: { '@id': 'sh:datatype', '@type': '@id' },
  in: { '@id': 'sh:in', '@container': '@list' },
  inIris: { '@id': 'sh:in', '@type': '@id', '@container': '@list' },
  lessThanOrEquals: { '@id': 'sh:lessThanOrEquals', '@type': '@id' },
  max: 'sh:maxCount',
  message: 'sh:message',
  min: 'sh:minCount',
  minInclusive: 'sh:minInclusive',
  node: { '@id': 'sh:node', '@type': '@id' },
  nodeKind: { '@id': 'sh:nodeKind', '@type': '@id' },
  or: { '@id': 'sh:or', '@container': '@list' },
  path: { '@id': 'sh:path', '@type': '@id' },
  pattern: 'sh:pattern',
  property: { '@id': 'sh:property', '@container': '@set' },
  targetClass: { '@id': 'sh:targetClass', '@type': '@id' },
};

const RDF = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#';

type Constraint = Readonly<Record<string, unknown>>;
type Field = Described & Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, Field>>;

/** A shape, or what it says of one property. */
export interface Shape extends Constraint {
  property?: readonly Constraint[];
}

/** The shapes of signed receipts of this description, as JSON-LD. */
export function receiptShapes(receipt: TObject): { '@context': object; '@graph': Shape[] } {
  const graph: Shape[] = [];
  addShape(receipt as unknown as Field, graph);
  const [whole, ...parts] = graph;
  return {
    '@context': SHACL_CONTEXT,
    '@graph': [
      { ...whole, ...HAS_ESTIMATE, property: [...whole!.property!, PROOF] },
      revisedShape(fieldsOf(receipt as unknown as Field)),
      ...parts,
    ],
  };
}

const PROOF = { path: 'sec:proof', min: 1, max: 1 };

/** What came to no answer, and has neither an estimate nor why there is none. */
function withoutEstimate(
  subject: readonly Constraint[],
  ofAnswers: readonly string[] = ['outputTokens', 'responseDigest', 'usageSource'],
): Constraint {
  return {
    property: [
      { path: 'docket:degradation', max: 0 },
      { path: 'docket:measurement', max: 0 },
      {
        path: 'cred:credentialSubject',
        node: {
          property: [...subject, ...ofAnswers.map((name) => ({ path: `docket:${name}`, max: 0 }))],
        },
      },
    ],
  };
}

const HAS_ESTIMATE = {
  message:
    'A receipt has an estimate, or says why it has none, or the request failed or was refused.',
  or: [
    {
      property: [
        { path: 'docket:measurement', min: 1 },
        { path: 'docket:degradation', max: 0 },
        { path: 'docket:tier', in: PLANS },
      ],
    },
    {
      property: [
        { path: 'docket:degradation', min: 1 },
        { path: 'docket:explanation', min: 1 },
        { path: 'docket:measurement', max: 0 },
        { path: 'docket:tier', in: ['degraded'] },
      ],
    },
    withoutEstimate([
      { path: 'docket:outcome', inIris: ['docket:refused'] },
      { path: 'docket:policy', min: 1 },
      { path: 'docket:attempts', max: 0 },
      { path: 'docket:failure', max: 0 },
      { path: 'docket:inputTokens', max: 0 },
    ]),
    withoutEstimate([
      { path: 'docket:outcome', inIris: ['docket:failed'] },
      { path: 'docket:failure', min: 1 },
      { path: 'docket:attempts', min: 1, minInclusive: 1 },
      { path: 'docket:policy', max: 0 },
    ]),
  ],
};

/** What no single field says. */
const BETWEEN_FIELDS: Readonly<Record<string, Constraint>> = {
  'cred:issuer': { pattern: '^did:web:' },
  'qudt:lowerBound': { lessThanOrEquals: 'qudt:numericValue' },
  'qudt:numericValue': { lessThanOrEquals: 'qudt:upperBound' },
};

function revisedShape(fields: Fields): Shape {
  const onRevisions = Object.values(fields).filter((field) => field['x-when'] === 'revision');
  return {
    '@id': 'docket:RecalculatedReceiptShape',
    '@type': 'sh:NodeShape',
    targetClass: 'docket:RecalculatedReceipt',
    property: onRevisions.map((field) => ({ path: field['x-term'], min: 1 })),
  };
}

function addShape(schema: Field, graph: Shape[]): void {
  const id = schema['x-shape'];
  if (id !== undefined) {
    const fields = fieldsOf(schema);
    const required = schema['required'] as readonly string[];
    graph.push({
      '@id': id,
      '@type': 'sh:NodeShape',
      ...classesOf(fields),
      property: Object.entries(fields).flatMap(([name, field]) =>
        propertyOf(name, field, required.includes(name)),
      ),
    });
  }
  for (const field of Object.values(fieldsOf(schema))) addShape(itemOf(field), graph);
}

/** Nodes of several classes are found by the one of ours that all of them have; those of one class by their address. */
function classesOf({ id, type }: Fields): Constraint {
  if (id !== undefined && typeof type?.['const'] === 'string') return { nodeKind: 'sh:IRI' };
  const names = type?.['const'] ?? (type?.['enum'] as unknown[] | undefined)?.[0];
  if (!Array.isArray(names)) return {};
  const classes = names.map((name: string) => type!['x-values']![name]!);
  const [first] = classes;
  return {
    targetClass: classes.find((name) => name.startsWith('docket:')),
    ...(first === 'prov:Activity' ? { class: first } : {}),
  };
}

function propertyOf(name: string, field: Field, required: boolean): Constraint[] {
  const list = field['type'] === 'array' && field['items'] !== undefined;
  const path = name === 'type' && isOneOf(field) ? `${RDF}type` : field['x-term'];
  if (path === undefined) return [];
  const least = list ? field['minItems'] : required ? 1 : undefined;
  return [
    {
      path,
      ...(least === undefined ? {} : { min: least }),
      max: list ? field['maxItems'] : 1,
      ...valueOf(itemOf(field)),
      ...BETWEEN_FIELDS[path],
    },
  ];
}

function valueOf(field: Field): Constraint {
  const type = field['x-type'];
  if (field['type'] === 'object' && type === undefined) {
    const node = fieldsOf(field)['type'];
    const oneClass = typeof node?.['const'] === 'string' ? node['x-values']![node['const']] : null;
    return {
      ...(oneClass === null ? {} : { class: oneClass }),
      ...(field['x-shape'] === undefined ? {} : { node: field['x-shape'] }),
    };
  }
  if (type === '@id') return { nodeKind: 'sh:IRI' };
  if (type === '@json') return { datatype: `${RDF}JSON` };
  if (type === '@vocab') return { inIris: Object.values(field['x-values'] ?? {}) };
  if (isOneOf(field)) return { in: field['enum'] };
  const start = type === 'sec:multibase' ? /^\^\w+/.exec(String(field['pattern']))?.[0] : undefined;
  const least = type === 'xsd:decimal' ? 0 : field['minimum'];
  return {
    datatype: type,
    ...(start === undefined ? {} : { pattern: start }),
    ...(least === undefined ? {} : { minInclusive: least }),
  };
}

function isOneOf(field: Field): boolean {
  const values = field['enum'];
  return Array.isArray(values) && !Array.isArray(values[0]);
}

function itemOf(field: Field): Field {
  return (field['items'] as Field | undefined) ?? field;
}

function fieldsOf(schema: Field): Fields {
  return (schema['properties'] as Fields | undefined) ?? {};
}

if (import.meta.main) {
  const text = `${JSON.stringify(receiptShapes(FORMAT_1), null, 2)}\n`;
  writeFileSync(
    new URL('../shared/receipts/contexts/docket-receipt-shapes.jsonld', import.meta.url),
    text,
  );
}
