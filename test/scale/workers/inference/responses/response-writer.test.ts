import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatRequestOf } from '#shared/dialects/chat-of-response.ts';
import type { Usage } from '#shared/kernel/inference.ts';
import { ItemsSoFar } from '#workers/inference/responses/items-so-far.ts';
import { ResponseWriter } from '#workers/inference/responses/response-writer.ts';
import { answerOfChat, TranslatedStream } from '#workers/inference/translated-stream.ts';
import { forAll } from '#test/support/for-all.ts';

type Json = Record<string, unknown>;
interface Event extends Json {
  type: string;
  sequence_number: number;
  output_index?: number;
  item_id?: string;
  delta?: string;
  item?: Json & { id: string };
  response?: Json & { output: Json[] };
}

const OPTIONS = { body: '{}', requestId: 'req_01', startedAt: 1_000, model: 'm' };
const USAGE: Usage = { inputTokens: 5, cachedInputTokens: 1, outputTokens: 7, source: 'upstream' };

/** What a stream of these deltas becomes. */
function eventsOf(deltas: readonly Json[], reason = 'stop', request: Json = {}): Event[] {
  const events: Event[] = [];
  const emit = (text: string): void => void events.push(JSON.parse(text) as Event);
  const body = JSON.stringify(request);
  const stream = new TranslatedStream(new ResponseWriter({ ...OPTIONS, body, emit }), undefined);
  const chunks = [...deltas.map((delta) => ({ delta })), { delta: {}, finish_reason: reason }];
  for (const choice of chunks) stream.accept('', { choices: [{ index: 0, ...choice }] });
  emit(stream.finish(USAGE));
  return events;
}

const word = fc.string({ minLength: 1, maxLength: 8 });
/** Pieces of an answer in any order: text, refusal and reasoning, and calls that take turns, of a name and with no end of their own. */
const anyDelta = fc.oneof(
  word.map((content): Json => ({ content })),
  word.map((refusal): Json => ({ refusal })),
  fc
    .tuple(word, fc.constantFrom('reasoning_content', 'reasoning', 'thinking'))
    .map(([text, name]): Json => ({ [name]: text })),
  fc.tuple(fc.nat(2), fc.boolean(), word).map(([index, isNamed, text]): Json => {
    const called = { ...(isNamed ? { name: `f${index}` } : {}), arguments: `-${text}` };
    return { tool_calls: [{ index, function: called }] };
  }),
  fc.constant<Json>({ role: 'assistant', content: '' }),
);

