import type { TObject } from 'typebox';
import { PREFIXES } from '#dev/receipt-shapes.ts';
import { contextDocument } from '#shared/packs/files/contexts.ts';
import { VC_CONTEXT_URL } from '#shared/receipts/context.ts';
import type { Described } from '#shared/receipts/fields.ts';

type Field = Described & Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, Field>>;
type Node = Readonly<Record<string, unknown>>;

/** Serves contexts to JSON-LD processors from the repository alone. */
export async function offline(url: string): Promise<{ documentUrl: string; document: object }> {
  const name =
    url === VC_CONTEXT_URL ? 'credentials-v2.jsonld' : url.slice(url.lastIndexOf('/') + 1);
  const bytes = contextDocument(name);
  if (bytes === undefined) throw new Error(`Not available offline: ${url}`);
  return { documentUrl: url, document: JSON.parse(bytes.toString()) as object };
}

/** `docket:model` in full. */
function absolute(compact: string): string {
  const [prefix = '', name = ''] = compact.split(':');
  const root = PREFIXES[prefix as keyof typeof PREFIXES];
  if (root === undefined) throw new Error(`no prefix ${prefix}`);
  return root + name;
}

/** A document as its description says it is to be expanded (JSON-LD 1.1, 5.1): what a processor must make of it. */
export function expandedBy(description: TObject, document: object): Node {
  return expandedNode(description as unknown as Field, document as Node);
}

function expandedNode(schema: Field, node: Node): Node {
  const expanded: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema['properties'] as Fields)) {
    const value = node[name];
    const term = field['x-term'];
    if (value === undefined) continue;
    if (name === 'id') expanded['@id'] = value;
    if (name === 'type') {
      expanded['@type'] = [value].flat().map((one) => iriOf(field, one));
    }
    if (term === undefined) continue;
    const items = field['items'] as Field | undefined;
    expanded[absolute(term)] = [value].flat().map((one) => expandedValue(items ?? field, one));
  }
  return expanded;
}

function expandedValue(field: Field, value: unknown): unknown {
  const type = field['x-type'];
  if (type === undefined) return expandedNode(field, value as Node);
  if (type === '@json') return { '@type': '@json', '@value': value };
  if (type === '@id') return { '@id': value };
  if (type === '@vocab') return { '@id': iriOf(field, value) };
  // JSON-LD gives texts, whole numbers and truth values no type.
  if (type === 'xsd:string' || type === 'xsd:integer' || type === 'xsd:boolean')
    return { '@value': value };
  return { '@type': absolute(type), '@value': value };
}

/** The IRI that a name stands for. */
function iriOf(field: Field, name: unknown): string {
  return absolute(field['x-values']![name as string]!);
}

/** Every name that a description gives to a field, a value or a class. */
export function namesIn(schema: unknown): Set<string> {
  const names = new Set<string>();
  const visit = (field: Field): void => {
    for (const name of Object.keys(field['x-values'] ?? {})) names.add(name);
    for (const [name, inner] of Object.entries((field['properties'] as Fields) ?? {})) {
      names.add(name);
      visit((inner['items'] as Field) ?? inner);
    }
  };
  visit(schema as Field);
  return names;
}

/** Every name that a context defines, those of contexts inside it too. */
export function termsIn(context: object): string[] {
  return Object.entries(context).flatMap(([name, definition]) => {
    if (name.startsWith('@')) return [];
    const inner = (definition as { '@context'?: object })['@context'];
    return [name, ...(inner === undefined ? [] : termsIn(inner))];
  });
}
