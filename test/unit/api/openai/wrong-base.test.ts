import { expect, it } from 'vitest';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { expectRefusal } from '#test/support/envelope.ts';

const app = await buildTestApp(NO_DATABASE);

async function refusalOf(
  method: 'GET' | 'POST',
  url: string | { pathname: string },
): Promise<string> {
  const answer = await app.inject({ method, url });
  const headers = new Headers(answer.headers as Record<string, string>);
  const refused = { status: answer.statusCode, headers, text: answer.payload };
  expectRefusal(refused, 'route_not_found');
  return answer.json<{ error: { message: string } }>().error.message;
}

it.each([
  ['POST', '/chat/completions'],
  ['POST', '/chat/completions?beta=true'],
  ['POST', '/completions'],
  ['POST', '/embeddings'],
  ['POST', '/responses'],
  ['GET', '/responses/resp_1'],
  ['POST', '/messages'],
  ['POST', '/messages/count_tokens'],
  ['GET', '/models'],
  ['GET', '/models/meta/llama'],
] as const)(
  'a program whose base URL lacks the version is told the right one: %s %s [errors.base-url]',
  async (method, url) => {
    expect(await refusalOf(method, url)).toMatch(
      /^The base URL lacks \/v1: it is https:\/\/gateway\.example\/v1\. /,
    );
  },
);

it.each([
  ['POST', '/v1/v1/chat/completions'],
  ['POST', '/v1/v1/messages'],
  ['GET', '/v1/v1/models'],
  ['GET', '/v1/v1'],
  ['GET', '/v1/v1/v1/models'],
] as const)(
  'a program whose base URL has the version twice, or adds it by itself, is told the right one: %s %s [errors.base-url]',
  async (method, url) => {
    const message = await refusalOf(method, url);
    expect(message).toContain('The base URL is https://gateway.example/v1, or ');
    expect(message).toContain('https://gateway.example for a program that adds /v1 by itself.');
  },
);

it.each([
  ['//v1/chat/completions', 'This address has a slash too many.'],
  ['/v1//chat/completions', 'This address has a slash too many.'],
  ['/openai/v1/chat/completions', 'without /openai;'],
  ['/openai/v1', 'without /openai;'],
  ['/openai/chat/completions', 'without /openai;'],
  ['/v1/openai/chat/completions', 'without /openai;'],
  ['/v1beta/openai/chat/completions', 'without /v1beta/openai;'],
  ['/anthropic/v1/messages', 'without /anthropic;'],
  ['/v1/anthropic/v1/messages/count_tokens', 'without /anthropic;'],
  ['/api/v1/responses', 'without /api;'],
])(
  'a program with the base URL of another service, or with a slash too many, is told the right one: %s [errors.base-url]',
  async (url, words) => {
    // With two slashes at its beginning a text would be taken for a host.
    const message = await refusalOf('POST', { pathname: url });
    expect(message).toContain('The base URL is https://gateway.example/v1, without ');
    expect(message).toContain(words);
  },
);

it.each([
  ['/v1/chat/completions/chat/completions', 'the path of an operation at its end'],
  ['/v1/responses/responses', 'the path of an operation at its end'],
  ['/v1/messages/v1/messages', 'the path of an operation at its end'],
  ['/v1/chat/completions/models', 'the path of an operation at its end'],
  ['/v2/chat/completions', 'no /v2'],
  ['/openai/deployments/gpt-4o/chat/completions?api-version=1', 'as Azure has it'],
  ['/v1beta/models/gemini-2.5-pro:generateContent', 'as Google has it'],
  ['/api/chat', 'as Ollama has it'],
])(
  'a program that asks as another service has it is told what is offered here: %s [errors.base-url]',
  async (url, words) => {
    const message = await refusalOf('POST', url);
    expect(message).toContain(words);
    expect(message).toContain('https://gateway.example/v1');
  },
);

it.each([
  ['/v1/responses/compact', 'no conversation is compacted here'],
  ['/v1/responses/input_tokens', 'tokens are told with the answer'],
])('what OpenAI has below responses is refused with the reason: %s', async (url, words) => {
  expect(await refusalOf('POST', url)).toContain(`${url} is not offered: ${words}`);
});

it.each(['/messages', '/v1/v1/messages', '/v1/messages/nothing', '/anthropic/v1/messages'])(
  'Anthropic’s clients are told so as they read errors: %s [errors.base-url]',
  async (url) => {
    const { headers, payload } = await app.inject({ method: 'POST', url });
    expect(JSON.parse(payload)).toMatchObject({
      type: 'error',
      error: { code: 'route_not_found' },
    });
    expect(headers).toHaveProperty('request-id');
  },
);

it.each(['/modelsx', '/v1/v1x', '/v1/models2', '/chat', '/openai', '/openai/v2/models', '/api'])(
  'an address to which no wrong base URL leads is no reason to speak of one: %s',
  async (url) => {
    expect(await refusalOf('GET', url)).toBe('There is nothing at this address.');
  },
);
