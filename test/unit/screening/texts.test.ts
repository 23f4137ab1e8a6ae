import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Route } from '#shared/kernel/inference.ts';
import { textsOf } from '#shared/screening/prompt.ts';

const decode = (tokens: readonly number[]): string => `<${tokens.join(' ')}>`;

describe('the texts of a request', () => {
  it('are all texts that a chat model reads, from every role', () => {
    const body = {
      messages: [
        { role: 'system', content: 'system' },
        {
          role: 'developer',
          content: [
            { type: 'text', text: 'part 1' },
            { type: 'text', text: 'part 2' },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:…' } },
            { type: 'text', text: 'user' },
          ],
        },
        {
          role: 'assistant',
          content: null,
          refusal: 'refusal',
          tool_calls: [
            { type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
            { type: 'custom', custom: { name: 'c', input: 'custom' } },
          ],
          function_call: { name: 'g', arguments: '{"b":2}' },
        },
        { role: 'tool', content: 'tool' },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: 'described' } }],
      functions: [{ name: 'g', description: 'legacy' }],
      prediction: { type: 'content', content: 'predicted' },
    };
    expect(textsOf('chat.completions', body)).toEqual([
      'system',
      'part 1',
      'part 2',
      'user',
      'refusal',
      '{"a":1}',
      'custom',
      '{"b":2}',
      'tool',
      'described',
      'legacy',
      'predicted',
    ]);
  });

  it.each<[string, Route, unknown, string[]]>([
    ['a prompt', 'completions', { prompt: 'a', suffix: 'b' }, ['a', 'b']],
    ['prompts', 'completions', { prompt: ['a', 'b'] }, ['a', 'b']],
    ['a prompt of tokens', 'completions', { prompt: [1, 2] }, ['<1 2>']],
    ['prompts of tokens', 'completions', { prompt: [[1], [2, 3]] }, ['<1>', '<2 3>']],
    ['an input', 'embeddings', { input: 'a' }, ['a']],
    ['inputs', 'embeddings', { input: ['a', '', 'b'] }, ['a', 'b']],
    ['inputs of tokens', 'embeddings', { input: [[7, 8]] }, ['<7 8>']],
    ['nothing', 'embeddings', {}, []],
  ])('are listed for %s', (_, route, body, expected) => {
    expect(textsOf(route, body, decode)).toEqual(expected);
  });

  it('leave out tokens whose vocabulary is unknown', () => {
    expect(textsOf('completions', { prompt: [1, 2] })).toEqual([]);
  });

  it('are listed without an error for any body', () => {
    const key = fc.constantFrom(
      'messages',
      'content',
      'text',
      'tool_calls',
      'function',
      'prompt',
      'input',
      'tools',
    );
    const { body } = fc.letrec<{ body: unknown }>((tie) => ({
      body: fc.oneof(
        { maxDepth: 5 },
        fc.anything(),
        fc.dictionary(key, tie('body')),
        fc.array(tie('body')),
      ),
    }));
    fc.assert(
      fc.property(
        fc.constantFrom<Route>('chat.completions', 'completions', 'embeddings'),
        body,
        (route, value) => {
          for (const text of textsOf(route, value, decode)) expect(typeof text).toBe('string');
        },
      ),
    );
  });
});
