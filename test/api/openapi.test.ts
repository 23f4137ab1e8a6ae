import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Example } from '#api/docs/document-shape.ts';
import { RECEIPT } from '#api/docs/examples/receipts.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { CODES, STABLE_CODES } from '#shared/kernel/error-codes.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { anyOfSchema } from '#test/support/any-of-schema.ts';
import { ApiDescription, type Listed } from '#test/support/api-description.ts';
import { type Answer, ask } from '#test/support/envelope.ts';
import { startSystem, type System } from '#test/support/system.ts';

/** Said by the HTTP layer of any address, so no operation names them. */
const OF_NO_OPERATION = ['method_not_allowed', 'request_timeout', 'headers_too_large'];
/** Per operation; with some thirty operations that is over a thousand requests. */
const RUNS = 40;

let system: System;
let api: ApiDescription;

beforeAll(async () => {
  system = await startSystem();
  api = await ApiDescription.of(system.root);
});

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  ask(system.root + path, {
    method,
    headers: {
      authorization: `Bearer ${system.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const requestsOf = ({ operation }: Listed): Example[] =>
  Object.values(operation.requestBody?.content['application/json']?.examples ?? {}) as Example[];

describe('the description of the API', () => {
  it('the description of the API passes the linter', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const source = JSON.stringify(api.document);
    const problems = await lintFromString({ source, config, absoluteRef: 'openapi.json' });
    expect(
      problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    ).toEqual([]);
  });

  it('the description is the same at both addresses, for every origin, without a key', async () => {
    const [root, v1] = await Promise.all(
      ['/openapi.json', '/v1/openapi.json'].map((path) => ask(system.root + path)),
    );
    expect(v1!.text).toBe(root!.text);
    expect(root!.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('the description has every scope and every code', { tags: ['errors.described'] }, () => {
    const demanded = api.operations.flatMap(({ operation }) =>
      operation.security.flatMap((one) => Object.values(one).flat()),
    );
    expect(new Set(demanded)).toEqual(new Set(SCOPES));
    const named = Object.keys(api.document.components.examples);
    expect(STABLE_CODES.filter((code) => !named.includes(code))).toEqual(OF_NO_OPERATION);
  });

  it('the description has an example of every request and of every answer that is text', () => {
    for (const { operation } of api.operations) {
      const { operationId, requestBody, responses } = operation;
      const contents = [
        requestBody?.content,
        ...Object.values(responses).map(({ content }) => content),
      ];
      for (const [type, media] of contents.flatMap((content) => Object.entries(content ?? {}))) {
        if (!/json|text/.test(type)) continue;
        expect(Object.keys(media.examples ?? {}).length, `${operationId} ${type}`).toBeGreaterThan(
          0,
        );
      }
    }
  });

  it('no two operations show one Idempotency-Key, and each download says what comes', () => {
    const shown = api.operations.flatMap(({ operation }) =>
      (operation.parameters ?? []).flatMap(({ name, example }) =>
        name === 'Idempotency-Key' ? [example] : [],
      ),
    );
    expect(shown.length).toBeGreaterThan(3);
    expect(new Set(shown).size).toBe(shown.length);
    for (const one of shown) expect(one).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    for (const { operation } of api.operations) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        if (status === '200') expect(content, operation.operationId).toBeDefined();
      }
    }
  });

  it('the description shows a receipt that is real', () => {
    const url = new URL('../vectors/receipt/receipt.json', import.meta.url);
    expect(RECEIPT).toEqual(JSON.parse(readFileSync(url, 'utf8')));
    for (const { operation } of api.operations) {
      const { examples = {} } = operation.responses['200']?.content?.['application/json'] ?? {};
      for (const one of Object.values(examples) as Example[]) {
        const { receipt } = one.value as { receipt?: object };
        if (receipt !== undefined) parseReceipt(JSON.stringify(receipt));
      }
    }
  });
});

describe('what the description promises', () => {
  it('every example of a request is taken', async () => {
    for (const listed of [
      'createChatCompletion',
      'createCompletion',
      'createEmbedding',
      'issueKey',
    ].map((id) => api.find(id))) {
      for (const { value, summary } of requestsOf(listed)) {
        const answer = await call('POST', listed.path, value);
        expect(answer.status, `${summary}: ${answer.text.slice(0, 300)}`).toBeLessThan(300);
        api.expectDescribed(listed, answer);
      }
    }
  });

  it('every chunk of a stream is as described', async () => {
    for (const [id, body] of [
      [
        'createChatCompletion',
        { model: 'llama-3.1-8b', messages: [{ role: 'user', content: 'hi' }] },
      ],
      ['createCompletion', { model: 'llama-3.1-8b', prompt: 'hi' }],
    ] as const) {
      const listed = api.find(id);
      const answer = await call('POST', listed.path, { ...body, max_tokens: 5, stream: true });
      api.expectDescribed(listed, answer);
      expectChunks(listed, answer);
    }
  });

  it(
    'requests made from the description are answered as it says',
    { tags: ['errors.described'], timeout: 120_000 },
    async () => {
      const ids = await idsInUse();
      for (const listed of api.operations) {
        await fc.assert(
          fc.asyncProperty(requestOf(listed, ids), async ({ path, body, key }) => {
            const answer = await call(listed.method, path, body, key);
            if (answer.headers.get('content-type')?.startsWith('text/event-stream') === true) {
              expectChunks(listed, answer);
            }
            api.expectDescribed(listed, answer);
          }),
          {
            numRuns:
              listed.operation.parameters === undefined && listed.method === 'get' ? 2 : RUNS,
          },
        );
      }
    },
  );
});

describe('the page at /docs', () => {
  it('the page at /docs runs no script but its own, loads nothing from elsewhere, and says so in its policy', async () => {
    const { headers, text } = await ask(`${system.root}/docs`);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(text).not.toMatch(/<script(?! (?:type="module" )?src="\/)|\sstyle=|\son\w+=/);
    const loaded = [...text.matchAll(/(?:src|<link[^>]* href)="(?!#)([^"]+)"/g)].map(
      ([, url]) => url,
    );
    const types: string[] = [];
    for (const url of loaded) {
      const { status, headers: its } = await ask(`${system.root}${url}`);
      types.push(`${status} ${its.get('content-type')}`);
    }
    expect(types.toSorted()).toEqual([
      '200 image/svg+xml; charset=utf-8',
      '200 text/css; charset=utf-8',
      '200 text/css; charset=utf-8',
      '200 text/javascript; charset=utf-8',
      '200 text/javascript; charset=utf-8',
      '200 text/javascript; charset=utf-8',
    ]);
    for (const none of ['/docs/nothing.js', '/docs/page.ts', '/docs/..%2fpage.ts']) {
      expect((await ask(`${system.root}${none}`)).status).toBe(404);
    }
  });

  it('the page at /docs has every operation, and no link that leads nowhere', async () => {
    const { text } = await ask(`${system.root}/docs`);
    const ids = [...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
    for (const { operation } of api.operations) expect(ids).toContain(operation.operationId);
  });

  it(
    'the reference of errors has every code that can be answered, what to do about it, and addresses that exist',
    { tags: ['docs.errors'] },
    async () => {
      const { text } = await ask(`${system.root}/docs`);
      const paths = new Set(api.operations.map(({ method, path }) => `${method} ${path}`));
      for (const [code, { status, advice }] of Object.entries(CODES)) {
        const id = `id="error-${code.replaceAll('_', '-')}"`;
        const entry = text.slice(text.indexOf(id)).split('</div>')[0]!;
        expect(entry, code).toContain(`<span class="status">${status}</span>`);
        expect(entry, code).toMatch(/retry[^]*<strong>What to do:<\/strong> \S+/);
        for (const [, method, path] of advice.matchAll(/`(GET|POST) (\/[^`]*)`/g)) {
          expect(paths, code).toContain(`${method!.toLowerCase()} ${path}`);
        }
      }
    },
  );
});

