import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { validateResponse } from '#api/openai/validate.ts';
import { SAMPLES } from '#dev/responses-table.ts';
import { chatRequestOf } from '#shared/dialects/chat-of-response.ts';

/** The parameters of a custom tool; the description of its text ends so. */
const textParameters = (ending: string) => ({
  type: 'object',
  properties: {
    input: {
      type: 'string',
      description: expect.toSatisfy((said: string) => said.endsWith(ending)),
    },
  },
  required: ['input'],
  additionalProperties: false,
});

describe('a request for a response, as a chat', () => {
  it.each(['none', 'minimal', 'xhigh', 'max'])(
    'has the effort %s as it was asked for',
    (effort) => {
      const asked = { model: 'm', input: 'Hi', reasoning: { effort } };
      expect(chatRequestOf(validateResponse(asked))).toMatchObject({ reasoning_effort: effort });
    },
  );

  it('keeps the order of a conversation, with calls in the message that made them', () => {
    const { messages } = chatRequestOf({
      instructions: 'Be short.',
      input: [
        { role: 'developer', content: 'In Danish.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'I look.', annotations: [] }],
        },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' },
        { type: 'custom_tool_call', call_id: 'b', name: 'g', input: 'raw' },
        { type: 'function_call_output', call_id: 'a', output: 'Rain.' },
        {
          type: 'custom_tool_call_output',
          call_id: 'b',
          output: [{ type: 'input_text', text: 'Wind.' }],
        },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'And this?' },
            { type: 'input_image', image_url: 'https://example.org/a.png', detail: 'low' },
            { type: 'input_file', file_data: 'data:,x', filename: 'x.txt' },
          ],
        },
      ],
    });
    expect(messages).toEqual([
      { role: 'system', content: 'Be short.\n\nIn Danish.' },
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{"input":"raw"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'Rain.' },
      { role: 'tool', tool_call_id: 'b', content: 'Wind.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'And this?' },
          { type: 'image_url', image_url: { url: 'https://example.org/a.png', detail: 'low' } },
          { type: 'file', file: { file_data: 'data:,x', filename: 'x.txt' } },
        ],
      },
    ]);
  });

  it('says what it asks of the answer in the words of chats, and nothing that chat servers do not know', () => {
    const schema = { type: 'object' };
    const format = { type: 'json_schema', name: 'x', schema, strict: true };
    const parameters = { type: 'object' };
    expect(
      chatRequestOf({
        model: 'm',
        input: 'Hi',
        max_output_tokens: 9,
        text: { format, verbosity: 'low' },
        reasoning: { effort: 'low', summary: 'auto' },
        tools: [
          { type: 'function', name: 'f', description: null, parameters, strict: true },
          {
            type: 'custom',
            name: 'g',
            format: { type: 'grammar', syntax: 'regex', definition: '.' },
          },
        ],
        tool_choice: {
          type: 'allowed_tools',
          mode: 'auto',
          tools: [{ type: 'function', name: 'f' }],
        },
        top_logprobs: 2,
        metadata: { team: 'x' },
        store: true,
        include: ['reasoning.encrypted_content'],
        temperature: null,
        seed: 7,
      }),
    ).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 9,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
      verbosity: 'low',
      reasoning_effort: 'low',
      tools: [
        { type: 'function', function: { name: 'f', parameters, strict: true } },
        { type: 'function', function: { name: 'g', parameters: textParameters('(regex):\n.') } },
      ],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] },
      },
      logprobs: true,
      top_logprobs: 2,
      seed: 7,
    });
  });

  it('has custom tools as functions of one text, in choices too, and no half of a grammar', () => {
    const custom = (name: string, definition: string) => ({
      type: 'custom',
      name,
      description: 'D.',
      format: { type: 'grammar', syntax: 'lark', definition },
    });
    const body = {
      input: 'Hi',
      tools: [custom('patch', 'start: x'), custom('long', 'x'.repeat(16_385))],
    };
    const chosen = { type: 'function', function: { name: 'patch' } };
    expect(chatRequestOf({ ...body, tool_choice: { type: 'custom', name: 'patch' } })).toEqual({
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'patch',
            description: 'D.',
            parameters: textParameters('(lark):\nstart: x'),
          },
        },
        {
          type: 'function',
          function: { name: 'long', description: 'D.', parameters: textParameters('JSON of it.') },
        },
      ],
      tool_choice: chosen,
    });
    const tools = [{ type: 'custom', name: 'patch' }];
    const choice = { type: 'allowed_tools', mode: 'auto', tools };
    expect(chatRequestOf({ ...body, tool_choice: choice })['tool_choice']).toEqual({
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [chosen] },
    });
  });

  it('has one message of the system at its beginning, and texts alone as one text', () => {
    const texts = [
      { type: 'input_text', text: 'A' },
      { type: 'input_text', text: 'B' },
    ];
    const { messages } = chatRequestOf({
      instructions: 'First.',
      input: [
        { role: 'system', content: texts },
        { role: 'developer', content: 'Last.' },
        { role: 'user', content: texts },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: texts },
        { type: 'function_call_output', call_id: 'b', output: [] },
        { role: 'developer', content: texts },
        { role: 'developer', content: 'Hurry.' },
      ],
    });
    expect(messages).toEqual([
      { role: 'system', content: 'First.\n\nA\n\nB\n\nLast.' },
      { role: 'user', content: 'A\nB' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'A\nB' },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'system', content: 'A\n\nB' },
      { role: 'system', content: 'Hurry.' },
    ]);
  });

  it('has what tools returned right behind the calls, and their images in a message of the user’s behind that', () => {
    const call = (id: string) => ({
      type: 'function_call',
      call_id: id,
      name: 'f',
      arguments: '{}',
    });
    const image = { type: 'input_image', image_url: 'https://example.org/a.png' };
    const { messages } = chatRequestOf({
      input: [
        call('a'),
        call('b'),
        { role: 'user', content: 'Hurry.' },
        call('c'),
        { type: 'function_call_output', call_id: 'a', output: [image] },
        {
          type: 'function_call_output',
          call_id: 'b',
          output: [{ type: 'input_text', text: 'Rain.' }, image],
        },
        { type: 'function_call_output', call_id: 'c', output: [image] },
      ],
    });
    const part = { type: 'image_url', image_url: { url: 'https://example.org/a.png' } };
    const returned = (id: string) => ({ type: 'text', text: `Returned by the call ${id}:` });
    const below = 'See the next message of the user.';
    expect(messages).toEqual([
      { role: 'assistant', content: null, tool_calls: [{}, {}].map(() => expect.anything()) },
      { role: 'tool', tool_call_id: 'a', content: below },
      { role: 'tool', tool_call_id: 'b', content: 'Rain.' },
      {
        role: 'user',
        content: [returned('a'), part, returned('b'), part, { type: 'text', text: 'Hurry.' }],
      },
      { role: 'assistant', content: null, tool_calls: [expect.anything()] },
      { role: 'tool', tool_call_id: 'c', content: below },
      { role: 'user', content: [returned('c'), part] },
    ]);
  });

  it('has an entry in the table of every field that OpenAI’s SDK knows', () => {
    const types = readFileSync(
      new URL('../../../node_modules/openai/resources/responses/responses.d.ts', import.meta.url),
      'utf8',
    );
    const [, body] = /interface ResponseCreateParamsBase \{\n([^]*?)\n\}/.exec(types)!;
    const fields = [...body!.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name]) => name);
    expect(fields.length).toBeGreaterThan(30);
    expect(new Set(Object.keys(SAMPLES))).toEqual(new Set(fields));
  });
});