describe('the events of a response that is written from chunks', () => {
  it('are numbered without a gap, open before they speak, close once, and add up to the response', () => {
    forAll([fc.array(anyDelta, { maxLength: 12 }), fc.boolean()], (deltas, isSummary) => {
      const reasoning = isSummary ? { summary: 'auto' } : {};
      const events = eventsOf(deltas, 'stop', { reasoning });
      expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
      const open = new Set<number>();
      const closed = new Map<number, Json>();
      const spoken = new Map<string, string>();
      for (const { type, output_index: index, item, item_id: id, delta } of events) {
        if (type === 'response.output_item.added') {
          expect(index).toBe(open.size + closed.size);
          open.add(index!);
        } else if (type === 'response.output_item.done') {
          expect(open.delete(index!)).toBe(true);
          closed.set(index!, item!);
        } else if (index !== undefined) expect(open.has(index), type).toBe(true);
        if (delta !== undefined) spoken.set(id!, (spoken.get(id!) ?? '') + delta);
      }
      expect(open.size).toBe(0);
      const { response } = events.at(-1)!;
      expect(response!.output).toEqual(
        [...closed].toSorted(([a], [b]) => a - b).map(([, one]) => one),
      );
      for (const item of response!.output) {
        const parts = ['summary', 'content'].flatMap(
          (member) => (item[member] ?? []) as { text?: string; refusal?: string }[],
        );
        const whole =
          (item['arguments'] as string | undefined) ??
          parts.map(({ text, refusal }) => text ?? refusal).join('');
        expect(spoken.get(item['id'] as string) ?? '').toBe(whole);
      }
      // And nothing that was generated is lost.
      const sent = deltas.map(
        (delta) =>
          Object.entries(delta).find(([name]) => name !== 'tool_calls' && name !== 'role')?.[1] ??
          '',
      );
      const calls = deltas.flatMap((delta) => (delta['tool_calls'] ?? []) as { function: Json }[]);
      const chars = [...sent, ...calls.map((call) => call.function['arguments'])].join('').length;
      expect([...spoken.values()].join('').length).toBe(chars);
    });
  });

  it('tell at any moment what has come of its output, which its writer knows, and so does who reads them', () => {
    forAll([fc.array(anyDelta, { maxLength: 12 }), fc.boolean()], (deltas, isSummary) => {
      const read = new ItemsSoFar();
      const emit = (text: string): void => read.accept(text, JSON.parse(text) as Json);
      const body = JSON.stringify({ reasoning: isSummary ? { summary: 'auto' } : {} });
      const writer = new ResponseWriter({ ...OPTIONS, body, emit });
      const stream = new TranslatedStream(writer, undefined);
      for (const delta of deltas) {
        stream.accept('', { choices: [{ index: 0, delta }] });
        expect(read.output()).toEqual(stream.output());
      }
    });
  });

  it.each<[string, Json, Json]>([
    // Both members are in every chunk, and one of them is null.
    [
      'DeepSeek',
      { reasoning_content: 'Hm.', content: null },
      { reasoning_content: null, content: 'Ja.' },
    ],
    ['vLLM and OpenRouter', { reasoning: 'Hm.', content: '' }, { content: 'Ja.' }],
    ['Ollama', { thinking: 'Hm.', content: '' }, { content: 'Ja.' }],
  ])('tell what a model thinks in the form of %s as one item before what it says', (_, ...said) => {
    const { output } = eventsOf([{ role: 'assistant', content: '' }, ...said], 'stop').at(
      -1,
    )!.response!;
    expect(output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'Ja.' }] },
    ]);
    expect(output).toHaveLength(2);
    // An agent sends both back: to a server that demands the first it goes under DeepSeek's name.
    expect(chatRequestOf({ input: output }, true)['messages']).toEqual([
      { role: 'assistant', content: 'Ja.', reasoning_content: 'Hm.' },
    ]);
  });

  it('tell what a model thinks as its summary where the request asks for one, and else in full', () => {
    const said = [{ thinking: 'Hm.' }, { content: 'Ja.' }];
    const typesOf = (request: Json) =>
      eventsOf(said, 'stop', request)
        .filter(
          ({ output_index: at, type }) => at === 0 && !type.startsWith('response.output_item'),
        )
        .map(({ type }) => type);
    expect(typesOf({ reasoning: { summary: 'auto' } })).toEqual([
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
    ]);
    expect(typesOf({ reasoning: { effort: 'low' } })).toEqual([
      'response.content_part.added',
      'response.reasoning_text.delta',
      'response.reasoning_text.done',
      'response.content_part.done',
    ]);
    const last = eventsOf(said, 'stop', { reasoning: { summary: 'auto' } }).at(-1)!;
    expect(last.response!.output[0]).toMatchObject({
      summary: [{ type: 'summary_text', text: 'Hm.' }],
      content: [],
    });
  });

  it('call a tool of a namespace by the names that its caller has for it', () => {
    const tool = { type: 'function', name: 'sail', parameters: {} };
    const request = { tools: [{ type: 'namespace', name: 'sea', description: '', tools: [tool] }] };
    const pieces = [
      { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'sea__sail', arguments: '{' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '}' } }] },
    ];
    const events = eventsOf(pieces, 'tool_calls', request);
    const called = { type: 'function_call', namespace: 'sea', name: 'sail', call_id: 'call_1' };
    for (const type of ['added', 'done'])
      expect(events.find((event) => event.type === `response.output_item.${type}`)).toMatchObject({
        item: called,
      });
    expect(events.at(-1)!.response!.output).toEqual([
      expect.objectContaining({ ...called, arguments: '{}' }),
    ]);
  });

  const PATCH = { tools: [{ type: 'custom', name: 'patch.apply' }] };
  /** The input of a custom tool as its deltas and its end tell it, where a server writes these pieces of arguments. */
  function inputOf(pieces: readonly string[]) {
    const [first = '', ...rest] = pieces;
    const called = { name: 'patch_apply', arguments: first };
    const events = eventsOf(
      [
        { tool_calls: [{ index: 0, id: 'call_1', function: called }] },
        ...rest.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
      ],
      'tool_calls',
      PATCH,
    );
    const types = events.map(({ type }) => type.replace('response.', ''));
    const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
    const told = deltas.map(({ delta }) => delta).join('');
    const done = events.find(({ type }) => type === 'response.custom_tool_call_input.done')!;
    const [item] = events.at(-1)!.response!.output;
    expect(item).toMatchObject({
      type: 'custom_tool_call',
      name: 'patch.apply',
      call_id: 'call_1',
    });
    expect([done['input'], item!['input']]).toEqual([told, told]);
    return { told, deltas, types };
  }

  it('give a custom tool the text in the arguments of its function, however they are written and cut', () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 });
    const writing = fc.constantFrom<(input: string) => string>(
      (input) => JSON.stringify({ input }),
      (input) => JSON.stringify({ input }, null, 2),
      (input) => JSON.stringify({ why: 'x', input }),
      (input) =>
        `{ "input" :"${[...Array(input.length).keys()].map((at) => `\\u${input.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"}`,
    );
    const cuts = fc.array(fc.nat(200), { maxLength: 5 });
    forAll([text, writing, cuts], (input, written, places) => {
      const whole = written(input);
      const ends = [0, ...places.toSorted((a, b) => a - b), whole.length];
      const { told, deltas } = inputOf(ends.slice(1).map((to, at) => whole.slice(ends[at], to)));
      expect(told).toBe(input);
      // Clients join texts that they have read one by one.
      for (const { delta } of deltas) expect(delta!.isWellFormed()).toBe(true);
    });
  });

  it('tell the input of a custom tool as it comes, and what is no such object as it is', () => {
    const { told, deltas, types } = inputOf(['{"input":"*** Be', 'gin\\', 'nPatch"}']);
    expect(told).toBe('*** Begin\nPatch');
    expect(deltas.map(({ delta }) => delta)).toEqual(['*** Be', 'gin', '\nPatch']);
    expect(types.slice(2)).toEqual([
      'output_item.added',
      ...deltas.map(() => 'custom_tool_call_input.delta'),
      'custom_tool_call_input.done',
      'output_item.done',
      'completed',
    ]);
    for (const other of ['*** Begin', '{"inp', '{"patch":"x"}', '{"input":7}', '"x"', '{}'])
      expect(inputOf([other]).told).toBe(other);
    // It was cut off, or has an escape that JSON has not.
    expect(inputOf(['{"input":"a\\u00', '']).told).toBe('a');
    expect(inputOf(['{"input":"a\\d"}']).told).toBe('a\\d');
    expect(inputOf(['']).told).toBe('');
  });

  it('name the types of tools that their server was not given, in the metadata of the answer', () => {
    const tools = [{ type: 'web_search' }, { type: 'function', name: 'f' }, { type: 'mcp' }];
    const request = { tools, tool_choice: { type: 'web_search' }, metadata: { team: 'harbour' } };
    const events = eventsOf([{ content: 'Ja.' }], 'stop', request);
    for (const event of [events[0]!, events.at(-1)!])
      expect(event.response).toMatchObject({
        metadata: { team: 'harbour', ignored_tools: 'web_search,mcp' },
        tool_choice: 'auto',
      });
    const none = eventsOf([{ content: 'Ja.' }], 'stop', { tools: tools.slice(1, 2) });
    expect(none.at(-1)!.response!['metadata']).toEqual({});
  });

  it('end in the response that a whole answer is', () => {
    const message = {
      reasoning_content: 'Hm.',
      content: 'Ja.',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    };
    const chat = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] };
    const whole = answerOfChat(new ResponseWriter(OPTIONS), chat, USAGE, true);
    expect(eventsOf([message], 'tool_calls').at(-1)).toMatchObject({
      type: 'response.completed',
      response: whole,
    });
    expect(whole).toMatchObject({
      output: [
        { type: 'reasoning' },
        { type: 'message' },
        { type: 'function_call', call_id: 'call_1' },
      ],
      usage: { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
    });
    // Clients that hold an answer against its schema want both.
    expect(whole['usage']).toMatchObject({
      input_tokens_details: { cached_tokens: 1, cache_write_tokens: 0 },
    });
  });

  it('say why an answer was cut short, and that one is failed which its server did not finish', () => {
    for (const [reason, told] of [
      ['length', 'max_output_tokens'],
      ['content_filter', 'content_filter'],
    ] as const) {
      expect(eventsOf([{ content: 'Half' }], reason).at(-1)).toMatchObject({
        type: 'response.incomplete',
        response: {
          status: 'incomplete',
          incomplete_details: { reason: told },
          output: [{ status: 'incomplete' }],
        },
      });
    }
    const writer = new ResponseWriter(OPTIONS);
    writer.take({ message: { content: 'Half' } });
    expect(writer.end({ source: 'unknown', reason: 'upstream_cut' }, 0, false)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
      usage: null,
    });
  });
});