/** Chunks and `[DONE]`, or the events of a response; or, where the receipt was demanded and could not be made, an error and no `[DONE]`. */
function expectChunks({ operation }: Listed, { text }: Answer): void {
  const { schema } = operation.responses['200']!.content!['text/event-stream']!;
  const payloads = text
    .split('\n\n')
    .map((frame) => frame.replace(/^event: .*\n/, ''))
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice('data: '.length));
  const last = payloads.pop()!;
  // A response says by the name of its last event that it is whole.
  if (/^\{"type":"response\.(completed|incomplete)"/.test(last)) payloads.push(last);
  else if (last !== '[DONE]') api.expectValid('Error', ERROR, JSON.parse(last));
  for (const payload of payloads) {
    const chunk: unknown = JSON.parse(payload);
    api.expectValid(`${operation.operationId} chunk`, schema['contentSchema'] as object, chunk);
  }
}

const ERROR = { $ref: '#/components/schemas/Error' };

/** Ids that exist, for paths and cursors. The key in use is among them. */
async function idsInUse(): Promise<string[]> {
  const lists = await Promise.all(
    ['keys', 'receipts', 'audit-log'].map((noun) => call('GET', `/v1/${noun}?limit=3`)),
  );
  const ids = lists.flatMap(({ text }) => (JSON.parse(text) as { data: { id: string }[] }).data);
  return ['llama-3.1-8b', ...ids.map(({ id }) => id.slice(id.lastIndexOf('/') + 1))];
}

