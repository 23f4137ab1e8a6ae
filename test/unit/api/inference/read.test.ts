import { expect, it } from 'vitest';
import { read } from '#api/inference/read.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { requestDigest as digest } from '#shared/receipts/digest.ts';
import { CREDENTIAL, NOW, REQUEST_ID } from './doubles.ts';

const asked = (body: object, route: Route = 'embeddings') =>
  read(
    { newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA', processId: 'api-1', shards: 1 },
    {
      id: REQUEST_ID,
      route,
      rawBody: Buffer.from(JSON.stringify({ model: 'm', ...body })),
      headers: {},
      credential: CREDENTIAL,
      now: NOW,
    },
  ).unrouted.asked;

it.each([
  ['a text', 'one', 1],
  ['ids of one text', [1, 2, 3], 1],
  ['texts', ['one', 'two'], 2],
  ['ids of several texts', [[1, 2, 3], [4]], 2],
])('an embeddings request is known by how many vectors it asks for: %s', (_what, input, inputs) => {
  expect(asked({ input }).embeddings).toEqual({ inputs, dimensions: undefined });
  expect(asked({ input, dimensions: 256 }).embeddings).toEqual({ inputs, dimensions: 256 });
});

it('a chat request that passes a field of that name on asks for no vectors', () => {
  const messages = [{ role: 'user', content: 'x' }];
  const input = Array.from({ length: 5_000 }, () => 'x');
  expect(asked({ messages, input }, 'chat.completions').embeddings).toBeUndefined();
});

it('a chat and a response are known by how many tools they bring, under either name, and are read with more than 128', () => {
  const messages = [{ role: 'user', content: 'x' }];
  const definition = { name: 'f' };
  const tools = Array.from({ length: 129 }, () => ({ type: 'function', function: definition }));
  const functions = tools.map(() => definition);
  const ofChat = (body: object) => asked({ messages, ...body }, 'chat.completions').tools;
  expect(ofChat({})).toBeUndefined();
  expect(ofChat({ tools })).toEqual({ field: 'tools', count: 129 });
  expect(ofChat({ functions, tools: [] })).toEqual({ field: 'functions', count: 129 });
  expect(ofChat({ functions, tools })).toEqual({ field: 'tools', count: 258 });
  const flat = tools.map(() => ({ type: 'function', ...definition }));
  const chosen = { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: flat } };
  expect(asked({ input: 'x', tools: flat, ...chosen }, 'responses').tools).toEqual({
    field: 'tools',
    count: 129,
  });
  expect(asked({ prompt: 'x', tools }, 'completions').tools).toBeUndefined();
});

it('no bound that its interface does not have makes an answer shorter for budgets, or less than nothing [budgets.hard]', () => {
  const messages = [{ role: 'user', content: 'x' }];
  const ofChat = (body: object) => asked({ messages, ...body }, 'chat.completions').answerTokensMax;
  const ofResponse = (body: object) => asked({ input: 'x', ...body }, 'responses').answerTokensMax;
  expect(ofChat({})).toBeUndefined();
  expect(ofChat({ max_tokens: 5, max_completion_tokens: 9, max_output_tokens: null })).toBe(9);
  // A server of chats overlooks it, and writes as much as without it.
  for (const value of [1, 0.5, 9.5]) expect(ofChat({ max_output_tokens: value })).toBe(4_096);
  for (const value of [-1e9, '1', [1]])
    expect(ofChat({ max_output_tokens: value })).toBe(Number.POSITIVE_INFINITY);
  // These some servers take before those that are checked.
  expect(ofChat({ max_tokens: 5, n_predict: -1 })).toBe(Number.POSITIVE_INFINITY);
  expect(ofChat({ max_tokens: 5, max_new_tokens: 70.5 })).toBe(71);
  expect(ofResponse({ max_output_tokens: 5 })).toBe(5);
  expect(ofResponse({ max_output_tokens: 5, max_completion_tokens: 70 })).toBe(70);
  expect(asked({ prompt: 'x', max_tokens: 0 }, 'completions').answerTokensMax).toBe(0);
});

it('a request for a message goes on as the chat that it is, under its own route and the digest of what came', () => {
  const raw = {
    model: 'm',
    max_tokens: 9,
    stream: true,
    region: 'eu',
    thinking: { type: 'disabled' },
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    tools: [
      { name: 'f', input_schema: {} },
      { type: 'web_search_20250305', name: 'web_search' },
    ],
  };
  const { unrouted, body } = readMessage(raw);
  expect(unrouted.entry).toMatchObject({ route: 'messages', stream: true, omitsThoughts: true });
  const { salt, requestDigest } = unrouted.entry;
  expect(requestDigest).toBe(digest(salt, Buffer.from(JSON.stringify(raw))));
  expect(unrouted.asked).toMatchObject({
    model: 'm',
    region: 'eu',
    tools: { field: 'tools', count: 1 },
  });
  expect(body.route).toBe('chat.completions');
  expect(JSON.parse(body.text)).toEqual(body.parsed);
  expect(body.rawBody.toString()).toBe(body.text);
  expect(body.parsed).toMatchObject({ messages: [{ role: 'user', content: 'Hi' }] });
});

const readMessage = (body: object) =>
  read(
    { newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA', processId: 'api-1', shards: 1 },
    {
      id: REQUEST_ID,
      route: 'messages',
      rawBody: Buffer.from(JSON.stringify(body)),
      headers: {},
      credential: CREDENTIAL,
      now: NOW,
    },
  );
