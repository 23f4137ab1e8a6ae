import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Usage } from '#shared/kernel/inference.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { MessageWriter } from '#workers/inference/messages/message-writer.ts';
import { answerOfChat, TranslatedStream } from '#workers/inference/translated-stream.ts';

type Json = Record<string, unknown>;
interface Event extends Json {
  type: string;
  index?: number;
  delta?: Json;
  content_block?: Json;
}

const OPTIONS = {
  body: '{"stop":["END"]}',
  requestId: 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC',
  model: 'm',
  omitsThoughts: false,
};
const USAGE: Usage = { inputTokens: 5, cachedInputTokens: 1, outputTokens: 7, source: 'upstream' };

/** What a stream of these deltas becomes. */
function eventsOf(
  deltas: readonly Json[],
  end: Json = { finish_reason: 'stop' },
  more = {},
): Event[] {
  const events: Event[] = [];
  const emit = (text: string): void => void events.push(JSON.parse(text) as Event);
  const writer = new MessageWriter({ ...OPTIONS, ...more, emit });
  const stream = new TranslatedStream(writer, undefined);
  for (const choice of [...deltas.map((delta) => ({ delta })), { delta: {}, ...end }])
    stream.accept('', { choices: [{ index: 0, ...choice }] });
  emit(stream.finish(USAGE));
  return events;
}

function messageOf(message: Json, end: Json = { finish_reason: 'stop' }, more = {}): Json {
  const chat = { choices: [{ index: 0, message, ...end }] };
  return answerOfChat(new MessageWriter({ ...OPTIONS, ...more }), chat, USAGE, true);
}

/** What a client puts together of a stream: each block as it began, with its deltas. */
function putTogether(events: readonly Event[]): Json[] {
  const blocks: Json[] = [];
  for (const { type, content_block: block, delta } of events) {
    if (type === 'content_block_start') blocks.push({ ...block, input: '' });
    if (type !== 'content_block_delta') continue;
    const last = blocks.at(-1)!;
    for (const [name, into] of Object.entries({
      text: 'text',
      thinking: 'thinking',
      partial_json: 'input',
    }))
      if (typeof delta![name] === 'string') last[into] = String(last[into]) + delta![name];
  }
  return blocks;
}

const word = fc.string({ minLength: 1, maxLength: 8 });
/** Pieces of an answer in any order, with calls that take turns, each named at its first piece or later, or never. */
const anyDelta = fc.oneof(
  word.map((content): Json => ({ content })),
  word.map((text): Json => ({ reasoning_content: text })),
  fc.tuple(fc.nat(2), fc.boolean(), word).map(([index, isNamed, text]): Json => {
    const called = { ...(isNamed ? { name: `f${index}` } : {}), arguments: `-${text}` };
    return { tool_calls: [{ index, function: called }] };
  }),
  fc.constant<Json>({ role: 'assistant', content: '' }),
);

