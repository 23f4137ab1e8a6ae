import { describe, expect, it } from 'vitest';
import { read } from '#api/inference/read.ts';
import { routed } from '#api/inference/route.ts';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { promptsOf } from '#shared/screening/prompt.ts';
import { textsOf } from '#shared/screening/texts.ts';
import { targetsOf } from '#workers/inference/upstream-retries.ts';
import { thrownBy } from '#test/support/thrown-by.ts';
import { catalogue, endpoint, model, region } from '../../catalogue/routed-catalogue.ts';
import { CREDENTIAL, NOW, REQUEST_ID } from './doubles.ts';

type Route = 'messages' | 'responses';
const SPEAKS: Record<Route, Partial<Endpoint>> = {
  messages: { messages: true },
  responses: { responses: true },
};
const any = { modalities: ['text', 'image', 'file'] };
const catalogueFor = (route: Route) =>
  catalogue(
    [region('eu'), region('us')],
    [endpoint('chat', ['eu', 'us']), endpoint('native', ['us'], SPEAKS[route])],
    [
      model('chats', ['chat'], any),
      model('native', ['native'], any),
      model('both', ['chat', 'native'], any),
    ],
  );

function asked(route: Route, body: object, { name = 'both', mediaUrls = 'any' as const } = {}) {
  const rawBody = Buffer.from(JSON.stringify({ model: name, ...body }));
  const { unrouted } = read(
    { newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA', processId: 'api-1', shards: 1 },
    { id: REQUEST_ID, route, rawBody, headers: {}, credential: CREDENTIAL, now: NOW },
  );
  const index = indexCatalogue(catalogueFor(route));
  const health = { states: new Map(), openCircuits: new Set<string>() };
  const account = { ...CREDENTIAL, allowedRegions: null, allowedModels: null };
  return routed({ index: () => index, health: () => health, mediaUrls }, unrouted, account);
}

const faultOf = (work: () => unknown): Fault => thrownBy(Fault, work)!;

const saying = (...content: object[]) => ({
  max_tokens: 9,
  messages: [{ role: 'user', content }],
});
const answered = (...content: object[]) => ({
  max_tokens: 9,
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content },
  ],
});
const plain = saying({ type: 'text', text: 'Hi' });
const ADDRESS = 'http://169.254.169.254/latest';
const input = (...items: object[]) => ({ input: [{ role: 'user', content: 'Hi' }, ...items] });
const part = (of: object) => ({ input: [{ role: 'user', content: [of] }] });
const returned = (...content: object[]) =>
  saying({ type: 'tool_result', tool_use_id: 'a', content });

const ROWS: [what: string, route: Route, body: object, place: string][] = [
  [
    'a file for a container',
    'messages',
    saying({ type: 'container_upload', file_id: 'f' }),
    'messages[0].content[0]',
  ],
  [
    'a document by its address',
    'messages',
    saying({ type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } }),
    'messages[0].content[0]',
  ],
  [
    'an image that Anthropic keeps',
    'messages',
    saying({ type: 'image', source: { type: 'file', file_id: 'f' } }),
    'messages[0].content[0]',
  ],
  [
    'a conversation that only its server can read',
    'messages',
    answered({ type: 'compaction', content: null, encrypted_content: 'x' }),
    'messages[1].content[0]',
  ],
  [
    'a block that is newer than this list, in what a tool returned',
    'messages',
    returned({ type: 'browser_state', tabs: [] }),
    'messages[0].content[0].content[0]',
  ],
  [
    'a block that is newer than this list, in the system’s',
    'messages',
    { ...plain, system: [{ type: 'tide_table', rows: [] }] },
    'system[0]',
  ],
  [
    'five ends',
    'messages',
    { ...plain, stop_sequences: ['a', 'b', 'c', 'd', 'e'] },
    'stop_sequences',
  ],
  ['another choice', 'messages', { ...plain, tool_choice: { type: 'some' } }, 'tool_choice'],
  ['no tokens', 'messages', { ...plain, max_tokens: 0 }, 'max_tokens'],
  [
    'a compacted conversation',
    'responses',
    input({ type: 'compaction', encrypted_content: 'x' }),
    'input[1]',
  ],
  [
    'an item that is newer than this list',
    'responses',
    input({ type: 'tide_table', rows: [] }),
    'input[1]',
  ],
  [
    'a part that is newer than this list',
    'responses',
    part({ type: 'input_table', rows: [] }),
    'input[0].content[0]',
  ],
  [
    'an image that OpenAI keeps',
    'responses',
    part({ type: 'input_image', file_id: 'f' }),
    'input[0].content[0]',
  ],
  [
    'a file by its address',
    'responses',
    part({ type: 'input_file', file_url: 'https://a.example/a.pdf' }),
    'input[0].content[0]',
  ],
  [
    'a file that a tool of a server put out',
    'responses',
    input({
      type: 'computer_call_output',
      call_id: 'c',
      output: { type: 'computer_screenshot', file_id: 'file-1' },
    }),
    'input[1].output[0]',
  ],
  ['a truncation', 'responses', { input: 'Hi', truncation: 'auto' }, 'truncation'],
  [
    'a management of the context, in any spelling',
    'responses',
    { input: 'Hi', 'Context-Management': [{ type: 'compaction' }] },
    'context_management',
  ],
  [
    'a judgement beside the answer',
    'responses',
    { input: 'Hi', moderation: { model: 'm' } },
    'moderation',
  ],
  [
    'something to be included that is newer than this list',
    'responses',
    { input: 'Hi', include: ['reasoning.encrypted_content', 'tides.rows'] },
    'include[1]',
  ],
];

