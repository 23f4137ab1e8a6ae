import fc from 'fast-check';
import type { ApiDescription, Listed } from '#test/support/api-description.ts';
import { anyOfSchema } from '#test/support/any-of-schema.ts';
import { strayed } from './addresses.ts';
import { anyCharacter } from '#test/support/any-character.ts';

/** A request before it is sent. The body is bytes: what is hostile may be no text at all. */
export interface MadeRequest {
  /** Which generator made it, for the report of a failure. */
  kind: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
}

const INFERENCE_IDS = ['createChatCompletion', 'createCompletion', 'createEmbedding'] as const;
const JSON_TYPE = { 'content-type': 'application/json' };

/** Members that lead to an answer. What is refused upstream, or is down by its catalogue, is another test's. */
const NAMED = {
  model: fc.constantFrom(
    'llama-3.1-8b',
    'llama-3.3-70b',
    'qwen3-embedding-8b',
    'bge-m3',
    'sandbox-unsized',
  ),
  region: fc.constantFrom(null, 'eu-west', 'eu-north', 'us-east', 'mars'),
  tier: fc.constantFrom(null, 'audit', 'audit_plus', 'enterprise', 'gold'),
  receipt: fc.constantFrom(null, 'best_effort'),
  max_tokens: fc.integer({ min: 1, max: 4 }),
  max_completion_tokens: fc.integer({ min: 1, max: 4 }),
  n: fc.integer({ min: 1, max: 2 }),
};

/** Generators of requests, by kind, each with its share of the whole. */
export function generators(api: ApiDescription): [share: number, fc.Arbitrary<MadeRequest>][] {
  const inference = INFERENCE_IDS.map((id) => api.find(id));
  const withBody = api.operations.filter(({ operation }) => operation.requestBody !== undefined);
  return [
    [0.07, described(api, inference)],
    [0.28, mutated(api, withBody)],
    [0.25, corrupted(api, withBody)],
    [0.15, hostileHeaders(api, withBody)],
    [0.19, strayed(api.operations)],
    [0.01, huge(inference)],
  ];
}

function bodyOf(api: ApiDescription, { operation }: Listed): fc.Arbitrary<unknown> {
  const { schema } = operation.requestBody!.content['application/json']!;
  return anyOfSchema(schema, { components: api.document.components.schemas, named: NAMED });
}

const pathOf = ({ path }: Listed): string =>
  path.replaceAll(/\{\w+\}/g, 'key_01JD0A9F6R4N8P1S5VZC7B2DEG');

const made = (kind: string, listed: Listed, body: string | Buffer): MadeRequest => ({
  kind,
  method: listed.method.toUpperCase(),
  path: pathOf(listed),
  headers: JSON_TYPE,
  body: Buffer.from(body),
});

/** As the description allows. */
function described(api: ApiDescription, among: readonly Listed[]): fc.Arbitrary<MadeRequest> {
  return fc.oneof(
    ...among.map((listed) =>
      bodyOf(api, listed).map((body) => made('described', listed, JSON.stringify(body))),
    ),
  );
}

const oddities = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1e308,
    2 ** 53,
    '',
    '\0',
    '\uD800',
    [],
    {},
    [[]],
    '__proto__',
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.double(),
  fc.string({ unit: anyCharacter, maxLength: 2_000 }),
);

/** As described, but for a member somewhere that is of another kind, gone, or new. */
function mutated(api: ApiDescription, among: readonly Listed[]): fc.Arbitrary<MadeRequest> {
  return fc.oneof(
    ...among.map((listed) =>
      fc
        .tuple(bodyOf(api, listed), fc.nat(), oddities, fc.constantFrom('replace', 'remove', 'add'))
        .map(([body, at, value, how]) =>
          made('mutated', listed, JSON.stringify(mutate(body, at, value, how))),
        ),
    ),
  );
}

