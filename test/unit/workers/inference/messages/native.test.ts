import { describe, expect, it } from 'vitest';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import type { JsonObject } from '#shared/kernel/json-object.ts';
import { UpstreamError } from '#workers/inference/providers/upstream-failure.ts';
import {
  asOurMessage,
  NativeMessage,
  readMessageUsage,
  textOfMessage,
} from '#workers/inference/messages/native.ts';

const NOT_KNOWN: UnknownUsage = { source: 'unknown', reason: 'not_counted' };
const COUNTED: Usage = {
  inputTokens: 5,
  cachedInputTokens: 0,
  outputTokens: 3,
  source: 'counted',
  tokenizer: 'o200k_base',
};
const START = {
  type: 'message_start',
  message: {
    id: 'msg_theirs',
    type: 'message',
    role: 'assistant',
    model: 'theirs',
    content: [],
    usage: {
      input_tokens: 4,
      cache_creation_input_tokens: 3,
      cache_read_input_tokens: 2,
      output_tokens: 1,
    },
  },
};
const TOOL = {
  type: 'content_block_start',
  index: 0,
  content_block: { type: 'tool_use', id: 'toolu_1', name: 'turn', input: {} },
};
const INPUT = {
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'input_json_delta', partial_json: '{"by":1}' },
};
const DELTA = {
  type: 'message_delta',
  delta: { stop_reason: 'tool_use', stop_sequence: null },
  usage: { output_tokens: 7 },
};
const STOP = { type: 'message_stop' };
const PING = { type: 'ping' };

function streamed(...events: JsonObject[]) {
  const sent: JsonObject[] = [];
  const emit = (payload: string): void => void sent.push(JSON.parse(payload) as JsonObject);
  const stream = new NativeMessage({ emit, model: 'ours', requestId: 'req_01' }, undefined);
  const spoke = events.map((event) => stream.accept(JSON.stringify(event), event));
  return { sent, stream, spoke };
}

describe('the stream of a server that speaks messages', () => {
  it('has our id and our name of the model in its first event, and each other event as it came', () => {
    const { sent, stream, spoke } = streamed(START, TOOL, PING, INPUT, DELTA, STOP);
    expect(sent.slice(1)).toEqual([TOOL, PING, INPUT]);
    expect(sent[0]).toEqual({
      ...START,
      message: { ...START.message, id: 'msg_01', model: 'ours' },
    });
    expect(spoke).toEqual([false, true, false, true, false, false]);
    expect(JSON.parse(stream.finish(stream.usage!))).toEqual(STOP);
    expect(sent.at(-1)).toEqual(DELTA);
    expect([stream.upstreamAnswerId, stream.modelNamed]).toEqual(['msg_theirs', 'theirs']);
    expect(stream.texts).toEqual(['turn{"by":1}']);
  });

  it('says nothing before its first block, so that another server may be asked', () => {
    const { sent, stream } = streamed(PING, START, PING);
    expect([sent, stream.isFinished]).toEqual([[], false]);
  });

  it('counts its tokens from both ends, and knows none before the last', () => {
    expect(streamed(START, TOOL, INPUT).stream.usage).toBeUndefined();
    expect(streamed(START, TOOL, INPUT, DELTA).stream.usage).toEqual({
      inputTokens: 9,
      cachedInputTokens: 2,
      outputTokens: 7,
      source: 'upstream',
    });
  });

  it('knows no count of the answer where its end tells none, and no end without a reason', () => {
    for (const usage of [undefined, null, {}, { output_tokens: null }]) {
      const { stream } = streamed(START, TOOL, { ...DELTA, usage }, STOP);
      expect([stream.usage, stream.isFinished]).toEqual([undefined, true]);
    }
    const { stream } = streamed(START, TOOL, { ...DELTA, delta: {} }, STOP);
    expect(stream.isFinished).toBe(false);
  });

  it('fails where it announces an answer again and again, so that nothing gathers', () => {
    expect(() => streamed(...Array.from({ length: 100 }, () => START))).toThrow(UpstreamError);
  });

  it('has its changes in their places where several come, and the last counts', () => {
    const last = { ...DELTA, usage: { output_tokens: 8 } };
    const { sent, stream } = streamed(START, TOOL, DELTA, INPUT, last, PING, STOP);
    stream.finish(stream.usage!);
    expect(sent.slice(1)).toEqual([TOOL, DELTA, INPUT, PING, last]);
    expect(stream.usage?.outputTokens).toBe(8);
  });

  it('tells the counts of the receipt where its server has none', () => {
    for (const [usage, told] of [
      [COUNTED, { input_tokens: 5, output_tokens: 3, source: 'counted' }],
      [NOT_KNOWN, { input_tokens: 0, output_tokens: 0, source: 'unknown' }],
    ] as const) {
      const { sent, stream } = streamed(START, TOOL, { ...DELTA, usage: undefined }, STOP);
      stream.finish(usage);
      expect(sent.at(-1)).toMatchObject({ type: 'message_delta', usage: told });
    }
  });
});

describe('the whole message of a server that speaks them', () => {
  const message = (more: object = {}) => ({ ...START.message, ...more }) as JsonObject;
  const ours = { id: 'msg_01', model: 'ours' };

  it('keeps its words and digits, and has our names and no receipt of another', () => {
    const text =
      '{"id":"msg_theirs","model":"theirs","content":[{"type":"tool_use","input":{"id":1234567890123456789}}],"receipt":{},"usage":{"input_tokens":1,"output_tokens":2}}';
    const parsed = JSON.parse(text) as JsonObject;
    const usage = readMessageUsage(parsed['usage'], undefined)!;
    expect(asOurMessage(text, parsed, ours, usage)).toBe(
      text.replace('msg_theirs', 'msg_01').replace('theirs', 'ours').replace('"receipt":{},', ''),
    );
  });

  it('tells the counts of the receipt where it has none', () => {
    const parsed = message({ usage: null });
    const told = JSON.parse(
      asOurMessage(JSON.stringify(parsed), parsed, ours, COUNTED),
    ) as JsonObject;
    expect(told['usage']).toMatchObject({ input_tokens: 5, output_tokens: 3, source: 'counted' });
  });

  it.each([
    ['nothing', undefined],
    ['no output', { input_tokens: 1 }],
    ['no input', { output_tokens: 1 }],
    ['words', { input_tokens: '1', output_tokens: 1 }],
    ['a fraction', { input_tokens: 0.5, output_tokens: 1 }],
    ['less than nothing', { input_tokens: 10, cache_read_input_tokens: -9, output_tokens: 1 }],
  ])('has no counts of its server where that says %s', (_what, usage) => {
    expect(readMessageUsage(usage, undefined)).toBeUndefined();
  });

  it('is counted with what it thought, and with the calls of its tools', () => {
    const content = [
      { type: 'thinking', thinking: 'Lamps.', signature: 'sig' },
      { type: 'text', text: 'Yes. ' },
      { type: 'tool_use', id: 'toolu_1', name: 'turn', input: { by: 1 } },
    ];
    expect(textOfMessage(message({ content }))).toBe('Lamps.Yes. turn{"by":1}');
  });
});