describe('what only a server takes that speaks an interface itself [requests.native]', () => {
  it.each(ROWS)(
    'goes to such endpoints alone, and is refused by name where a model has none: %s',
    (_, route, body, place) => {
      const { entry, resolution } = asked(route, body);
      expect(entry).toMatchObject({ onlyNative: true, region: 'us' });
      const names = resolution.candidates.flatMap(({ endpoints }) => endpoints);
      expect(names.map((one) => one.endpoint.name)).toEqual(['native']);
      const targets = targetsOf(catalogueFor(route), entry, 'us');
      expect(targets.map((one) => one.endpoint.name)).toEqual(['native']);
      expect(targetsOf(catalogueFor(route), entry, 'eu')).toEqual([]);
      const fault = faultOf(() => asked(route, body, { name: 'chats' }));
      expect(fault).toMatchObject({ code: `invalid_${place.split(/[.[]/)[0]!}`, param: place });
      expect(fault.message).toContain('the model chats');
    },
  );

  it('is nothing that chats can say, or lose no word by', () => {
    const search = {
      type: 'web_search_tool_result',
      tool_use_id: 's',
      content: [{ url: 'https://a.example/' }],
    };
    for (const [route, body] of [
      ['messages', plain],
      ['messages', returned({ type: 'tool_reference', tool_name: 'lookup' })],
      ['messages', answered({ type: 'compaction', content: 'They spoke of lamps.' }, search)],
      [
        'messages',
        answered(
          { type: 'fallback', from: {}, to: {} },
          { type: 'container_upload', file_id: 'f' },
        ),
      ],
      ['messages', { ...plain, stop_sequences: ['a', 'b', 'c', 'd'] }],
      [
        'responses',
        input({ type: 'web_search_call', id: 'ws_1', action: { url: 'https://a.example/' } }),
      ],
      ['responses', { input: 'Hi', include: ['web_search_call.results'], truncation: 'disabled' }],
    ] as [Route, object][]) {
      const { entry, resolution } = asked(route, body, { mediaUrls: 'data' as never });
      expect(entry).not.toHaveProperty('onlyNative');
      expect(resolution.candidates).toHaveLength(2);
    }
  });

  it('names no address where none is fetched', () => {
    for (const [route, body, param] of [
      [
        'messages',
        saying({ type: 'document', source: { type: 'url', url: 'https://a.example' } }),
        'messages[0].content[0]',
      ],
      [
        'messages',
        saying({ type: 'tide_table', from: { feedUrl: 'http://10.0.0.1/' } }),
        'messages[0].content[0]',
      ],
      [
        'messages',
        { ...plain, system: [{ type: 'tide_table', from: { url: 'http://10.0.0.1/' } }] },
        'system[0]',
      ],
      [
        'messages',
        saying({
          type: 'tool_result',
          tool_use_id: 'a',
          content: [{ type: 'tide_table', url: 'http://10.0.0.1/' }],
        }),
        'messages[0].content[0].content[0]',
      ],
      [
        'responses',
        part({ type: 'input_file', file_url: 'http://10.0.0.1/' }),
        'input[0].content[0]',
      ],
      [
        'responses',
        part({ type: 'input_table', from: { url: 'http://10.0.0.1/' } }),
        'input[0].content[0]',
      ],
      ['responses', input({ type: 'tide_table', from: [{ uri: 'http://10.0.0.1/' }] }), 'input[1]'],
    ] as [Route, object, string][])
      expect(faultOf(() => asked(route, body, { mediaUrls: 'data' as never }))).toMatchObject({
        param,
      });
  });

  it.each<[Route, object, string]>([
    ['messages', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }, 'tools[0]'],
    ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0]'],
    ['messages', { mcp_servers: [{ type: 'url', url: ADDRESS, name: 'a' }] }, 'mcp_servers'],
    ['messages', { extra: { deep: [{ at: ADDRESS }] } }, 'extra'],
    ['responses', { tools: [{ type: 'mcp', server_label: 'a', server_url: ADDRESS }] }, 'tools[0]'],
    ['responses', { tools: [{ type: 'mcp', server_label: 'a', connector_id: 'c' }] }, 'tools[0]'],
    ['responses', { tools: [{ type: 'tide_lookup' }] }, 'tools[0]'],
    [
      'responses',
      { tools: [{ type: 'image_generation', input_image_mask: { image_url: ADDRESS } }] },
      'tools[0]',
    ],
    [
      'responses',
      {
        tools: [
          { type: 'file_search', vector_store_ids: ['vs_1'] },
          {
            type: 'shell',
            environment: { type: 'container_auto', network_policy: { type: 'allowlist' } },
          },
        ],
      },
      'tools[1]',
    ],
    [
      'responses',
      { tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'web_search' }] }] },
      'tools[0].tools[0]',
    ],
    [
      'responses',
      input({ type: 'additional_tools', tools: [{ type: 'mcp', server_url: ADDRESS }] }),
      'input[1].tools[0]',
    ],
    [
      'responses',
      input({ type: 'tool_search_output', tools: [{ type: 'mcp', connector_id: 'c' }] }),
      'input[1].tools[0]',
    ],
    ['responses', { prompt_source: ADDRESS }, 'prompt_source'],
    // Without a scheme: a server adds one.
    ['messages', { extra: { url: 'metadata.internal/x.png' } }, 'extra'],
    ['messages', { extra: [{ at: '//10.0.0.1/x.png' }] }, 'extra'],
    ['responses', { extra: { feedUrl: 'localhost' } }, 'extra'],
  ])('has no server fetch for its caller where nothing is fetched: %s %j', (route, more, place) => {
    const body = { ...(route === 'messages' ? plain : { input: 'Hi' }), ...more };
    expect(faultOf(() => asked(route, body, { mediaUrls: 'data' as never }))).toMatchObject({
      param: place,
      status: 400,
    });
    expect(() => asked(route, body)).not.toThrow();
    // A server of chats gets none of it.
    const chats = { name: 'chats', mediaUrls: 'data' as never };
    expect(() => asked(route, body, chats)).not.toThrow();
  });

  it('may have tools that its caller runs, those that reach nothing, and addresses that are only told', () => {
    const schema = { type: 'object', default: { url: ADDRESS }, examples: [ADDRESS] };
    // Base64 of sound begins so.
    const sound = { data: '//uQxAAAAAAAAAAAAAAAAAAAAAAA', url: 'data:audio/mp3;base64,//uQ' };
    for (const [route, body] of [
      [
        'messages',
        {
          ...plain,
          tools: [
            { name: 'look', input_schema: schema },
            { type: 'bash_20250124', name: 'bash' },
          ],
          metadata: { user_id: ADDRESS },
          extra: { sound, url: '' },
        },
      ],
      [
        'responses',
        {
          input: `Is ${ADDRESS} yours?`,
          instructions: ADDRESS,
          metadata: { page: ADDRESS },
          tools: [
            { type: 'function', name: 'look', parameters: schema },
            { type: 'code_interpreter', container: { type: 'auto' } },
          ],
          text: { format: { type: 'json_schema', name: 's', schema } },
        },
      ],
    ] as [Route, object][])
      expect(() => asked(route, body, { mediaUrls: 'data' as never })).not.toThrow();
  });

  it('may be longer than its texts, for budgets', () => {
    expect(
      asked('responses', input({ type: 'compaction', encrypted_content: 'x' })).extent.readsMore,
    ).toBe(true);
    expect(asked('messages', plain).extent.readsMore).toBe(false);
  });
});

