import type { DocumentedCode } from '#shared/kernel/error-codes.ts';
import { Components } from './components.ts';
import type { DocumentedRoute } from './documented-routes.ts';
import type { ApiDocument, Method, Operation } from './document-shape.ts';
import { errorExample, describeOperation, SECURITY_SCHEME } from './operation.ts';
import { HEADERS } from './headers.ts';
import { introduction } from './introduction.ts';
import { type OperationNotes, TAGS } from './operation-notes.ts';
import { ADMINISTRATION_OPERATIONS } from './operations/administration.ts';
import { ANCHOR_OPERATIONS } from './operations/anchor.ts';
import { EVIDENCE_OPERATIONS } from './operations/evidence.ts';
import { EXPORT_OPERATIONS } from './operations/exports.ts';
import { INFERENCE_OPERATIONS } from './operations/inference.ts';
import { PUBLIC_OPERATIONS } from './operations/public.ts';
import { RECORD_OPERATIONS } from './operations/records.ts';

/** By `METHOD /path/{of}/document`. */
const OPERATION_NOTES: Readonly<Record<string, OperationNotes>> = {
  ...INFERENCE_OPERATIONS,
  ...RECORD_OPERATIONS,
  ...ANCHOR_OPERATIONS,
  ...EVIDENCE_OPERATIONS,
  ...EXPORT_OPERATIONS,
  ...ADMINISTRATION_OPERATIONS,
  ...PUBLIC_OPERATIONS,
};

export interface DescriptionOptions {
  /** Where callers reach the service. */
  publicUrl: string;
  supportEmail: string;
  version: string;
}

/** OpenAPI 3.1 of these routes, made from the schemas that validate. @throws Error for a route without notes. */
export function describeApi(
  routes: readonly DocumentedRoute[],
  options: DescriptionOptions,
): ApiDocument {
  const components = new Components();
  const paths: ApiDocument['paths'] = {};
  for (const route of routes) {
    const [path, notes] = notesOf(route);
    const operation: Operation = describeOperation(route, notes, components);
    paths[path] = { ...paths[path], [route.method]: operation };
  }
  expectNoOther(paths);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Docket',
      version: options.version,
      summary: 'Inference with a signed receipt for every answer',
      description: introduction(options.publicUrl, options.supportEmail),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { email: options.supportEmail },
    },
    servers: [{ url: options.publicUrl, description: 'This service' }],
    tags: Object.entries(TAGS)
      .filter(([tag]) => usedTags(paths).has(tag))
      .map(([name, description]) => ({ name, description })),
    security: [{ [SECURITY_SCHEME]: [] }],
    paths: inOrderOfTags(paths),
    components: {
      securitySchemes: {
        [SECURITY_SCHEME]: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'dkt_ and 38 letters or digits',
          description:
            'A key of your organisation. What each operation demands is named beside it.',
        },
      },
      schemas: components.all(),
      headers: HEADERS,
      examples: Object.fromEntries(usedCodes(paths).map((code) => [code, errorExample(code)])),
    },
  };
}

/**
 * The path as the document writes it, and its notes. How a part of a path is called is the notes' to choose.
 * @throws Error for a route that nobody has described
 */
function notesOf({ method, url }: DocumentedRoute): [string, OperationNotes] {
  const wanted = anonymous(`${method.toUpperCase()} ${url.replaceAll(/:[^/]+|\*/g, '{}')}`);
  const found = Object.entries(OPERATION_NOTES).find(([key]) => anonymous(key) === wanted);
  if (found === undefined) throw new Error(`the route ${wanted} is not described in api/openapi`);
  return [found[0].slice(found[0].indexOf(' ') + 1), found[1]];
}

/** @throws Error for notes whose route is gone */
function expectNoOther(paths: ApiDocument['paths']): void {
  for (const key of Object.keys(OPERATION_NOTES)) {
    const [method = '', path = ''] = key.split(' ');
    if (paths[path]?.[method.toLowerCase() as Method] === undefined) {
      throw new Error(`api/openapi describes ${key}, which is no route`);
    }
  }
}

function anonymous(path: string): string {
  return path.replaceAll(/\{\w*\}/g, '{}');
}

/** The codes that any operation names. */
function usedCodes(paths: ApiDocument['paths']): DocumentedCode[] {
  const responses = Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap((operation) => Object.entries(operation.responses))
    .filter(([status]) => status >= '400');
  const codes = responses.flatMap(([, { content }]) =>
    Object.keys(content?.['application/json']?.examples ?? {}),
  );
  return [...new Set(codes)].toSorted() as DocumentedCode[];
}

function usedTags(paths: ApiDocument['paths']): Set<string> {
  return new Set(
    Object.values(paths).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags)),
  );
}

function inOrderOfTags(paths: ApiDocument['paths']): ApiDocument['paths'] {
  const tags = Object.keys(TAGS);
  const rank = (item: ApiDocument['paths'][string]): number =>
    tags.indexOf(Object.values(item)[0]?.tags[0] ?? '');
  return Object.fromEntries(Object.entries(paths).toSorted(([, a], [, b]) => rank(a) - rank(b)));
}
