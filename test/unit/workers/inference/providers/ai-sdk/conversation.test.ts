import { describe, expect, it } from 'vitest';
import { MESSAGES, speakNatively, TOOLS } from './speak.ts';

const { upstream, call } = speakNatively();

describe('a conversation', () => {
  const PNG = 'iVBORw0KGgo=';
  const HISTORY = [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'get_weather', arguments: '{"city":"Brest"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    { role: 'user', content: 'And now?' },
  ];

  it('a conversation reaches Anthropic with system prompt, image, call and result in their places', async () => {
    upstream.answer = { fixture: 'anthropic/text.json' };
    await call('anthropic', { messages: HISTORY, tools: TOOLS });
    const { system, messages } = upstream.last.body as {
      system: { text: string }[];
      messages: { role: string; content: Record<string, unknown>[] }[];
    };
    expect(system.map(({ text }) => text)).toEqual(['Be brief.\n\n', 'Be kind.']);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(messages[0]!.content[1]).toMatchObject({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: PNG },
    });
    expect(messages[1]!.content[0]).toMatchObject({
      type: 'tool_use',
      id: 'call_1',
      name: 'get_weather',
      input: { city: 'Brest' },
    });
    expect(messages[2]!.content).toMatchObject([
      { type: 'tool_result', tool_use_id: 'call_1', content: 'rain' },
      { type: 'text', text: 'And now?' },
    ]);
  });

  it('a conversation reaches Google with system prompt, image and call in their places', async () => {
    upstream.answer = { fixture: 'google/text.json' };
    await call('google', { messages: HISTORY, tools: TOOLS });
    const { systemInstruction, contents } = upstream.last.body as {
      systemInstruction: { parts: { text: string }[] };
      contents: { role: string; parts: Record<string, unknown>[] }[];
    };
    expect(systemInstruction.parts.map(({ text }) => text)).toEqual(['Be brief.\n\n', 'Be kind.']);
    expect(contents[0]!.parts[1]).toMatchObject({
      inlineData: { mimeType: 'image/png', data: PNG },
    });
    expect(contents[1]!.parts[0]).toMatchObject({ functionCall: { name: 'get_weather' } });
  });

  it('an instruction in the middle of a conversation keeps its place', async () => {
    upstream.answer = { fixture: 'anthropic/text.json' };
    const messages = [...MESSAGES, { role: 'system', content: 'Now in verse.' }];
    await call('anthropic', { messages });
    expect(JSON.stringify(upstream.last.body['messages'])).toContain('Now in verse.');
  });

  const remote = { type: 'image_url', image_url: { url: 'http://169.254.169.254/latest' } };
  it.each([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['logit_bias', { logit_bias: { 1: 5 } }],
    ['tools[0]', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
    ['response_format', { response_format: { type: 'grammar' } }],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] }],
    ['messages[0].content[0].image_url.url', { messages: [{ role: 'user', content: [remote] }] }],
  ])(
    'a conversation that the provider cannot express is refused at %s, never changed',
    async (at, rest) => {
      const before = upstream.requests.length;
      const { failure } = await call('google', rest);
      expect(failure).toMatchObject({ kind: 'rejected', param: at });
      expect(upstream.requests).toHaveLength(before);
    },
  );
});