describe('the events of a message that is written from chunks', () => {
  it('begin and end one block after another, and lose nothing that was generated', () => {
    forAll([fc.array(anyDelta, { maxLength: 12 })], { numRuns: runs(2_000) }, (deltas) => {
      const events = eventsOf(deltas);
      expect(events[0]!.type).toBe('message_start');
      expect(events.slice(-2).map(({ type }) => type)).toEqual(['message_delta', 'message_stop']);
      let open = -1;
      let ended = 0;
      for (const { type, index } of events.slice(1, -2)) {
        if (type === 'content_block_start') open = index!;
        expect(index, type).toBe(ended);
        expect(open, type).toBe(ended);
        if (type === 'content_block_stop') ended += 1;
      }
      const blocks = putTogether(events);
      expect(blocks).toHaveLength(ended);
      const texts = (type: string, name: string) =>
        blocks.flatMap((block) => (block['type'] === type ? [block[name]] : [])).join('');
      const sent = (name: string) => deltas.map((delta) => (delta[name] ?? '') as string).join('');
      expect(texts('text', 'text')).toBe(sent('content'));
      expect(texts('thinking', 'thinking')).toBe(sent('reasoning_content'));
      const inputs = new Map<unknown, string>();
      for (const delta of deltas)
        for (const { index, function: called } of (delta['tool_calls'] ?? []) as {
          index: number;
          function: { arguments: string };
        }[])
          inputs.set(index, (inputs.get(index) ?? '') + called.arguments);
      const calls = blocks.filter(({ type }) => type === 'tool_use');
      expect(calls.map(({ input }) => input)).toEqual([...inputs.values()]);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    });
  });

  it('send a second call as it comes once the input of the first is whole', () => {
    const piece = (index: number, args: string, more = {}): Json => ({
      tool_calls: [{ index, ...more, function: { ...more, arguments: args } }],
    });
    const events = eventsOf(
      [
        { content: 'Look.' },
        piece(0, '', { id: 'a', name: 'f' }),
        piece(0, '{"x":'),
        piece(0, '1}'),
        piece(1, '', { id: 'b', name: 'g' }),
        piece(1, '{}'),
      ],
      { finish_reason: 'tool_calls' },
    );
    expect(events.map(({ type, index }) => [type, index])).toEqual([
      ['message_start', undefined],
      ['content_block_start', 0],
      ['content_block_delta', 0],
      ['content_block_stop', 0],
      ['content_block_start', 1],
      ['content_block_delta', 1],
      ['content_block_delta', 1],
      ['content_block_stop', 1],
      ['content_block_start', 2],
      ['content_block_delta', 2],
      ['content_block_stop', 2],
      ['message_delta', undefined],
      ['message_stop', undefined],
    ]);
    expect(events[4]!.content_block).toEqual({ type: 'tool_use', id: 'a', name: 'f', input: {} });
  });

  it('are put together to what a whole answer is', () => {
    const message = {
      reasoning_content: 'Hm.',
      content: 'Ja.',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
    };
    const events = eventsOf([message], { finish_reason: 'tool_calls' });
    const whole = messageOf(message, { finish_reason: 'tool_calls' });
    expect(whole).toEqual({
      id: 'msg_01M7W53ZF4Z6X0T8WB5N2K9MVC',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'thinking', thinking: 'Hm.', signature: '' },
        { type: 'text', text: 'Ja.' },
        { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 4,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 1,
        output_tokens: 7,
      },
    });
    expect(putTogether(events)).toMatchObject([
      { thinking: 'Hm.' },
      { text: 'Ja.' },
      { id: 'a', name: 'f', input: '{"x":1}' },
    ]);
    const { usage, stop_reason, stop_sequence } = whole;
    expect(events.at(-2)).toEqual({
      type: 'message_delta',
      delta: { stop_reason, stop_sequence },
      usage,
    });
  });
});

