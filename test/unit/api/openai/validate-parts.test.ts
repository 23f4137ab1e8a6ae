import { describe } from 'vitest';
import { validateChat } from '#api/openai/validate.ts';
import { refuses, withMessage } from './rules.ts';

describe('validateChat, content parts and tool calls', () => {
  const part = (content: unknown, role = 'user') => withMessage({ role, content: [content] });
  refuses(validateChat, [
    ['a part without a type', part({ text: 'x' }), 'messages', 'messages[0].content[0].type'],
    [
      'a part of an unknown type',
      part({ type: 'hologram' }),
      'messages',
      'messages[0].content[0].type',
    ],
    ['a text part without text', part({ type: 'text' }), 'messages', 'messages[0].content[0].text'],
    [
      'an image part without an image',
      part({ type: 'image_url' }),
      'messages',
      'messages[0].content[0].image_url',
    ],
    [
      'an image without a url',
      part({ type: 'image_url', image_url: {} }),
      'messages',
      'messages[0].content[0].image_url.url',
    ],
    [
      'audio without a format',
      part({ type: 'input_audio', input_audio: { data: 'AA==' } }),
      'messages',
      'messages[0].content[0].input_audio.format',
    ],
    [
      'a file part that is a string',
      part({ type: 'file', file: 'x' }),
      'messages',
      'messages[0].content[0].file',
    ],
    [
      'a refusal part of a user',
      part({ type: 'refusal', refusal: 'no' }),
      'messages',
      'messages[0].content[0].type',
    ],
    [
      'an image part of an assistant',
      part({ type: 'image_url', image_url: { url: 'x' } }, 'assistant'),
      'messages',
      'messages[0].content[0].type',
    ],
  ]);

  const call = (over: object) =>
    withMessage({
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' }, ...over },
      ],
    });
  refuses(validateChat, [
    [
      'a tool call without an id',
      call({ id: undefined }),
      'messages',
      'messages[0].tool_calls[0].id',
    ],
    [
      'a tool call of an unknown type',
      call({ type: 'x' }),
      'messages',
      'messages[0].tool_calls[0].type',
    ],
    [
      'arguments that are not text',
      call({ function: { name: 'f', arguments: {} } }),
      'messages',
      'messages[0].tool_calls[0].function.arguments',
    ],
  ]);
});