interface Made {
  path: string;
  body: unknown;
  key: Record<string, string>;
}

/** A request that the description allows. Models and regions are mostly such as exist, so that most are answered. */
function requestOf({ path, operation }: Listed, ids: readonly string[]): fc.Arbitrary<Made> {
  const components = api.document.components.schemas;
  const named = {
    model: fc.constantFrom(
      'llama-3.1-8b',
      'gpt-oss-120b',
      'qwen3-embedding-8b',
      'bge-m3',
      'sandbox-unsized',
      'none',
    ),
    region: fc.constantFrom(null, null, 'eu-west', 'eu-north', 'ap-south', 'mars'),
    tier: fc.constantFrom(null, 'audit', 'enterprise', 'gold'),
    max_tokens: fc.integer({ min: 1, max: 9 }),
    max_completion_tokens: fc.integer({ min: 1, max: 9 }),
    n: fc.integer({ min: 1, max: 8 }),
  };
  const { parameters = [], requestBody } = operation;
  const schema = requestBody?.content['application/json']!.schema;
  const id = fc.oneof(
    fc.constantFrom(...ids),
    fc.string({ minLength: 1, maxLength: 40 }).filter((text) => !/^\.+$/.test(text)),
  );
  return fc.record({
    path: fc.tuple(id, queryOf(parameters, ids)).map(([one, query]) => {
      const filled = path.replaceAll(/\{\w+\}/g, encodeURIComponent(one));
      return `${filled}${query === '' ? '' : `?${query}`}`;
    }),
    body:
      schema === undefined ? fc.constant(undefined) : anyOfSchema(schema, { components, named }),
    key: fc.oneof(
      { weight: 9, arbitrary: fc.constant({}) },
      { weight: 1, arbitrary: fc.constant({ authorization: 'Bearer dkt_none' }) },
    ),
  });
}

function queryOf(
  parameters: NonNullable<Listed['operation']['parameters']>,
  ids: readonly string[],
): fc.Arbitrary<string> {
  const components = api.document.components.schemas;
  const query = parameters.filter((one) => one.in === 'query');
  const named: Record<string, fc.Arbitrary<unknown>> = {
    after: fc.constantFrom(...ids),
    from: fc.constantFrom('2026-01-01', '1795167485', '2026-11-20T09:38:05Z', 'yesterday'),
    to: fc.constantFrom('2027-01-01', '2026-13-45'),
  };
  const values = query.map(({ name, schema }) => [
    name,
    named[name] ?? anyOfSchema(schema, { components }),
  ]);
  return fc
    .record(Object.fromEntries(values) as Record<string, fc.Arbitrary<unknown>>, {
      requiredKeys: [],
    })
    .map((record) =>
      Object.entries(record)
        .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
        .join('&'),
    );
}