describe('a message', () => {
  it.each<[what: string, message: Json, end: Json, reason: string, sequence?: string]>([
    ['has come to its end', { content: 'x' }, { finish_reason: 'stop' }, 'end_turn'],
    ['was cut at its bound', { content: 'x' }, { finish_reason: 'length' }, 'max_tokens'],
    ['was filtered', { content: 'x' }, { finish_reason: 'content_filter' }, 'refusal'],
    ['refuses', { refusal: 'No.' }, { finish_reason: 'stop' }, 'refusal'],
    [
      'calls, though its server says “stop”',
      { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '' } }] },
      { finish_reason: 'stop' },
      'tool_use',
    ],
    [
      'met a sequence that its server names',
      { content: 'x' },
      { finish_reason: 'stop', stop_reason: 'END' },
      'stop_sequence',
      'END',
    ],
    [
      'met one that was not asked for',
      { content: 'x' },
      { finish_reason: 'stop', matched_stop: '</s>' },
      'end_turn',
    ],
  ])('says why it stopped: it %s', (_what, message, end, reason, sequence) => {
    const whole = messageOf(message, end);
    expect(whole).toMatchObject({ stop_reason: reason, stop_sequence: sequence ?? null });
    const { delta } = eventsOf([message], end).at(-2)!;
    expect(delta).toEqual({ stop_reason: reason, stop_sequence: sequence ?? null });
  });

  it('has no stop reason where its server did not finish it', () => {
    const chat = { choices: [{ message: { content: 'x' } }] };
    const unfinished = answerOfChat(new MessageWriter(OPTIONS), chat, USAGE, false);
    expect(unfinished['stop_reason']).toBeNull();
  });

  it('leaves out what the model thinks where its caller wants nothing of it', () => {
    const thinking = { reasoning_content: 'Hm.', content: 'Ja.' };
    const whole = messageOf(thinking, undefined, { omitsThoughts: true });
    expect(whole['content']).toEqual([{ type: 'text', text: 'Ja.' }]);
    const events = eventsOf([thinking], undefined, { omitsThoughts: true });
    expect(putTogether(events)).toMatchObject([{ text: 'Ja.' }]);
  });

  it('names the tools that its request had and its chat had not, whole and from the first event on', () => {
    const options = { ignoredTools: 'web_search_20250305' };
    const metadata = { ignored_tools: 'web_search_20250305' };
    expect(messageOf({ content: 'Ja.' }, undefined, options)).toMatchObject({ metadata });
    expect(eventsOf([{ content: 'Ja.' }], undefined, options)[0]).toMatchObject({
      message: { metadata },
    });
    expect(messageOf({ content: 'Ja.' })).not.toHaveProperty('metadata');
  });

  it('has the numbers of an input as they were written, also where a number of JavaScript would round them', () => {
    const written = '{"id":1234567890123456789,"share":1.0,"deep":[-9007199254740993]}';
    const message = messageOf({
      tool_calls: [{ id: 'a', function: { name: 'f', arguments: written } }],
    });
    expect(JSON.stringify(message)).toContain(`"input":${written}`);
    const number = messageOf({
      tool_calls: [{ id: 'a', function: { name: 'f', arguments: '1234567890123456789' } }],
    });
    expect(number['content']).toMatchObject([{ input: { INVALID_JSON: '1234567890123456789' } }]);
  });

  it('has the input of a call that was cut short under a name that says so', () => {
    const calls = (args: string) => ({
      tool_calls: [{ id: 'a', function: { name: 'f', arguments: args } }],
    });
    const inputs = ['{"x":', '', '[1]'].map((args) => messageOf(calls(args))['content']);
    expect(inputs).toMatchObject([
      [{ input: { INVALID_JSON: '{"x":' } }],
      [{ input: {} }],
      [{ input: { INVALID_JSON: '[1]' } }],
    ]);
  });

  it('calls a tool by the name that its caller has for it, where the server has another', () => {
    const body = '{"docket_tool_names":[["sea_sail","sea.sail"]]}';
    const call = { tool_calls: [{ id: 'a', function: { name: 'sea_sail', arguments: '{}' } }] };
    expect(messageOf(call, undefined, { body })['content']).toMatchObject([{ name: 'sea.sail' }]);
    expect(putTogether(eventsOf([call], undefined, { body }))).toMatchObject([
      { name: 'sea.sail' },
    ]);
  });

  it('tells the tokens that a server gave, those that we counted, and where nothing is known', () => {
    const usageOf = (usage: Parameters<MessageWriter['end']>[0], thought = 0) =>
      new MessageWriter(OPTIONS).end(usage, thought)['usage'];
    expect(usageOf(USAGE, 3)).toMatchObject({
      input_tokens: 4,
      cache_read_input_tokens: 1,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 3 },
    });
    expect(usageOf({ ...USAGE, source: 'counted' })).toMatchObject({ source: 'counted' });
    expect(usageOf({ source: 'unknown', reason: 'not_counted' })).toEqual({
      input_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 0,
      source: 'unknown',
    });
  });
});
