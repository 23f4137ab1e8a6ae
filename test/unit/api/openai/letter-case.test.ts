import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  validateChat,
  validateCompletion,
  validateEmbedding,
  validateResponse,
} from '#api/openai/validate.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const message = { role: 'user', content: 'x' };
const chat = { model: 'm', messages: [message] };

function refusal(work: () => unknown): { code: string; param: string | null } | null {
  const fault = thrownBy(Fault, work);
  return fault === undefined ? null : { code: fault.code, param: fault.param };
}

describe('a member that is a known one in another spelling is refused', () => {
  it.each<[string, object, string, string]>([
    ['Messages', { Messages: [message] }, 'messages', 'messages'],
    ['MESSAGES', { MESSAGES: 'anything' }, 'messages', 'messages'],
    ['a long s', { meſſages: [message] }, 'messages', 'messages'],
    ['a Kelvin sign', { toKen: 1, max_toKens: 1 }, 'max_tokens', 'max_tokens'],
    ['Stream', { Stream: true }, 'stream', 'stream'],
    ['Region', { Region: 'eu-west' }, 'region', 'region'],
    ['maxTokens', { maxTokens: 1_000_000 }, 'max_tokens', 'max_tokens'],
    [
      'max-completion-tokens',
      { 'max-completion-tokens': 9 },
      'max_completion_tokens',
      'max_completion_tokens',
    ],
    [
      'includeUsage',
      { stream: true, stream_options: { includeUsage: true } },
      'stream_options',
      'stream_options.include_usage',
    ],
    [
      'imageUrl in a part',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'x' }, imageUrl: { url: 'y' } }],
          },
        ],
      },
      'messages',
      'messages[0].content[0].image_url',
    ],
    [
      'toolCalls of a message',
      { messages: [{ ...message, toolCalls: [] }] },
      'messages',
      'messages[0].tool_calls',
    ],
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

  it('in completions, embeddings and responses as well', () => {
    const completion = { model: 'm', prompt: 'x', Prompt: 'y' };
    const embedding = { model: 'm', input: 'x', encodingFormat: 'float' };
    const response = { model: 'm', input: 'x', maxOutputTokens: 9 };
    expect(refusal(() => validateCompletion(completion))?.param).toBe('prompt');
    expect(refusal(() => validateEmbedding(embedding))?.param).toBe('encoding_format');
    expect(refusal(() => validateResponse(response))?.param).toBe('max_output_tokens');
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
      'max_tokens',
      'response_format',
    ] as const;
    forAll(
      [fc.constantFrom(...fields), fc.constantFrom('_', '-', ''), fc.infiniteStream(fc.boolean())],
      (field, gap, upper) => {
        const spelt = Array.from(field.replaceAll('_', gap), (letter) =>
          upper.next().value === true ? letter.toUpperCase() : letter,
        ).join('');
        fc.pre(spelt !== field);
        expect(refusal(() => validateChat({ ...chat, [spelt]: 1 }))?.param).toBe(field);
      },
    );
  });
});

it('names inside a tool’s own schema are the caller’s', () => {
  const parameters = {
    type: 'object',
    properties: { Name: {}, Content: {}, Messages: {}, maxTokens: {} },
    Type: 1,
  };
  const tools = [{ type: 'function', function: { name: 'f', parameters } }];
  expect(refusal(() => validateChat({ ...chat, tools, metadata: { Model: 'x' } }))).toBeNull();
});