/** Changes one place of a value, counted through in the order of its members. */
function mutate(root: unknown, at: number, value: unknown, how: string): unknown {
  const places: (() => void)[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const parent = node as Record<string, unknown>;
    places.push(() => void (parent['x' + String(at % 7)] = value));
    for (const key of Object.keys(parent)) {
      places.push(() => {
        if (how === 'remove') delete parent[key];
        else parent[key] = value;
      });
      visit(parent[key]);
    }
  };
  const copy: unknown = structuredClone(root);
  visit(copy);
  places[at % Math.max(places.length, 1)]?.();
  return copy;
}

/** Bytes that are no JSON any more, or JSON of an unusual kind. */
function corrupted(api: ApiDescription, among: readonly Listed[]): fc.Arbitrary<MadeRequest> {
  const damage = fc.oneof(
    fc.nat().map((n) => (bytes: Buffer) => bytes.subarray(0, n % (bytes.length + 1))),
    fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => (bytes: Buffer) => {
      const copy = Buffer.from(bytes);
      if (copy.length > 0) copy[at % copy.length] = byte;
      return copy;
    }),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => () => Buffer.from(bytes)),
    fc
      .integer({ min: 1, max: 5_000 })
      .map((depth) => () => Buffer.from(`${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`)),
    fc.constant((bytes: Buffer) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])),
    fc.constant((bytes: Buffer) => Buffer.concat([bytes, bytes])),
    fc.constant((bytes: Buffer) => Buffer.from(bytes.toString(), 'utf16le')),
    fc
      .constantFrom(
        '{"model":"a","model":"b"}',
        '{"model":1e999}',
        '{"a":"\\ud800"}',
        '{"__proto__":{}}',
        '//',
        "{'a':1}",
        'NaN',
      )
      .map((text) => () => Buffer.from(text)),
  );
  return fc.oneof(
    ...among.map((listed) =>
      fc
        .tuple(bodyOf(api, listed), damage)
        .map(([body, harm]) => made('corrupted', listed, harm(Buffer.from(JSON.stringify(body))))),
    ),
  );
}

/** Text that a header may hold on the wire: visible Latin-1, spaces and tabs. */
const headerText = fc
  .array(fc.oneof(fc.integer({ min: 0x21, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })), {
    minLength: 1,
    maxLength: 300,
  })
  .map((codes) => String.fromCharCode(...codes));

function hostileHeaders(api: ApiDescription, among: readonly Listed[]): fc.Arbitrary<MadeRequest> {
  const names = fc.constantFrom(
    'authorization',
    'content-type',
    'idempotency-key',
    'x-region',
    'traceparent',
    'x-request-id',
    'accept',
    'accept-encoding',
    'content-encoding',
    'origin',
    'cookie',
    'range',
    'if-none-match',
    'x-forwarded-for',
    'forwarded',
    'x-http-method-override',
    'te',
    'via',
  );
  const headers = fc.dictionary(
    names,
    fc.oneof(
      headerText,
      fc.constantFrom(
        'gzip',
        'application/json;charset=utf-16',
        '*/*',
        '0',
        '00-0-0-0',
        'Bearer ',
        '../../etc/passwd',
      ),
    ),
    { minKeys: 1, maxKeys: 4 },
  );
  return fc.oneof(
    ...among.map((listed) =>
      fc.tuple(bodyOf(api, listed), headers).map(([body, odd]) => ({
        ...made('headers', listed, JSON.stringify(body)),
        headers: { ...JSON_TYPE, ...odd },
      })),
    ),
  );
}

/** Near the limit of a body, and over it. */
function huge(among: readonly Listed[]): fc.Arbitrary<MadeRequest> {
  return fc
    .tuple(
      fc.constantFrom(...among),
      fc.constantFrom(250_000, 262_143, 262_144, 262_145, 1_000_000),
      fc.constantFrom('x', ' ', '[', '"', '\\'),
    )
    .map(([listed, size, filler]) => made('huge', listed, filler.repeat(size)));
}
