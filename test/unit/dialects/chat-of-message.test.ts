import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SAMPLES } from '#dev/messages-table.ts';
import { validateMessage } from '#api/anthropic/validate.ts';
import { CALLER_NAMES, chatOfMessage } from '#shared/dialects/chat-of-message.ts';
import { isObject, listOf } from '#shared/kernel/json-object.ts';
import { textsOf } from '#shared/screening/texts.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { messageRequest } from '#test/support/message-requests.ts';

const PNG = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const text = (words: string) => ({ type: 'text', text: words });

describe('a request for a message, as a chat', () => {
  it('keeps the order of a conversation, with what tools returned right behind their calls', () => {
    const { messages } = chatOfMessage({
      system: [{ ...text('Be short.'), cache_control: { type: 'ephemeral' } }, text('In Danish.')],
      messages: [
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
            { type: 'redacted_thinking', data: 'x' },
            text('I look.'),
            { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
            { type: 'tool_use', id: 'b', name: 'g', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            text('Here.'),
            { type: 'tool_result', tool_use_id: 'a', content: 'Rain.' },
            { type: 'tool_result', tool_use_id: 'b', content: [text('Wind'), text('and sea.')] },
            { type: 'tool_result', tool_use_id: 'c', is_error: true },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'd', name: 'f', input: {} }] },
        { role: 'system', content: 'Hurry.' },
      ],
    });
    expect(messages).toEqual([
      { role: 'system', content: 'Be short.\n\nIn Danish.' },
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'Hm.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'Rain.' },
      { role: 'tool', tool_call_id: 'b', content: 'Wind\nand sea.' },
      { role: 'tool', tool_call_id: 'c', content: '' },
      { role: 'user', content: 'Here.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'd', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'system', content: 'Hurry.' },
    ]);
  });

  it('has images and documents as parts, and documents that are texts as texts', () => {
    const { messages } = chatOfMessage({
      messages: [
        {
          role: 'user',
          content: [
            text('Look.'),
            { type: 'image', source: PNG },
            { type: 'image', source: { type: 'url', url: 'https://pictures.example/a.png' } },
            {
              type: 'document',
              title: 'Tides',
              source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
            },
            {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: 'High at noon.' },
            },
            {
              type: 'document',
              source: {
                type: 'content',
                content: [text('Low at six.'), { type: 'image', source: PNG }],
              },
            },
            { type: 'search_result', source: 'tides', title: 'T', content: [text('Spring tide.')] },
          ],
        },
      ],
    });
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          text('Look.'),
          image,
          { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
          text('Tides'),
          {
            type: 'file',
            file: { file_data: 'data:application/pdf;base64,JVBERg==', filename: 'Tides' },
          },
          text('High at noon.'),
          text('Low at six.'),
          image,
          text('T'),
          text('tides'),
          text('Spring tide.'),
        ],
      },
    ]);
  });

  it('has one message of the system at its beginning, and images of tools in a message of the user’s', () => {
    const { messages } = chatOfMessage({
      system: 'Be short.',
      messages: [
        { role: 'system', content: 'In Danish.' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'a',
              content: [text('Rain.'), { type: 'image', source: PNG }],
            },
            text('Well?'),
          ],
        },
        { role: 'system', content: 'Hurry.' },
      ],
    });
    expect(messages).toEqual([
      { role: 'system', content: 'Be short.\n\nIn Danish.' },
      expect.objectContaining({ role: 'assistant' }),
      { role: 'tool', tool_call_id: 'a', content: 'Rain.' },
      {
        role: 'user',
        content: [
          text('Returned by the call a:'),
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          text('Well?'),
        ],
      },
      { role: 'system', content: 'Hurry.' },
    ]);
  });

  it('has names that chat servers take, in tools, choices and calls, and says whose they are', () => {
    const long = 'f'.repeat(65);
    const chat = chatOfMessage({
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'a', name: 'sea.sail', input: {} }],
        },
      ],
      tools: ['sea.sail', 'sea_sail', long].map((name) => ({ name, input_schema: {} })),
      tool_choice: { type: 'tool', name: 'sea.sail' },
      [CALLER_NAMES]: [['sea_sail', 'another']],
    });
    const names = listOf(chat['tools']).map(
      (tool) => (tool as { function: { name: string } }).function.name,
    );
    expect(new Set(names).size).toBe(3);
    expect(names[1]).toBe('sea_sail');
    for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/);
    expect(chat).toMatchObject({
      messages: [{ tool_calls: [{ function: { name: names[0] } }] }],
      tool_choice: { function: { name: names[0] } },
      [CALLER_NAMES]: [
        [names[0], 'sea.sail'],
        [names[2], long],
      ],
    });
  });

  it('has the tools that its caller runs, and leaves out those that a server would have to run', () => {
    const tools = [
      { name: 'f', description: 'F.', input_schema: { type: 'object' }, strict: true },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
      { type: 'custom', name: 'g', input_schema: {}, cache_control: { type: 'ephemeral' } },
      { type: 'mcp_toolset', mcp_server_name: 's' },
    ];
    const choices = [
      [{ type: 'auto' }, { tool_choice: 'auto' }],
      [{ type: 'any' }, { tool_choice: 'required' }],
      [{ type: 'none' }, { tool_choice: 'none' }],
      [
        { type: 'tool', name: 'g', disable_parallel_tool_use: true },
        {
          tool_choice: { type: 'function', function: { name: 'g' } },
          parallel_tool_calls: false,
        },
      ],
      [{ type: 'tool', name: 'web_search' }, {}],
      [undefined, {}],
    ];
    for (const [choice, chosen] of choices) {
      expect(chatOfMessage({ messages: [], tools, tool_choice: choice })).toEqual({
        messages: [],
        tools: [
          {
            type: 'function',
            function: {
              name: 'f',
              description: 'F.',
              parameters: { type: 'object' },
              strict: true,
            },
          },
          { type: 'function', function: { name: 'g', parameters: {} } },
        ],
        ...chosen,
      });
    }
    const none = { messages: [], tools: [tools[1]], tool_choice: { type: 'any' } };
    expect(chatOfMessage(none)).toEqual({ messages: [] });
  });

  it('has other fields under the names of chats, extras of open servers as they are, and the rest not at all', () => {
    const format = { type: 'json_schema', schema: { type: 'object' } };
    expect(
      chatOfMessage({
        model: 'm',
        messages: [],
        max_tokens: 9,
        stream: true,
        temperature: 0.5,
        top_k: 4,
        min_p: 0.1,
        stop_sequences: ['END'],
        output_config: { effort: 'max', format },
        thinking: { type: 'enabled', budget_tokens: 1_024 },
        metadata: { user_id: 'user-1' },
        service_tier: 'auto',
        context_management: { edits: [] },
        mcp_servers: [],
      }),
    ).toEqual({
      model: 'm',
      messages: [],
      max_tokens: 9,
      stream: true,
      temperature: 0.5,
      top_k: 4,
      min_p: 0.1,
      stop: ['END'],
      reasoning_effort: 'high',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
      },
    });
  });

  it.each([
    ['none', 'none'],
    ['low', 'low'],
    ['xhigh', 'high'],
  ])('the effort %s is %s', (effort, reasoning_effort) => {
    const body = { model: 'm', messages: [], max_tokens: 9, output_config: { effort } };
    expect(chatOfMessage(body)).toMatchObject({ reasoning_effort });
  });

  it('has an entry in the table of every field that Anthropic’s SDK knows', () => {
    const types = readFileSync(
      new URL(
        '../../../node_modules/@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
        import.meta.url,
      ),
      'utf8',
    );
    const [, body] = /interface MessageCreateParamsBase \{\n([^]*?)\n\}/.exec(types)!;
    const fields = [...body!.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name]) => name);
    expect(fields.length).toBeGreaterThan(25);
    expect(Object.keys(SAMPLES)).toEqual(expect.arrayContaining(fields));
  });

  it('is a valid chat for every valid request', () => {
    forAll([messageRequest], { numRuns: runs(1_000) }, (request) => {
      expect(validateMessage({ value: request, text: JSON.stringify(request) }).chat.model).toBe(
        'm',
      );
    });
  });

  it('holds, where screening reads, every word of the conversation but what is redacted', () => {
    forAll([messageRequest], { numRuns: runs(1_000) }, (request) => {
      const chat = chatOfMessage(structuredClone(request));
      const { prompt, joined, beside } = textsOf('chat.completions', chat);
      const read = [...prompt, ...joined, ...beside].join('\u0000');
      for (const word of wordsIn([request.system, request.messages])) expect(read).toContain(word);
    });
  });

  it('keeps every call and every answer to one, in their order', () => {
    forAll([messageRequest], { numRuns: runs(1_000) }, (request) => {
      const blocks = listOf(request.messages)
        .filter(isObject)
        .flatMap(({ content }) => listOf(content).filter(isObject));
      const messages = listOf(chatOfMessage(structuredClone(request))['messages']).filter(isObject);
      const calls = messages.flatMap(({ tool_calls }) => listOf(tool_calls)).filter(isObject);
      const ids = (type: string, name: string) =>
        blocks.flatMap((block) => (block['type'] === type ? [block[name]] : []));
      expect(calls.map((call) => call['id'])).toEqual(ids('tool_use', 'id'));
      const results = messages.filter(({ role }) => role === 'tool');
      expect(results.map((result) => result['tool_call_id'])).toEqual(
        ids('tool_result', 'tool_use_id'),
      );
    });
  });
});

/** Everything that is said in a value of Anthropic's interface. */
function wordsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(wordsIn);
  if (!isObject(value)) return [];
  if (value['type'] === 'image' || value['type'] === 'redacted_thinking') return [];
  const { text: said, thinking, content, system, title, context, source } = value;
  const isData = isObject(source) && source['type'] === 'base64';
  const data = isObject(source) && source['type'] === 'text' ? source['data'] : undefined;
  const inside = isObject(source) ? source['content'] : source;
  return [
    said,
    thinking,
    content,
    system,
    title,
    context,
    data,
    isData ? undefined : inside,
  ].flatMap(wordsIn);
}
