import { describe, expect, it } from 'vitest';
import type { ErrorCode } from '#shared/kernel/error-codes.ts';
import { chatBody } from '#test/support/calls.ts';
import { ask, expectRefusal } from '#test/support/envelope.ts';
import type { System } from '#test/support/system.ts';
import { chat, completion, embedding, samplerRows } from '#test/unit/api/openai/rules.ts';

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** What the api refuses by the rules of its requests. */
export function errorsOfValidation(system: () => System): void {
  describe('every rule of a request', () => {
    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      ask(system().baseUrl + path, {
        method: 'POST',
        headers: { ...bearer(system().key), 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });

    it.each([
      ['/chat/completions', chat],
      ['/completions', completion],
    ] as const)(
      'every bad sampler of %s is 400 invalid_<param>, and param names it [requests.temperature, requests.choices, requests.penalties, requests.stop, requests.extensions, requests.own-fields, errors.validation, codes.samplers]',
      async (path, make) => {
        for (const [, body, param, at = param] of samplerRows(make)) {
          expectRefusal(await post(path, body), `invalid_${param}`, { param: at });
        }
      },
    );

    it.each<[string, object, string]>([
      ['no messages at all', { messages: undefined }, 'messages'],
      ['no message in the list', { messages: [] }, 'messages'],
      ['messages as text', { messages: 'hello' }, 'messages'],
      [
        'a role that does not exist',
        { messages: [{ role: 'wizard', content: 'x' }] },
        'messages[0].role',
      ],
      ['a message without content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
      [
        'content of another type',
        { messages: [{ role: 'user', content: 5 }] },
        'messages[0].content',
      ],
      [
        'the second of two messages',
        { messages: [{ role: 'user', content: 'x' }, null] },
        'messages[1]',
      ],
      [
        'an assistant that says nothing',
        { messages: [{ role: 'assistant', content: null }] },
        'messages[0].content',
      ],
      [
        'a part that does not exist',
        { messages: [{ role: 'user', content: [{ type: 'smell' }] }] },
        'messages[0].content[0].type',
      ],
      ['logprobs that is no boolean', { logprobs: 2 }, 'logprobs'],
      ['too many top_logprobs', { top_logprobs: 21 }, 'top_logprobs'],
      ['max_completion_tokens of zero', { max_completion_tokens: 0 }, 'max_completion_tokens'],
      ['tools as text', { tools: 'hammer' }, 'tools'],
      [
        'a tool without a name',
        { tools: [{ type: 'function', function: {} }] },
        'tools[0].function.name',
      ],
      ['a tool choice that does not exist', { tool_choice: 'maybe' }, 'tool_choice'],
      ['a response format without a type', { response_format: {} }, 'response_format.type'],
      [
        'stream options without a stream',
        { stream_options: { include_usage: true } },
        'stream_options',
      ],
      ['no model', { model: undefined }, 'model'],
      ['a model that does not exist', { model: 'gpt-99' }, 'model'],
      ['a model for something else', { model: 'bge-m3' }, 'model'],
      ['more answers than the model gives', { model: 'mixtral-8x7b', n: 2 }, 'n'],
      ['a region that does not exist', { region: 'atlantis' }, 'region'],
      [
        'a model that the region does not have',
        { region: 'us-east', model: 'mixtral-8x7b' },
        'model',
      ],
      ['a tier that does not exist', { tier: 'gold' }, 'tier'],
      ['a receipt that is neither', { receipt: 'maybe' }, 'receipt'],
    ])(
      'a chat request is refused for %s [requests.model, requests.messages, requests.chat, requests.tools, codes.invalid_model, codes.invalid_region, codes.invalid_tier]',
      async (_what, over, param) => {
        const answer = await post('/chat/completions', chatBody(over));
        expectRefusal(answer, `invalid_${/^\w+/.exec(param)![0]}`, { param });
      },
    );

    it.each<[string, object, string]>([
      ['no input', { input: undefined }, 'input'],
      ['an empty input', { input: '' }, 'input'],
      ['an empty list', { input: [] }, 'input'],
      ['an encoding that does not exist', { encoding_format: 'hex' }, 'encoding_format'],
      ['no dimension', { dimensions: 0 }, 'dimensions'],
      ['a user of another type', { user: 5 }, 'user'],
    ])(
      'an embeddings request is refused for %s [requests.embeddings]',
      async (_what, over, param) => {
        const answer = await post('/embeddings', embedding({ model: 'bge-m3', ...over }));
        expectRefusal(answer, `invalid_${/^\w+/.exec(param)![0]}`, {
          param: expect.stringContaining(param) as string,
        });
      },
    );

    it.each<[string, ErrorCode, object, Record<string, string>, string | null]>([
      ['a tier above the plan', 'invalid_tier', { tier: 'enterprise' }, {}, 'tier'],
      [
        'two regions at once',
        'invalid_region',
        { region: 'eu-west' },
        { 'x-region': 'eu-north' },
        'region',
      ],
      ['a region only in the header', 'invalid_region', {}, { 'x-region': 'atlantis' }, 'region'],
      ['a region that is gone', 'region_decommissioned', { region: 'ap-south' }, {}, null],
      [
        'an empty idempotency key',
        'invalid_idempotency_key',
        {},
        { 'idempotency-key': ' ' },
        'Idempotency-Key',
      ],
      [
        'a long idempotency key',
        'invalid_idempotency_key',
        {},
        { 'idempotency-key': 'k'.repeat(256) },
        'Idempotency-Key',
      ],
    ])(
      'a chat request is refused by the gateway’s own rules for %s [codes.invalid_region, codes.invalid_tier, codes.region_decommissioned, codes.idempotency]',
      async (_what, code, over, headers, param) => {
        const body = chatBody(over);
        const key = system().demo.keys.audit;
        expectRefusal(await post('/chat/completions', body, { ...headers, ...bearer(key) }), code, {
          param,
        });
      },
    );

    it('a request about keys is refused for unknown members: nothing is dropped or guessed [codes.keys]', async () => {
      const refused: [object, string, string][] = [
        [{}, 'invalid_name', 'name'],
        [{ name: 5 }, 'invalid_name', 'name'],
        [{ name: 'a', scope: ['inference:read'] }, 'invalid_scope', 'scope'],
        [{ name: 'a', scopes: ['root'] }, 'invalid_scope', 'scopes'],
        [{ name: 'a', scopes: [5] }, 'invalid_scope', 'scopes[0]'],
        [{ name: 'a', scopes: ['admin:keys'] }, 'invalid_scope', 'scopes'],
        [{ name: 'a', expires_at: 'tomorrow' }, 'invalid_expiry', 'expires_at'],
        [{ name: 'a', expires_at: '2020-01-01T00:00:00Z' }, 'invalid_expiry', 'expires_at'],
        [
          { name: 'a', rate_limit: { requests_per_second: 0 } },
          'invalid_rate_limit',
          'rate_limit.requests_per_second',
        ],
      ];
      for (const [body, code, param] of refused) {
        expectRefusal(await post('/keys', body), code as ErrorCode, { param });
      }
    });
  });
}
