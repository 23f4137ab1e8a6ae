import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameOf } from '#shared/kernel/event-stream.ts';
import { UpstreamError } from '#workers/inference/providers/upstream-failure.ts';
import { StreamRelay } from '#workers/inference/stream-relay.ts';
import { textOfChoice } from '#workers/inference/usage.ts';
import { forAll } from '#test/support/for-all.ts';

const USAGE = { inputTokens: 3, cachedInputTokens: 0, outputTokens: 2, source: 'counted' as const };

interface Chunk {
  id: string;
  choices: {
    index: number;
    delta: { content?: string; tool_calls?: object[] };
    finish_reason: string | null;
  }[];
  usage?: object | null;
}

function relay(includeUsage: boolean, chunks: readonly Chunk[]) {
  const sent: string[] = [];
  const one = new StreamRelay({
    answerId: 'c',
    model: 'm',
    includeUsage,
    object: 'chat.completion.chunk',
    send: (payload) => sent.push(payload),
  });
  for (const chunk of chunks)
    one.accept(JSON.stringify(chunk), chunk as unknown as Record<string, unknown>);
  return { sent, one };
}

const choice = (content: string | null, finish: string | null = null, index = 0) => ({
  index,
  delta: content === null ? {} : { content },
  finish_reason: finish,
});
const chunk = (...choices: Chunk['choices']): Chunk => ({ id: 'c', choices });

