import type { ApiDocument, JsonSchema } from '../document-shape.ts';
import { ERRORS } from './errors.ts';

/** What the search of the page finds. Names are short, because the whole index is one small file. */
interface Entry {
  /** The title that is shown. */
  t: string;
  /** What it is: shown beside it. */
  k: 'section' | 'operation' | 'error' | 'field' | 'header';
  /** Its address; of a place on the page, the anchor. */
  a: string;
  /** Further words by which it is found. */
  w: string;
}

/** Everything on the page that a reader may look for by name, in the order in which equals are shown. */
export function searchIndex(
  document: ApiDocument,
  sections: readonly { title: string; id: string; text: string }[],
): Entry[] {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );
  const fields = new Map<string, Entry>();
  for (const { operation } of operations) {
    const { parameters = [], requestBody } = operation;
    const body = membersOf(document, requestBody?.content['application/json']?.schema ?? {});
    const named = [
      ...parameters.map(({ name, description = '' }) => [name, description] as const),
      ...Object.entries(body).map(([name, { description = '' }]) => [name, description] as const),
    ];
    for (const [name, description] of named) {
      const key = `${name} ${operation.operationId}`;
      const words = `${operation.summary} ${String(description)}`;
      if (!fields.has(key))
        fields.set(key, { t: name, k: 'field', a: operation.operationId, w: words });
    }
  }
  return [
    ...operations.map(({ path, method, operation }): Entry => ({
      t: operation.summary,
      k: 'operation',
      a: operation.operationId,
      w: `${method.toUpperCase()} ${path} ${operation.operationId} ${operation.tags.join(' ')} ${operation.description ?? ''}`,
    })),
    ...sections.map(({ title, id, text }): Entry => ({ t: title, k: 'section', a: id, w: text })),
    ...ERRORS.map(({ code, anchor, type, status, when, advice }): Entry => ({
      t: code,
      k: 'error',
      a: anchor,
      w: `${status} ${type} ${when} ${advice}`,
    })),
    ...headersOf(operations),
    ...fields.values(),
  ].map((entry) => ({ ...entry, w: entry.w.replaceAll(/[`*\s]+/g, ' ').trim() }));

  function headersOf(all: typeof operations): Entry[] {
    // Each header where it is first met.
    const found = new Map<string, Entry>();
    for (const { operation } of all) {
      for (const { headers = {} } of Object.values(operation.responses)) {
        for (const name of Object.keys(headers)) {
          const { description } = document.components.headers[name]!;
          if (!found.has(name)) {
            found.set(name, { t: name, k: 'header', a: operation.operationId, w: description });
          }
        }
      }
    }
    return [...found.values()];
  }
}

function membersOf(document: ApiDocument, schema: JsonSchema): Record<string, JsonSchema> {
  const { $ref, properties = {} } = schema as { $ref?: string; properties?: object };
  if ($ref === undefined) return properties as Record<string, JsonSchema>;
  return membersOf(document, document.components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]!);
}
