import type { TSchema } from 'typebox';
import { fillIn } from '#shared/kernel/errors.ts';
import { codeRow, type DocumentedCode } from '#shared/kernel/error-codes.ts';
import { type Components, mapValues, reference } from './components.ts';
import type { DocumentedRoute } from './documented-routes.ts';
import type {
  Example,
  JsonSchema,
  MediaType,
  Operation,
  Parameter,
  Response,
} from './document-shape.ts';
import type { HeaderName } from './headers.ts';
import type { AnswerNote, OperationNotes } from './operation-notes.ts';
import { ErrorEnvelope } from './schemas/answers.ts';

export const SECURITY_SCHEME = 'apiKey';

/** One operation: what its route declares, and what its notes say. */
export function describeOperation(
  route: DocumentedRoute,
  notes: OperationNotes,
  components: Components,
): Operation {
  const { scope, schema } = route;
  const parameters = parametersOf(route, notes, components);
  const body = notes.body ?? schema.body;
  const demand = scope === 'any' ? [] : [scope];
  return {
    operationId: notes.operationId,
    tags: [notes.tag],
    summary: notes.summary,
    description: notes.description,
    security: scope === 'public' ? [] : [{ [SECURITY_SCHEME]: demand }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: notes.bodyOptional !== true,
            content: {
              'application/json': {
                schema: components.place(body as object),
                ...examplesOf(notes.requests ?? {}),
              },
            },
          },
        }),
    responses: {
      ...answersOf(route, notes, components),
      ...refusalsOf(errorsOf(route, notes, body !== undefined), components),
    },
  };
}

function answersOf(
  { schema }: DocumentedRoute,
  notes: OperationNotes,
  components: Components,
): Record<string, Response> {
  const declared = (schema.response ?? {}) as Record<string, TSchema>;
  return mapValues(notes.answers as Record<string, AnswerNote>, (answer, status) => ({
    description: answer.description,
    headers: headersOf(['x-request-id', ...(answer.headers ?? [])]),
    ...(answer.content === undefined
      ? {}
      : {
          content: mapValues(answer.content, ({ schema: noted, examples }): MediaType => {
            const own = noted ?? declared[status];
            if (own === undefined) throw new Error(`${notes.operationId}: no schema of ${status}`);
            return { schema: components.place(own), ...examplesOf(examples) };
          }),
        }),
  }));
}

/** The codes that an operation can answer with; those that follow from what it is come first. */
function errorsOf(
  { scope }: DocumentedRoute,
  notes: OperationNotes,
  hasBody: boolean,
): readonly DocumentedCode[] {
  const keyed: DocumentedCode[] = ['invalid_api_key', 'revoked_api_key', 'expired_api_key'];
  return [
    ...(scope === 'public' ? [] : [...keyed, 'customer_suspended' as const]),
    ...(scope === 'public' || scope === 'any' ? [] : ['insufficient_scope' as const]),
    ...(hasBody ? (['invalid_json', 'request_too_large', 'invalid_content_type'] as const) : []),
    'invalid_url',
    ...(notes.errors ?? []),
    'internal_error',
  ];
}

function refusalsOf(
  codes: readonly DocumentedCode[],
  components: Components,
): Record<string, Response> {
  const byStatus = Map.groupBy([...new Set(codes)], (code) => codeRow(code).status);
  return Object.fromEntries(
    [...byStatus].map(([status, ofStatus]): [string, Response] => [
      String(status),
      {
        description: ofStatus.map((code) => `\`${code}\`: ${codeRow(code).when}`).join('\n\n'),
        headers: headersOf([
          'x-request-id',
          'x-should-retry',
          ...(ofStatus.every((code) => codeRow(code).retryAfterMs !== undefined)
            ? (['retry-after', 'retry-after-ms'] as const)
            : []),
        ]),
        content: {
          'application/json': {
            schema: components.place(ErrorEnvelope),
            examples: Object.fromEntries(
              ofStatus.map((code) => [code, reference('examples', code)]),
            ),
          },
        },
      },
    ]),
  );
}

/** The envelope of a code, as an example. */
export function errorExample(code: DocumentedCode): Example {
  const { type, when, param = null, message, sample = {}, example } = codeRow(code);
  const shown = example ?? fillIn(message!, sample);
  return { summary: when, value: { error: { code, type, message: shown, param } } };
}

function headersOf(names: readonly HeaderName[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, reference('headers', name)]));
}

function examplesOf(examples: Readonly<Record<string, unknown>>): {
  examples?: Record<string, Example>;
} {
  if (Object.keys(examples).length === 0) return {};
  return {
    // Names of examples are keys of components: letters, digits and dashes alone.
    examples: Object.fromEntries(
      Object.entries(examples).map(([name, value]) => [
        name.replaceAll(/[^A-Za-z0-9]+/g, '-'),
        { summary: name, value },
      ]),
    ),
  };
}

const REQUEST_HEADERS: Readonly<Record<string, Omit<Parameter, 'name' | 'in' | 'required'>>> = {
  'Idempotency-Key': {
    description:
      'Yours, the same for every retry of a request; a UUID is best. An identical request within 24 hours gets the stored answer and the same receipt.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
    example: '0b5a3d6e-4f7c-4c47-9f0e-6a2f7f1f5c11',
  },
  'x-region': {
    description: 'Pins the request to a region, as the body’s `region` does.',
    schema: { type: 'string' },
    example: 'eu-west',
  },
  Range: {
    description: 'A part of the file, in bytes.',
    schema: { type: 'string', pattern: '^bytes=' },
    example: 'bytes=0-1048575',
  },
};

function parametersOf(
  { schema }: DocumentedRoute,
  notes: OperationNotes,
  components: Components,
): Parameter[] {
  const path = Object.entries(notes.path ?? {}).map(([name, { description, example }]) => ({
    name,
    in: 'path' as const,
    required: true,
    description,
    schema: { type: 'string' },
    example,
  }));
  const headers = (notes.headers ?? []).map((name) => ({
    name,
    in: 'header' as const,
    required: false,
    ...REQUEST_HEADERS[name]!,
  }));
  return [...path, ...headers, ...queryOf(schema.querystring, components)];
}

function queryOf(schema: unknown, components: Components): Parameter[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = components.place(schema as object) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: 'query',
    // What has a default may be left out.
    required: required.includes(name) && rest['default'] === undefined,
    ...(typeof description === 'string' ? { description } : {}),
    schema: rest,
  }));
}
