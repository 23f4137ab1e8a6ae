import { describe, expect, it } from 'vitest';
import { messageEnvelopeOf } from '#api/anthropic/error-envelope.ts';
import { mediaInBlocks } from '#api/anthropic/media.ts';
import { validateMessage } from '#api/anthropic/validate.ts';
import { type JsonBody, parseJsonBody } from '#api/openai/parse-json.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const BODY = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
const saying = (...content: object[]) => ({ messages: [{ role: 'user', content }] });

const bodyOf = (value: object): JsonBody => parseJsonBody(Buffer.from(JSON.stringify(value)));

function refused(more: object, counts = false): [code: string, param: string | null] | undefined {
  const fault = thrownBy(Fault, () => validateMessage(bodyOf({ ...BODY, ...more }), counts));
  return fault && [fault.code, fault.param];
}

describe('a request for a message', () => {
  it('names the tools that are left out of its chat, each type once', () => {
    const tool = (type: string) => ({ type, name: type.slice(0, 4) });
    const own = { name: 'f', input_schema: { type: 'object' } };
    const { chat, ignored } = validateMessage(
      bodyOf({
        ...BODY,
        tools: [
          tool('web_search_20250305'),
          own,
          tool('bash_20250124'),
          tool('bash_20250124'),
          tool('words of a prompt, \n'),
        ],
      }),
    );
    // Nothing that a caller may have written goes on in clear.
    expect(ignored).toEqual(['web_search_20250305', 'bash_20250124', 'other']);
    expect(chat.tools).toHaveLength(1);
    expect(validateMessage(bodyOf({ ...BODY, tools: [own] })).ignored).toEqual([]);
  });

  it('passes the input of a call on as it was written, also where a number of JavaScript would round it', () => {
    const input =
      '{"id":1234567890123456789,"share":1.0,"far":1e400,"deep":[{"n":-9007199254740993}]}';
    const call = `{"type":"tool_use","id":"a","name":"f","input":${input}}`;
    const text =
      '{"model":"m","max_tokens":9,"temperature":1.0,"messages":[{"role":"user","content":"Hi"},' +
      `{"role":"assistant","content":[{"type":"text","text":"So."},${call}]},` +
      '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}]}';
    const { chat } = validateMessage(parseJsonBody(Buffer.from(text)));
    expect(chat.messages[1]).toMatchObject({
      content: 'So.',
      tool_calls: [{ function: { name: 'f', arguments: input } }],
    });
    expect(chat.temperature).toBe(1);
  });

  it.each<[what: string, more: object, code: string, param: string]>([
    ['no max_tokens', { max_tokens: undefined }, 'invalid_max_tokens', 'max_tokens'],
    ['less than nothing', { max_tokens: -1 }, 'invalid_max_tokens', 'max_tokens'],
    ['no messages', { messages: [] }, 'invalid_messages', 'messages'],
    [
      'an unknown role',
      { messages: [{ role: 'tool', content: 'x' }] },
      'invalid_messages',
      'messages[0].role',
    ],
    [
      'a block whose type may be words of the prompt',
      saying({ type: 'text', text: 'x' }, { type: 'how to' }),
      'invalid_messages',
      'messages[0].content[1].type',
    ],
    [
      'an image whose source may be words of the prompt',
      saying({ type: 'image', source: { type: 'how to' } }),
      'invalid_messages',
      'messages[0].content[0].source.type',
    ],
    [
      'a block inside what a tool returned that is not known',
      saying({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'tool_use' }] }),
      'invalid_messages',
      'messages[0].content[0].content[0].type',
    ],
    [
      'a tool without a schema',
      { tools: [{ name: 'f' }] },
      'invalid_tools',
      'tools[0].input_schema',
    ],
    [
      'a tool without a name',
      { tools: [{ type: 'custom', input_schema: {} }] },
      'invalid_tools',
      'tools[0].name',
    ],
    ['an end that is no text', { stop_sequences: [1] }, 'invalid_stop_sequences', 'stop_sequences'],
    ['several answers', { n: 2 }, 'invalid_n', 'n'],
    ['a thread that is kept elsewhere', { thread: { type: 'create' } }, 'invalid_thread', 'thread'],
    ['several answers in other letters', { N: 2 }, 'invalid_n', 'n'],
    ['a known field in other letters', { System: 'x' }, 'invalid_system', 'system'],
    ['a field of chats beyond its bounds', { seed: 0.5 }, 'invalid_seed', 'seed'],
    ['what multiplies its work', { best_of: 4 }, 'invalid_best_of', 'best_of'],
  ])('is refused by name and place: %s', (_what, more, code, param) => {
    expect(refused(more)).toEqual([code, param]);
  });

  it('is taken with tools, fields and blocks that only Anthropic’s servers act upon', () => {
    for (const more of [
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      { tools: [{ type: 'mcp_toolset', mcp_server_name: 's' }] },
      { thinking: { type: 'adaptive' }, context_management: { edits: [] } },
      { metadata: { user_id: 'x'.repeat(600) } },
      saying({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }),
      { system: null, tools: null, stop_sequences: null },
    ])
      expect(refused(more)).toBeUndefined();
  });

  it('needs no max_tokens where only its tokens are counted', () => {
    expect(refused({ max_tokens: undefined }, true)).toBeUndefined();
    expect(refused({ messages: [] }, true)).toEqual(['invalid_messages', 'messages']);
  });
});

describe('media in blocks', () => {
  it('are known with their place, inside of what tools returned as well, each kind once', () => {
    const image = (type: string) => ({
      type: 'image',
      source: { type, url: 'https://a.example/' },
    });
    const { messages } = saying(
      { type: 'text', text: 'x' },
      { type: 'document', source: { type: 'text', data: 'x' } },
      { type: 'tool_result', tool_use_id: 'a', content: [image('base64'), image('base64')] },
      image('url'),
      { type: 'document', source: { type: 'base64', data: 'x' } },
    );
    expect(mediaInBlocks(messages)).toEqual([
      { modality: 'image', isElsewhere: false, param: 'messages[0].content[2].content[0]' },
      { modality: 'image', isElsewhere: true, param: 'messages[0].content[3]' },
      { modality: 'file', isElsewhere: false, param: 'messages[0].content[4]' },
    ]);
    const document = { type: 'document', source: { type: 'url', url: 'http://10.0.0.1/' } };
    const fetched = { type: 'web_fetch_tool_result', tool_use_id: 'a', content: [document] };
    expect(mediaInBlocks([{ role: 'assistant', content: [fetched] }])).toEqual([
      { modality: 'file', isElsewhere: true, param: 'messages[0].content[0].content[0]' },
    ]);
    expect(mediaInBlocks(BODY.messages)).toBeUndefined();
  });
});

describe('a refused thread', () => {
  it('says by what tool runners read that they have to send the whole conversation', () => {
    const of = (param: string): object =>
      messageEnvelopeOf(invalidParam(param, 'It is refused.'), null).error;
    const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };
    expect(of('thread')).toMatchObject({ type: 'invalid_request_error', details });
    expect(of('tools')).not.toHaveProperty('details');
  });
});