describe('the words of what only such a server takes [requests.native, operations.screening]', () => {
  const WORDS = 'twelve lamps';
  const table = {
    type: 'tide_table',
    rows: [{ name: 'x', note: WORDS }],
    data: { type: 'base64', data: 'QUJD' },
  };
  const rawOf = (route: Route, body: object) => ({
    id: REQUEST_ID,
    route,
    rawBody: Buffer.from(JSON.stringify({ model: 'both', ...body })),
    headers: {},
    credential: CREDENTIAL,
    now: NOW,
  });
  it.each<[string, Route, object]>([
    ['a block of the user’s', 'messages', saying({ type: 'text', text: 'Hi' }, table)],
    ['a block of the assistant’s', 'messages', answered(table)],
    ['a block in what a tool returned', 'messages', returned(table)],
    ['a block of the system’s', 'messages', { ...plain, system: [table] }],
    ['an item', 'responses', input(table)],
    ['a part', 'responses', part(table)],
    [
      'a part of what a tool returned',
      'responses',
      input(
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [table] },
      ),
    ],
  ])('are screened, and counted as the prompt’s: %s', (_, route, body) => {
    const { body: parsed } = read(
      { newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA', processId: 'a', shards: 1 },
      rawOf(route, body),
    );
    const [prompt] = promptsOf(parsed.route, parsed.parsed);
    const counted = prompt!.texts.join('\n');
    expect(counted).toContain(WORDS);
    expect(counted).not.toContain('QUJD');
    const { prompt: said, beside } = textsOf(route, parsed.message?.value ?? parsed.parsed);
    expect([...said, ...beside].join('\n')).toContain(WORDS);
  });
});
