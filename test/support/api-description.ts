import { ok } from 'node:assert';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { ApiDocument, Method, Operation } from '#api/docs/document-shape.ts';
import { type Answer, ask } from './envelope.ts';

/** One operation where it stands in the document. */
export interface Listed {
  method: Method;
  path: string;
  operation: Operation;
}

/** The description as a client reads it, and answers held against it. */
export class ApiDescription {
  readonly document: ApiDocument;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: ApiDocument) {
    this.document = document;
    this.#ajv.addSchema({ $id: 'openapi', components: document.components });
  }

  static async of(root: string): Promise<ApiDescription> {
    const { text } = await ask(`${root}/openapi.json`);
    return new ApiDescription(JSON.parse(text) as ApiDocument);
  }

  get operations(): Listed[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        method: method as Method,
        path,
        operation,
      })),
    );
  }

  find(operationId: string): Listed {
    return this.operations.find(({ operation }) => operation.operationId === operationId)!;
  }

  /** Fails unless the answer is one that the description promises: status, headers, media type and body. */
  expectDescribed({ operation }: Listed, answer: Answer): void {
    const { operationId } = operation;
    const response = operation.responses[String(answer.status)];
    ok(response, `${operationId}: ${answer.status} ${answer.text.slice(0, 300)}`);
    const type = answer.headers.get('content-type')!.split(';')[0]!;
    const media = response.content?.[type];
    ok(media, `${operationId}: ${answer.status} as ${type}`);
    const body: unknown = /\bjson$/.test(type) ? JSON.parse(answer.text) : answer.text;
    this.expectValid(`${operationId} ${answer.status} ${type}`, media.schema, body);
    for (const name of REQUIRED_HEADERS.filter((one) => one in (response.headers ?? {}))) {
      const value = answer.headers.get(name);
      ok(value !== null, `${operationId}: ${name}`);
      const { schema } = this.document.components.headers[name]!;
      const read = schema['type'] === 'integer' ? Number(value) : value;
      this.expectValid(`header ${name}`, schema, read);
    }
    if (answer.status >= 400)
      this.#expectNamedCode(operationId, Object.keys(media.examples!), body);
  }

  expectValid(name: string, schema: object, value: unknown): void {
    let validate = this.#validators.get(name);
    if (validate === undefined) {
      const located = JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components');
      validate = this.#ajv.compile(JSON.parse(located) as object);
      this.#validators.set(name, validate);
    }
    const good = validate(value);
    ok(
      good,
      `${name}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(value)?.slice(0, 500)}`,
    );
  }

  /** A code that the operation names, or one by the pattern of invalid parameters. */
  #expectNamedCode(operationId: string, named: readonly string[], body: unknown): void {
    const { code, param } = (body as { error: { code: string; param: string | null } }).error;
    const byPattern = code === `invalid_${/^\w+/.exec(param ?? '')?.[0]}`;
    ok(byPattern || named.includes(code), `${operationId} does not name ${code}`);
  }
}

/** Those that every answer which may have them has. */
const REQUIRED_HEADERS = [
  'x-request-id',
  'x-receipt-id',
  'x-region',
  'openai-processing-ms',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-requests-day',
  'x-ratelimit-remaining-requests-day',
  'x-ratelimit-reset-requests-day',
  'x-should-retry',
  'retry-after',
  'retry-after-ms',
];
