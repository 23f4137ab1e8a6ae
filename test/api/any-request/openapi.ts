import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Example } from '#api/docs/document-shape.ts';
import { anyOfSchema } from '#test/support/any-of-schema.ts';
import type { ApiDescription, Listed } from '#test/support/api-description.ts';
import { runs } from '#test/support/depth.ts';
import { type Answer, ask } from '#test/support/envelope.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import type { System } from '#test/support/system.ts';

/** Per operation; in a deep run more than a thousand requests with some thirty operations. */
const RUNS = runs(40, 5);

/** What the description of the interface promises. */
export function describedRequests(system: () => System, api: () => ApiDescription): void {
  const call = (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) =>
    ask(system().root + path, {
      method,
      headers: {
        authorization: `Bearer ${system().key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  const requestsOf = ({ operation }: Listed): Example[] =>
    Object.values(operation.requestBody?.content['application/json']?.examples ?? {}) as Example[];

  describe('what the description promises', () => {
    it('every example of a request is taken', async () => {
      for (const listed of [
        'createChatCompletion',
        'createCompletion',
        'createEmbedding',
        'issueKey',
      ].map((id) => api().find(id))) {
        for (const { value, summary } of requestsOf(listed)) {
          const answer = await call('POST', listed.path, value);
          expect(answer.status, `${summary}: ${answer.text.slice(0, 300)}`).toBeLessThan(300);
          api().expectDescribed(listed, answer);
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
        const listed = api().find(id);
        const answer = await call('POST', listed.path, { ...body, max_tokens: 5, stream: true });
        api().expectDescribed(listed, answer);
        expectChunks(listed, answer);
      }
    });

    it(
      'requests made from the description are answered as it says [errors.described]',
      { timeout: 120_000 },
      async () => {
        const ids = await idsInUse();
        for (const listed of api().operations) {
          await forAllAsync(
            [requestOf(listed, ids)],
            {
              numRuns:
                listed.operation.parameters === undefined && listed.method === 'get' ? 2 : RUNS,
            },
            async ({ path, body, key }) => {
              const answer = await call(listed.method, path, body, key);
              if (answer.headers.get('content-type')?.startsWith('text/event-stream') === true) {
                expectChunks(listed, answer);
              }
              api().expectDescribed(listed, answer);
            },
          );
        }
      },
    );
  });

  /** Chunks and `[DONE]`, or the events of a response or a message; or, where the receipt was demanded and could not be made, an error and no `[DONE]`. */
  function expectChunks({ operation }: Listed, { text }: Answer): void {
    const { schema } = operation.responses['200']!.content!['text/event-stream']!;
    const payloads = text
      .split('\n\n')
      .map((frame) => frame.replace(/^event: .*\n/, ''))
      .filter((frame) => frame.startsWith('data: '))
      .map((frame) => frame.slice('data: '.length));
    const last = payloads.pop()!;
    // Responses and messages say by the name of their last event that they are whole.
    if (/^\{"type":"(response\.(completed|incomplete)|message_stop)"/.test(last))
      payloads.push(last);
    else if (last !== '[DONE]') {
      const name = operation.operationId === 'createMessage' ? 'MessageError' : 'Error';
      api().expectValid(name, { $ref: `#/components/schemas/${name}` }, JSON.parse(last));
    }
    for (const payload of payloads) {
      const chunk: unknown = JSON.parse(payload);
      api().expectValid(`${operation.operationId} chunk`, schema['contentSchema'] as object, chunk);
    }
  }

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
    const components = api().document.components.schemas;
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
    const components = api().document.components.schemas;
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
}
