import { expect, it } from 'vitest';
import { read } from '#api/inference/read.ts';
import type { Route } from '#shared/kernel/inference.ts';
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
  ).unrouted.asked.embeddings;

it.each([
  ['a text', 'one', 1],
  ['ids of one text', [1, 2, 3], 1],
  ['texts', ['one', 'two'], 2],
  ['ids of several texts', [[1, 2, 3], [4]], 2],
])('an embeddings request is known by how many vectors it asks for: %s', (_what, input, inputs) => {
  expect(asked({ input })).toEqual({ inputs, dimensions: undefined });
  expect(asked({ input, dimensions: 256 })).toEqual({ inputs, dimensions: 256 });
});

it('a chat request that passes a field of that name on asks for no vectors', () => {
  const messages = [{ role: 'user', content: 'x' }];
  const input = Array.from({ length: 5_000 }, () => 'x');
  expect(asked({ messages, input }, 'chat.completions')).toBeUndefined();
});
