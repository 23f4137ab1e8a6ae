import { hash } from 'node:crypto';
import type { TSchema } from 'typebox';
import { codeRow, CODES, type DocumentedCode, type ErrorCode } from '#shared/kernel/error-codes.ts';
import { type Fault, fillIn } from '#shared/kernel/errors.ts';
import { schemaWords, type Schema } from '#shared/kernel/schema-words.ts';
import { codeOfDeclared } from '#api/plugins/reply-with-error.ts';
import {
  isOfMessages,
  MessageErrorEnvelope,
  messageEnvelopeOf,
  unknownModelStatus,
} from '#api/anthropic/error-envelope.ts';
import { ErrorEnvelope } from '#api/plugins/error-envelope.ts';
import { type Components, mapValues, reference } from './components.ts';
import type {
  Example,
  JsonSchema,
  MediaType,
  Operation,
  Parameter,
  Response,
} from './document-shape.ts';
import { type HeaderName, LIMIT_HEADERS, REQUEST_HEADERS } from './headers.ts';
import type { Answer, DeclaredOperation } from './operation.ts';

export const SECURITY_SCHEME = 'apiKey';
/** Where the key stands in a header that Anthropic's clients send. */
export const HEADER_SCHEME = 'apiKeyHeader';

/** The path as the description writes it: `/v1/keys/{id}`. */
export function pathOf({ url, schema }: DeclaredOperation): string {
  return url.replaceAll(/:(\w+)/g, '{$1}').replace('*', `{${schema.wildcard}}`);
}

function securityOf({ scope, takesApiKeyHeader }: DeclaredOperation): Operation['security'] {
  if (scope === 'public') return [];
  const scopes = scope === 'any' || scope === 'operator' ? [] : [scope];
  const schemes = takesApiKeyHeader ? [SECURITY_SCHEME, HEADER_SCHEME] : [SECURITY_SCHEME];
  return schemes.map((scheme) => ({ [scheme]: scopes }));
}

/** What a route declares, in the words of OpenAPI. */
export function describeOperation(declared: DeclaredOperation, components: Components): Operation {
  const { schema } = declared;
  const parameters = parametersOf(declared, components);
  const body = schema.rawBody ?? (schema.body as TSchema | undefined);
  return {
    operationId: schema.operationId,
    tags: [schema.tag],
    summary: schema.summary,
    description: schema.description,
    security: securityOf(declared),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: schema.bodyOptional !== true || hasRequired(body),
            content: {
              'application/json': {
                schema: components.place(body),
                ...examplesOf(schema.requests ?? {}),
              },
            },
          },
        }),
    responses: {
      ...mapValues(schema.response as Record<string, Answer>, (answer) =>
        describeAnswer(answer, components),
      ),
      ...refusalsOf(errorsOf(declared, body !== undefined), parameterRefusals(declared), {
        components,
        isInference: declared.isInference,
        isOfMessages: isOfMessages(declared.url),
      }),
    },
  };
}

function hasRequired(body: TSchema): boolean {
  const { required = [] } = body as { required?: readonly string[] };
  return required.length > 0;
}

function describeAnswer({ description, headers = [], content }: Answer, components: Components) {
  return {
    description,
    headers: headersOf(['x-request-id', ...headers]),
    ...(content === undefined
      ? {}
      : {
          content: mapValues(content, ({ schema, examples }): MediaType => ({
            schema: components.place(schema),
            ...examplesOf(examples),
          })),
        }),
  };
}

/** Before the key is known, and while Redis is away, there is nothing to say of limits. */
const OF_UNKNOWN_CALLERS: ReadonlySet<number> = new Set([401, 403, 500, 503]);

const OF_BODIES = [
  'invalid_json',
  'request_too_large',
  'invalid_content_type',
  'invalid_content_encoding',
] as const satisfies readonly DocumentedCode[];

/** The codes that an operation can answer with; those that follow from what it is come first. */
function errorsOf(declared: DeclaredOperation, hasBody: boolean): readonly ErrorCode[] {
  const { scope, asksNoStore, isCounted, schema } = declared;
  const ofParameters = declaredParameters(declared).map(([name]) => codeOfDeclared(name));
  const keyed: DocumentedCode[] =
    scope === 'operator'
      ? ['invalid_api_key']
      : ['invalid_api_key', 'revoked_api_key', 'expired_api_key', 'customer_suspended'];
  return [
    ...(scope === 'public' ? [] : keyed),
    ...(scope === 'public' || scope === 'any' ? [] : ['insufficient_scope' as const]),
    ...(hasBody ? OF_BODIES : []),
    'invalid_url',
    ...(isCounted ? (['requests_per_second_exceeded'] as const) : []),
    ...(hasBody || scope !== 'public' || !asksNoStore ? (['dispatch_unavailable'] as const) : []),
    ...(scope !== 'public' || !asksNoStore ? (['store_unavailable'] as const) : []),
    ...ofParameters.filter((code) => isDocumented(code)),
    ...(schema.errors ?? []),
    ...(schema.patternedErrors ?? []),
    'internal_error',
  ];
}

function isDocumented(code: string): code is DocumentedCode {
  return Object.hasOwn(CODES, code);
}

/** What a caller may choose, and a schema is held against: in the path, in the query and in the body. */
function declaredParameters({ schema }: DeclaredOperation): [string, Schema][] {
  return [schema.params, schema.querystring, schema.body].flatMap((part) => {
    const { properties = {} } = (part ?? {}) as { properties?: Record<string, Schema> };
    return Object.entries(properties).filter(([name]) => name !== '*');
  });
}

