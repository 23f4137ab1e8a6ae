import { describe, expect, it } from 'vitest';
import { validateChat } from '#api/openai/validate.ts';
import {
  acceptsEdges,
  chat,
  refuses,
  samplerEdges,
  samplerRows,
  user,
  withMessage,
} from './rules.ts';

describe('validateChat', () => {
  refuses(validateChat, samplerRows(chat));
  acceptsEdges(validateChat, chat, samplerEdges);
  acceptsEdges(validateChat, chat, {
    max_completion_tokens: [1, 5000, null],
    logprobs: [true, false, null],
    top_logprobs: [0, 20],
  });

  refuses(validateChat, [
    ['max_tokens: 0', chat({ max_tokens: 0 }), 'max_tokens'],
    ['a missing model', { messages: [user] }, 'model'],
    ['an empty model', chat({ model: '' }), 'model'],
    ['a model that is not a string', chat({ model: 5 }), 'model'],
    ['a model name beyond all bounds', chat({ model: 'x'.repeat(257) }), 'model'],
    ['missing messages', { model: 'm' }, 'messages'],
    ['messages that are not an array', chat({ messages: 'hello' }), 'messages'],
    ['no messages', chat({ messages: [] }), 'messages'],
    ['a message that is not an object', withMessage(user, 'hello'), 'messages', 'messages[1]'],
    ['a null message', withMessage(null), 'messages', 'messages[0]'],
    ['a message without a role', withMessage({ content: 'x' }), 'messages', 'messages[0].role'],
    [
      'an unknown role',
      withMessage(user, user, { role: 'bot', content: 'x' }),
      'messages',
      'messages[2].role',
    ],
    ['a message without content', withMessage({ role: 'user' }), 'messages', 'messages[0].content'],
    [
      'null content of a user',
      withMessage({ role: 'user', content: null }),
      'messages',
      'messages[0].content',
    ],
    [
      'content that is a number',
      withMessage({ role: 'user', content: 5 }),
      'messages',
      'messages[0].content',
    ],
    [
      'an empty array of parts',
      withMessage({ role: 'user', content: [] }),
      'messages',
      'messages[0].content',
    ],
    [
      'a part that is not an object',
      withMessage({ role: 'user', content: ['x'] }),
      'messages',
      'messages[0].content',
    ],
    [
      'a name that is not a string',
      withMessage({ ...user, name: 5 }),
      'messages',
      'messages[0].name',
    ],
    [
      'null content of an assistant without tool calls',
      withMessage({ role: 'assistant', content: null }),
      'messages',
      'messages[0].content',
    ],
    [
      'no content of an assistant without tool calls',
      withMessage({ role: 'assistant', content: [] }),
      'messages',
      'messages[0].content',
    ],
    [
      'missing content of an assistant without tool calls',
      withMessage(user, { role: 'assistant' }),
      'messages',
      'messages[1].content',
    ],
    [
      'a tool message without tool_call_id',
      withMessage({ role: 'tool', content: 'x' }),
      'messages',
      'messages[0].tool_call_id',
    ],
    [
      'a function message without a name',
      withMessage({ role: 'function', content: 'x' }),
      'messages',
      'messages[0].name',
    ],
    ['max_completion_tokens: 0', chat({ max_completion_tokens: 0 }), 'max_completion_tokens'],
    ['logprobs that is a number', chat({ logprobs: 3 }), 'logprobs'],
    ['top_logprobs: 21', chat({ top_logprobs: 21 }), 'top_logprobs'],
    ['top_logprobs: -1', chat({ top_logprobs: -1 }), 'top_logprobs'],
    [
      'stream_options without stream',
      chat({ stream_options: { include_usage: true } }),
      'stream_options',
    ],
    [
      'stream_options that is not an object',
      chat({ stream: true, stream_options: true }),
      'stream_options',
    ],
    [
      'include_usage that is not a boolean',
      chat({ stream: true, stream_options: { include_usage: 1 } }),
      'stream_options',
      'stream_options.include_usage',
    ],
    ['tools that is not an array', chat({ tools: {} }), 'tools'],
    ['a tool without a type', chat({ tools: [{}] }), 'tools', 'tools[0].type'],
    ['a tool of an unknown type', chat({ tools: [{ type: 'magic' }] }), 'tools', 'tools[0].type'],
    [
      'a function tool without its function',
      chat({ tools: [{ type: 'function' }] }),
      'tools',
      'tools[0].function',
    ],
    [
      'a function tool without a name',
      chat({ tools: [{ type: 'function', function: {} }] }),
      'tools',
      'tools[0].function.name',
    ],
    [
      'parameters that are not an object',
      chat({ tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] }),
      'tools',
      'tools[0].function.parameters',
    ],
    ['an unknown tool_choice', chat({ tool_choice: 'banana' }), 'tool_choice'],
    [
      'a tool_choice that names nothing',
      chat({ tool_choice: { type: 'function' } }),
      'tool_choice',
      'tool_choice.function',
    ],
    ['a response_format that is a string', chat({ response_format: 'json' }), 'response_format'],
    [
      'an unknown response_format',
      chat({ response_format: { type: 'xml' } }),
      'response_format',
      'response_format.type',
    ],
    [
      'json_schema without a schema',
      chat({ response_format: { type: 'json_schema' } }),
      'response_format',
      'response_format.json_schema',
    ],
    ['no functions', chat({ functions: [] }), 'functions'],
    ['a function without a name', chat({ functions: [{}] }), 'functions', 'functions[0].name'],
    ['an unknown function_call', chat({ function_call: 'banana' }), 'function_call'],
    [
      'a function_call without a name',
      chat({ function_call: {} }),
      'function_call',
      'function_call.name',
    ],
  ]);

  it('a conversation with every role, part and legacy shape is accepted [requests.messages]', () => {
    const body = chat({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be exact.' }] },
        {
          role: 'user',
          name: 'ada',
          content: [
            { type: 'text', text: 'What is this?' },
            {
              type: 'image_url',
              image_url: { url: 'data:image/png;base64,AA==', detail: 'low' },
            },
            { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
            { type: 'file', file: { file_data: 'AA==', filename: 'a.pdf' } },
            { type: 'video_url', video_url: { url: 'https://example.org/a.mp4' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'ok' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        { role: 'assistant', function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: null },
        // An answer sent back as it came, with its nulls and unknown members.
        {
          role: 'assistant',
          content: 'Yes.',
          refusal: null,
          tool_calls: null,
          function_call: null,
          audio: null,
          annotations: [],
          reasoning_content: 'x',
        },
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'user', content: '' },
      ],
      functions: [{ name: 'f', parameters: { type: 'object' } }],
      function_call: { name: 'f' },
      tools: [
        { type: 'function', function: { name: 'f', parameters: {}, strict: true } },
        { type: 'custom', custom: { name: 'c' } },
      ],
      tool_choice: { type: 'function', function: { name: 'f' } },
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } },
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: false },
    });
    expect(validateChat(body)).toBe(body);
  });

  it('unknown fields pass through untouched [requests.unknown-fields]', () => {
    const body = chat({
      metadata: { a: 1 },
      chat_template_kwargs: { enable_thinking: false },
      prediction: 5,
    });
    expect(validateChat(structuredClone(body))).toEqual(body);
  });

  it.each([
    { role: 'assistant', content: null, tool_calls: [] },
    { role: 'assistant', content: [], tool_calls: [] },
    { role: 'assistant', reasoning_content: 'The user greets.' },
  ])('an answer is taken back as its client got it: %j', (message) => {
    const body = withMessage(user, message);
    expect(validateChat(structuredClone(body))).toEqual(body);
  });
});
