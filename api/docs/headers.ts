import type { Header, Parameter } from './document-shape.ts';

const text = (description: string, example: string, pattern?: string): Header => ({
  description,
  schema: { type: 'string', examples: [example], ...(pattern === undefined ? {} : { pattern }) },
});
const count = (description: string, example: number): Header => ({
  description,
  schema: { type: 'integer', minimum: 0, examples: [example] },
});

const DURATION = '^(\\d+h)?(\\d+m)?(\\d+(\\.\\d+)?s|\\d+ms)$';

/** Every answer header that a client may build on. */
export const HEADERS = {
  'x-request-id': text('Names this request, in our logs too.', 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC'),
  'x-receipt-id': text(
    'The receipt of this request: the request’s id with another prefix, so it is known before the first byte. On an error it stands where there is a receipt, or will be: of a request that was blocked, and of one for which an upstream was called and of which nothing came (outcome `failed`).',
    'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC',
  ),
  'x-region': text('The region that answered.', 'eu-west'),
  'openai-processing-ms': count('Milliseconds that the gateway and its upstream took.', 412),
  'x-ratelimit-limit-requests': count(
    'Requests per second by the limit that is nearest: the organisation’s, or the key’s own.',
    50,
  ),
  'x-ratelimit-remaining-requests': count(
    'Requests that may be made at once, now, by that limit.',
    199,
  ),
  'x-ratelimit-reset-requests': text('Until the whole burst is there again.', '20ms', DURATION),
  'x-ratelimit-limit-requests-day': count('Requests per day.', 100_000),
  'x-ratelimit-remaining-requests-day': count('Requests that are left today.', 99_998),
  'x-ratelimit-reset-requests-day': text('Until midnight UTC.', '6h12m3s', DURATION),
  'idempotent-replayed': text(
    '`true` on the repetition of an idempotent request: same body, same receipt, nothing charged.',
    'true',
  ),
  'x-should-retry': {
    description: 'Whether the same request may succeed later. SDKs obey it.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'retry-after': count('Whole seconds to wait, rounded up.', 1),
  'retry-after-ms': count('Milliseconds to wait.', 250),
  link: text(
    'On a receipt that was recalculated: its successor.',
    '</v1/receipts/rcpt_01JD4ZA1V5J9Q0M3T7XGB2C8DN>; rel="successor-version"',
  ),
} as const satisfies Record<string, Header>;
export type HeaderName = keyof typeof HEADERS;

/** Where the caller stands, on every inference answer once the key is known. */
export const LIMIT_HEADERS = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-requests-day',
  'x-ratelimit-remaining-requests-day',
  'x-ratelimit-reset-requests-day',
] as const satisfies readonly HeaderName[];

export const INFERENCE_HEADERS = [
  'x-receipt-id',
  'x-region',
  'openai-processing-ms',
  ...LIMIT_HEADERS,
  'idempotent-replayed',
] as const satisfies readonly HeaderName[];

/** Request headers that operations take, beside Authorization. */
export const REQUEST_HEADERS = {
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
} as const satisfies Record<string, Omit<Parameter, 'name' | 'in' | 'required'>>;
export type RequestHeaderName = keyof typeof REQUEST_HEADERS;
