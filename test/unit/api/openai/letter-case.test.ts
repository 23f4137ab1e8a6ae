import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateChat, validateCompletion, validateEmbedding } from '#api/openai/validate.ts';
import { Fault } from '#shared/kernel/errors.ts';

const message = { role: 'user', content: 'x' };
const chat = { model: 'm', messages: [message] };

function refusal(work: () => unknown): { code: string; param: string | null } | null {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { code: error.code, param: error.param };
  }
}

describe('a member that equals a known one but for the case of its letters is refused', () => {
  it.each<[string, object, string, string]>([
    ['Messages', { Messages: [message] }, 'messages', 'messages'],
    ['MESSAGES', { MESSAGES: 'anything' }, 'messages', 'messages'],
    ['a long s', { meſſages: [message] }, 'messages', 'messages'],
    ['a Kelvin sign', { toKen: 1, max_toKens: 1 }, 'max_tokens', 'max_tokens'],
    ['Stream', { Stream: true }, 'stream', 'stream'],
    ['Region', { Region: 'eu-west' }, 'region', 'region'],
    [
      'Content in a message',
      { messages: [{ ...message, Content: 'y' }] },
      'messages',
      'messages[0].content',
    ],
    [
      'ROLE in the second message',
      { messages: [message, { ...message, ROLE: 'system' }] },
      'messages',
      'messages[1].role',
    ],
    [
      'Text in a part',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', Text: 'y' }] }] },
      'messages',
      'messages[0].content[0].text',
    ],
    [
      'URL of an image',
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'x', URL: 'y' } }] },
        ],
      },
      'messages',
      'messages[0].content[0].image_url.url',
    ],
    [
      'Arguments of a call',
      {
        messages: [
          message,
          {
            role: 'assistant',
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'f', arguments: '', Arguments: 'y' } },
            ],
          },
        ],
      },
      'messages',
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      'Description of a tool',
      { tools: [{ type: 'function', function: { name: 'f', Description: 'y' } }] },
      'tools',
      'tools[0].function.description',
    ],
    [
      'Include_Usage',
      { stream: true, stream_options: { Include_Usage: true } },
      'stream_options',
      'stream_options.include_usage',
    ],
  ])('%s', (_what, changes, param, path) => {
    const found = refusal(() => validateChat({ ...chat, ...changes }));
    expect(found).toEqual({ code: `invalid_${param}`, param: path });
  });

  it('in completions and embeddings as well', () => {
    const completion = { model: 'm', prompt: 'x', Prompt: 'y' };
    const embedding = { model: 'm', input: 'x', INPUT: 'y' };
    expect(refusal(() => validateCompletion(completion))?.param).toBe('prompt');
    expect(refusal(() => validateEmbedding(embedding))?.param).toBe('input');
  });

  it('in any spelling of any field of the body', () => {
    const fields = [
      'model',
      'messages',
      'temperature',
      'tools',
      'user',
      'receipt',
      'top_k',
    ] as const;
    fc.assert(
      fc.property(fc.constantFrom(...fields), fc.infiniteStream(fc.boolean()), (field, upper) => {
        const spelt = field
          .split('')
          .map((letter) => (upper.next().value === true ? letter.toUpperCase() : letter))
          .join('');
        fc.pre(spelt !== field);
        expect(refusal(() => validateChat({ ...chat, [spelt]: 1 }))?.param).toBe(field);
      }),
    );
  });
});

it('names inside a tool’s own schema are the caller’s', () => {
  const parameters = {
    type: 'object',
    properties: { Name: {}, Content: {}, Messages: {} },
    Type: 1,
  };
  const tools = [{ type: 'function', function: { name: 'f', parameters } }];
  expect(refusal(() => validateChat({ ...chat, tools, metadata: { Model: 'x' } }))).toBeNull();
});