/** The refusals of parameters whose code has no row: what they say follows from the schema. */
function parameterRefusals(declared: DeclaredOperation): Record<string, Example> {
  const own = declaredParameters(declared).filter(([name]) => !isDocumented(codeOfDeclared(name)));
  return Object.fromEntries(
    own.map(([param, schema]): [string, Example] => {
      const [code, message] = [
        codeOfDeclared(param),
        `\`${param}\` must be ${schemaWords(schema)}.`,
      ];
      const error = { code, type: 'validation_error', message, param };
      return [code, { summary: message, value: { error } }];
    }),
  );
}

function refusalsOf(
  codes: readonly ErrorCode[],
  ofParameters: Record<string, Example>,
  {
    components,
    isInference,
    isOfMessages: isAnthropic,
  }: { components: Components; isInference: boolean; isOfMessages: boolean },
): Record<string, Response> {
  const exampleOf = isAnthropic
    ? messageErrorExample
    : (code: ErrorCode) => (isDocumented(code) ? reference('examples', code) : errorExample(code));
  const answered = [...new Set(codes)].flatMap((code) =>
    statusesOf(code, isAnthropic).map((status) => ({ code, status })),
  );
  const byStatus = Map.groupBy(answered, ({ status }) => status);
  return Object.fromEntries(
    [...byStatus]
      .map(([status, all]): [number, ErrorCode[]] => [status, all.map(({ code }) => code)])
      .map(([status, ofStatus]): [string, Response] => [
        String(status),
        {
          description: [
            ...ofStatus.map((code) => `\`${code}\`: ${codeRow(code).when}`),
            ...(status === 400 ? describedIn(ofParameters) : []),
          ].join('\n\n'),
          headers: headersOf([
            'x-request-id',
            'x-should-retry',
            ...(isInference && !OF_UNKNOWN_CALLERS.has(status) ? LIMIT_HEADERS : []),
            ...(ofStatus.every((code) => codeRow(code).retryAfterMs !== undefined)
              ? (['retry-after', 'retry-after-ms'] as const)
              : []),
          ]),
          content: {
            'application/json': {
              schema: components.place(isAnthropic ? MessageErrorEnvelope : ErrorEnvelope),
              examples: {
                ...Object.fromEntries(ofStatus.map((code) => [code, exampleOf(code, status)])),
                ...(status === 400 ? ofParameters : {}),
              },
            },
          },
        },
      ]),
  );
}

/** A model that is not there has a status of its own in Anthropic's interface; one that is none has not. */
function statusesOf(code: ErrorCode, isAnthropic: boolean): number[] {
  const { status } = codeRow(code);
  const another =
    isAnthropic && code === 'invalid_model' ? unknownModelStatus('messages') : undefined;
  return another === undefined ? [status] : [status, another];
}

function describedIn(refusals: Record<string, Example>): string[] {
  return Object.entries(refusals).map(([code, { summary }]) => `\`${code}\`: ${summary}`);
}

/** The envelope of a code, as an example. */
export function errorExample(code: ErrorCode): Example {
  const { type, when, advice, param = null, message, sample = {}, example } = codeRow(code);
  const shown = example ?? fillIn(message ?? when, sample);
  return {
    summary: when,
    description: advice,
    value: { error: { code, type, message: shown, param } },
  };
}

/** The same in Anthropic's envelope. */
function messageErrorExample(code: ErrorCode, status: number): Example {
  const { value, ...words } = errorExample(code);
  const { error } = value as { error: Pick<Fault, 'code' | 'type' | 'message' | 'param'> };
  return { ...words, value: messageEnvelopeOf({ ...error, status }, EXAMPLE_REQUEST) };
}

const EXAMPLE_REQUEST = 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC';

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

function parametersOf({ schema }: DeclaredOperation, components: Components): Parameter[] {
  const path = fieldsOf(schema.params, components).map(([name, field]) => {
    const { description, examples, ...rest } = field;
    return {
      name: name === '*' ? schema.wildcard! : name,
      in: 'path' as const,
      required: true,
      description: description as string,
      schema: rest,
      example: (examples as unknown[])[0],
    };
  });
  const headers = (schema.requestHeaders ?? []).map((name) => ({
    name,
    in: 'header' as const,
    required: false,
    ...REQUEST_HEADERS[name],
    ...(name === 'Idempotency-Key' ? { example: exampleKey(schema.operationId) } : {}),
  }));
  const query = fieldsOf(schema.querystring, components).map(([name, field, isRequired]) => {
    const { description, ...rest } = field;
    return {
      name,
      in: 'query' as const,
      // What has a default may be left out.
      required: isRequired && rest['default'] === undefined,
      ...(typeof description === 'string' ? { description } : {}),
      schema: rest,
    };
  });
  return [...path, ...headers, ...query];
}

/** A UUID of the operation's own: with one key for two of them the second example would be refused. */
function exampleKey(operationId: string): string {
  const digits = hash('sha256', operationId).slice(0, 32);
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-8$3-a$4-$5');
}

function fieldsOf(
  schema: unknown,
  components: Components,
): [name: string, field: JsonSchema, isRequired: boolean][] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = components.place(schema as object) as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, field]) => [name, field, required.includes(name)]);
}
