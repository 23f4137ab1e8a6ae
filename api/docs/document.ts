import { CODES, type DocumentedCode } from '#shared/kernel/error-codes.ts';
import { nextTurn } from '#shared/kernel/turns.ts';
import { Components } from './components.ts';
import type { ApiDocument, JsonSchema } from './document-shape.ts';
import {
  describeOperation,
  errorExample,
  HEADER_SCHEME,
  pathOf,
  SECURITY_SCHEME,
} from './describe-operation.ts';
import { HEADERS } from './headers.ts';
import { introduction, type IntroductionOptions } from './introduction.ts';
import { type DeclaredOperation, TAGS } from './operation.ts';

export interface DescriptionOptions extends IntroductionOptions {
  version: string;
}

/** What a description says of its interface, beside the operations. */
export interface Interface {
  info: Pick<ApiDocument['info'], 'title' | 'version' | 'summary' | 'description'> & JsonSchema;
  servers: ApiDocument['servers'];
  /** What opens it, by the name under which operations ask for it. */
  securitySchemes: ApiDocument['components']['securitySchemes'];
}

/** OpenAPI 3.1 of the public interface. */
export function describeApi(
  operations: readonly DeclaredOperation[],
  options: DescriptionOptions,
): Promise<ApiDocument> {
  return describeInterface(operations, {
    info: {
      title: 'Docket',
      version: options.version,
      summary: 'Inference with a signed receipt for every answer',
      description: introduction(options),
      contact: { email: options.supportEmail },
    },
    servers: [{ url: options.publicUrl, description: 'This service' }],
    securitySchemes: {
      [SECURITY_SCHEME]: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'dkt_ and 38 letters or digits',
        description: 'A key of your organisation. What each operation demands is named beside it.',
      },
      [HEADER_SCHEME]: {
        type: 'apiKey',
        in: 'header',
        name: 'x-api-key',
        description: 'The same key, as Anthropic’s clients send it.',
      },
    },
  });
}

/**
 * OpenAPI 3.1 of these operations, made from the schemas that validate and serialise, and one in a turn: requests are answered
 * meanwhile.
 */
export async function describeInterface(
  operations: readonly DeclaredOperation[],
  { info, servers, securitySchemes }: Interface,
): Promise<ApiDocument> {
  const components = new Components();
  const paths: ApiDocument['paths'] = {};
  for (const declared of operations) {
    await nextTurn();
    const path = pathOf(declared);
    paths[path] = { ...paths[path], [declared.method]: describeOperation(declared, components) };
  }
  return {
    openapi: '3.1.1',
    info: { ...info, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers,
    tags: Object.entries(TAGS)
      .filter(([tag]) => usedTags(paths).has(tag))
      .map(([name, description]) => ({ name, description })),
    security: [{ [SECURITY_SCHEME]: [] }],
    paths: inOrderOfTags(paths),
    components: {
      securitySchemes,
      schemas: components.all(),
      headers: HEADERS,
      examples: Object.fromEntries(usedCodes(paths).map((code) => [code, errorExample(code)])),
    },
  };
}

/** The codes that any operation names. */
function usedCodes(paths: ApiDocument['paths']): DocumentedCode[] {
  const responses = Object.values(paths)
    .flatMap((item) => Object.values(item))
    .flatMap((operation) => Object.entries(operation.responses))
    .filter(([status]) => status >= '400');
  const codes = responses.flatMap(([, { content }]) =>
    Object.keys(content?.['application/json']?.examples ?? {}).filter((code) => code in CODES),
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