describe('a stream relay', () => {
  it.each([
    ['arguments of a function', { function: { name: 'run', arguments: '{"a":1}' } }],
    ['input of a custom tool', { custom: { name: 'run', input: '{"a":1}' } }],
  ])('name and %s are generated text; the latter is kept a second time', (_, called) => {
    const call = { index: 0, id: 'call_1', ...called };
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    expect(textOfChoice({ index: 0, message, finish_reason: 'stop' })).toBe('run{"a":1}');
    const { one } = relay(false, [
      chunk({ index: 0, delta: { tool_calls: [call] }, finish_reason: null }),
      chunk(choice(null, 'stop')),
    ]);
    expect(one.texts).toEqual(['run{"a":1}']);
    expect(one.kept).toBe(10 + 7);
    expect(one.sentTokens).toBe(1);
  });

  it('a stream of more choices than a request can ask for ends, so that none gathers without a bound', () => {
    const chunks = Array.from({ length: 1_025 }, (_, at) => chunk(choice('a', 'stop', at)));
    expect(() => relay(false, chunks.slice(1))).not.toThrow();
    expect(() => relay(false, chunks)).toThrow(UpstreamError);
  });

  it('a stream relay holds back only the chunk with the last finish reason', () => {
    const chunks = [chunk(choice('a')), chunk(choice('b')), chunk(choice(null, 'stop'))];
    const { sent, one } = relay(false, chunks);
    expect(sent).toEqual(chunks.slice(0, 2).map((c) => JSON.stringify(c)));
    expect(one.finish(USAGE)).toBe(JSON.stringify(chunks[2]));
  });

  it('a stream relay of several choices holds the end of each, since it may go on, and the last of them to the end', () => {
    const chunks = [
      chunk(choice('a', null, 0)),
      chunk(choice(null, 'stop', 0)),
      chunk(choice('b', null, 1)),
      chunk(choice(null, 'length', 1)),
    ];
    const { sent, one } = relay(false, chunks);
    expect(sent).toEqual([chunks[0], chunks[2]].map((c) => JSON.stringify(c)));
    expect(one.isFinished).toBe(true);
    expect(one.finish(USAGE)).toBe(JSON.stringify(chunks[3]));
    expect(sent.at(-1)).toBe(JSON.stringify(chunks[1]));
  });

  it('a held chunk goes out before a later one of any of its choices, and the ends of its other choices stay held', () => {
    const { sent, one } = relay(true, [
      chunk(choice('a', 'stop', 0), choice('A', null, 1)),
      chunk(choice('B', null, 1)),
      chunk(choice('C', 'length', 1)),
    ]);
    expect(sent.map((text) => (JSON.parse(text) as Chunk).choices)).toEqual([
      [choice('a', null, 0), choice('A', null, 1)],
      [choice('B', null, 1)],
    ]);
    one.release();
    expect(sent.slice(2).map((text) => (JSON.parse(text) as Chunk).choices)).toEqual([
      [choice(null, 'stop', 0)],
      [choice('C', 'length', 1)],
    ]);
  });

  it('usage is shown only to callers who asked for it, on a chunk of its own', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
    const chunks = [
      { ...chunk(choice('a')), usage: null },
      { ...chunk(choice(null, 'stop')), usage: null },
      { id: 'c', choices: [], usage },
    ];
    const asked = relay(true, chunks);
    expect(JSON.parse(asked.one.finish(asked.one.usage!))).toEqual(chunks[2]);
    expect(asked.sent).toEqual(chunks.slice(0, 2).map((c) => JSON.stringify(c)));
    const silent = relay(false, chunks);
    expect(silent.sent.concat(silent.one.finish(USAGE)).join()).not.toContain('usage');
    expect(silent.one.usage).toMatchObject({ inputTokens: 9, outputTokens: 4, source: 'upstream' });
  });

  it('a stream relay makes the usage chunk itself when the upstream sends none', () => {
    const { one } = relay(true, [chunk(choice('a')), chunk(choice(null, 'stop'))]);
    expect(JSON.parse(one.finish(USAGE))).toMatchObject({
      id: 'c',
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, source: 'counted' },
    });
  });

  it('usage that could not be believed is not shown: its chunk is replaced by our count, which says so', () => {
    const usage = { prompt_tokens: null, completion_tokens: '2', total_tokens: null };
    const { one } = relay(true, [
      chunk(choice('a')),
      chunk(choice(null, 'stop')),
      { id: 'c', choices: [], usage },
    ]);
    expect(JSON.parse(one.finish(USAGE))).toMatchObject({
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, source: 'counted' },
    });
  });

  it('zeros beside a choice are no count, and zeros on a chunk of their own are one', () => {
    const zeros = { prompt_tokens: 0, completion_tokens: 0 };
    const beside = [
      { ...chunk(choice('a')), usage: zeros },
      { ...chunk(choice('b', 'stop')), usage: zeros },
    ];
    expect(relay(false, beside).one.usage).toBeUndefined();
    const apart = [chunk(choice('a', 'stop')), { id: 'c', choices: [], usage: zeros }];
    expect(relay(false, apart).one.usage).toMatchObject({ outputTokens: 0, source: 'upstream' });
  });

  it('zeros on a chunk of their own do not replace a count', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 4 };
    const zeros = { prompt_tokens: 0, completion_tokens: 0 };
    const { one } = relay(true, [
      { ...chunk(choice('a', 'stop')), usage },
      { id: 'c', choices: [], usage: zeros },
    ]);
    expect(one.usage).toMatchObject({ inputTokens: 9, outputTokens: 4, source: 'upstream' });
    expect(JSON.parse(one.finish(one.usage!))).toMatchObject({ choices: [], usage });
  });

  it('a choice is finished by a reason that says so, not by none, an empty one, or one of giving up', () => {
    for (const reason of [
      null,
      '',
      'abort',
      'error',
      'cancelled',
      'insufficient_system_resource',
    ]) {
      expect(relay(false, [chunk(choice('a')), chunk(choice('b', reason))]).one.isFinished).toBe(
        false,
      );
    }
    for (const reason of ['stop', 'length', 'tool_calls', 'content_filter', 'eos_token'])
      expect(relay(false, [chunk(choice('a', reason))]).one.isFinished).toBe(true);
    expect(relay(false, [chunk(choice('a', 'stop', 0), choice('b', null, 1))]).one.isFinished).toBe(
      false,
    );
  });

  it('every chunk is sent exactly once, as it came, and those of a choice in order, for any stream that ends each choice once', () => {
    const anyPart = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.string());
    forAll([fc.array(anyPart, { maxLength: 30 }), fc.boolean()], (parts, includeUsage) => {
      const lasts = new Map(parts.map(([index], at) => [index, at]));
      const chunks = parts.map(([index, content], at) => ({
        ...chunk(choice(content, lasts.get(index) === at ? 'stop' : null, index)),
        ...(includeUsage ? { usage: null } : {}),
      }));
      const { sent, one } = relay(includeUsage, chunks);
      const carrier = one.finish(USAGE);
      const all = includeUsage ? sent : [...sent, carrier];
      for (const index of lasts.keys()) {
        const ofChoice = (text: string): boolean =>
          (JSON.parse(text) as Chunk).choices[0]!.index === index;
        const wanted = chunks.map((each) => JSON.stringify(each)).filter(ofChoice);
        expect(all.filter(ofChoice)).toEqual(wanted);
      }
      // Without a chunk to carry the receipt the relay makes one of its own.
      expect(all).toHaveLength(includeUsage ? parts.length : Math.max(1, parts.length));
      const texts = [...lasts.keys()].map((index) =>
        parts.map(([of, content]) => (of === index ? content : '')).join(''),
      );
      const isText = (text: string): boolean => text !== '';
      expect(one.texts.filter(isText).toSorted()).toEqual(texts.filter(isText).toSorted());
    });
  });
});

describe('a frame', () => {
  it('a frame of a payload over several lines has as many data fields', () => {
    expect(frameOf('{"a":1,\n"b":2}', 'chat.completions')).toBe('data: {"a":1,\ndata: "b":2}\n\n');
  });
});
