/**
 * The JSON-LD context of receipts, made from their description: `node dev/receipt-context.ts` writes it under the name
 * that holds its hash.
 */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Described } from '#shared/receipts/fields.ts';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';
import { PREFIXES } from './receipt-shapes.ts';

type Field = Described & Readonly<Record<string, unknown>>;

/** `docket:model` in full. */
function absolute(compact: string): string {
  const [prefix = '', name = ''] = compact.split(':');
  return PREFIXES[prefix as keyof typeof PREFIXES] + name;
}

/**
 * Every term at the top: a processor that applies one context by type to a node, and none by property, reads the same
 * triples as any other. Terms of the base context of Verifiable Credentials are left to it.
 */
export function receiptContext(description: unknown): object {
  const terms = new Map<string, unknown>();
  const define = (name: string, definition: unknown): void => {
    const known = terms.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(definition)) {
      throw new Error(`${name} means two things`);
    }
    terms.set(name, definition);
  };
  const visit = (field: Field): void => {
    for (const [name, iri] of Object.entries(field['x-values'] ?? {})) {
      if (!iri.startsWith('cred:')) define(name, absolute(iri));
    }
    for (const [name, inner] of Object.entries(
      (field['properties'] as Record<string, Field>) ?? {},
    )) {
      const term = inner['x-term'];
      const known = term === undefined || term.startsWith('cred:') || term === 'schema:name';
      if (!known) define(name, definitionOf(absolute(term), (inner['items'] as Field) ?? inner));
      visit((inner['items'] as Field) ?? inner);
    }
  };
  visit(description as Field);
  const sorted = Object.fromEntries([...terms].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { '@context': { '@version': 1.1, '@protected': true, ...sorted } };
}

function definitionOf(id: string, field: Field): unknown {
  const type = field['x-type'];
  if (type === '@id' || type === '@vocab' || type === '@json') return { '@id': id, '@type': type };
  // JSON-LD gives texts, whole numbers and truth values no type.
  if (type === undefined || UNTYPED.has(type)) return id;
  return { '@id': id, '@type': absolute(type) };
}

const UNTYPED: ReadonlySet<string> = new Set(['xsd:boolean', 'xsd:integer', 'xsd:string']);

if (import.meta.main) {
  const text = `${JSON.stringify(receiptContext(FORMAT_1), null, 2)}\n`;
  const name = `docket-receipt-${hash('sha256', text, 'base64url')}.jsonld`;
  writeFileSync(new URL(`../shared/receipts/contexts/${name}`, import.meta.url), text);
  console.log(name);
}
