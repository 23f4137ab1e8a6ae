import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { promptsOf } from '#shared/screening/prompt.ts';
import { forAll } from '#test/support/for-all.ts';

describe('promptsOf', () => {
  it('makes one prompt of a chat, with the texts that the model reads', () => {
    const body = {
      messages: [
        { role: 'system', content: 'a' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'b' },
            { type: 'image_url', image_url: { url: 'data:x' } },
          ],
        },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: 'c' } }],
      prediction: { type: 'content', content: 'not read' },
    };
    expect(promptsOf('chat.completions', body)).toEqual([
      { texts: ['a', 'b', 'c'], tokens: 0, messages: 2 },
    ]);
  });

  it('counts no text in a file, which is a medium to most servers: a drawing has none of the tokens of its source', () => {
    const source = Buffer.from('<svg>drawn</svg>').toString('base64');
    const url = `data:image/svg+xml;base64,${source}`;
    const drawing = { type: 'image_url', image_url: { url } };
    const content = [{ type: 'text', text: 'b' }, drawing];
    expect(promptsOf('chat.completions', { messages: [{ role: 'user', content }] })).toEqual([
      { texts: ['b'], tokens: 0, messages: 1 },
    ]);
  });

  it.each([
    ['a text', 'x', [[['x'], 0]]],
    [
      'texts',
      ['x', 'y'],
      [
        [['x'], 0],
        [['y'], 0],
      ],
    ],
    ['tokens', [1, 2, 3], [[[], 3]]],
    [
      'token arrays',
      [[1], [2, 3]],
      [
        [[], 1],
        [[], 2],
      ],
    ],
  ])('makes one prompt of each input: %s', (_what, input, expected) => {
    const prompts = expected.map(([texts, tokens]) => ({ texts, tokens, messages: 0 }));
    expect(promptsOf('embeddings', { input })).toEqual(prompts);
    expect(promptsOf('completions', { prompt: input })).toEqual(prompts);
  });

  it('counts the suffix with each prompt it belongs to', () => {
    expect(promptsOf('completions', { prompt: 'x', suffix: 'z' })[0]?.texts).toEqual(['x', 'z']);
  });

  it('never throws, for any body', () => {
    forAll(
      [
        fc.dictionary(
          fc.constantFrom('messages', 'prompt', 'input', 'tools', 'suffix'),
          fc.jsonValue(),
        ),
      ],
      (body) => {
        for (const route of ['chat.completions', 'completions', 'embeddings'] as const)
          promptsOf(route, body);
      },
    );
  });
});
