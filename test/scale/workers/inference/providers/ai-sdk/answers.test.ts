import { describe, expect, it } from 'vitest';
import { nextTurn } from '#shared/kernel/turns.ts';
import type { UpstreamCall } from '#workers/inference/providers/provider.ts';
import { EVENT_CHARS } from '#workers/inference/stream-turns.ts';
import { until } from '#test/support/until.ts';
import {
  chunksOf,
  joined,
  speakNatively,
  TOOLS,
} from '#test/unit/workers/inference/providers/ai-sdk/speak.ts';

const { upstream, call } = speakNatively();

describe('a whole answer', () => {
  it('an answer of Anthropic comes in OpenAI’s shape, with cached tokens, under our credential', async () => {
    upstream.answer = { fixture: 'anthropic/text.json' };
    const { answer } = await call('anthropic', { max_tokens: 50 });
    expect(JSON.parse(answer!)).toEqual({
      id: 'chatcmpl-01K5Y0V8Z3M4N5P6Q7R8S9T0AB',
      object: 'chat.completion',
      created: expect.any(Number) as number,
      model: 'the-model',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'The lamp turns once in ten seconds.',
            refusal: null,
          },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 42,
        completion_tokens: 9,
        total_tokens: 51,
        prompt_tokens_details: { cached_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    });
    const { path, headers, body } = upstream.last;
    expect(path).toBe('/v1/messages');
    expect(headers).toMatchObject({
      'x-api-key': 'sk-test',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      traceparent: expect.stringContaining('0af7651916') as string,
    });
    expect(body).toMatchObject({ model: 'the-model', max_tokens: 50 });
  });

  it('an answer of Google counts its thoughts as output', async () => {
    upstream.answer = { fixture: 'google/text.json' };
    const { answer } = await call('google', { temperature: 0.5, stop: 'END' });
    expect(JSON.parse(answer!)).toMatchObject({
      choices: [{ message: { content: 'The lamp turns once in ten seconds.' } }],
      usage: {
        prompt_tokens: 18,
        completion_tokens: 29,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 20 },
      },
    });
    const { path, headers, body } = upstream.last;
    expect(path).toBe('/v1beta/models/the-model:generateContent');
    expect(headers['x-goog-api-key']).toBe('sk-test');
    expect(body['generationConfig']).toMatchObject({ temperature: 0.5, stopSequences: ['END'] });
  });

  it.each([
    ['anthropic', /"stop_reason": ?"[a-z_]+"/, '"stop_reason": null'],
    ['google', /"finishReason": ?"[A-Z_]+",?/, ''],
  ] as const)(
    'an answer of %s without a reason for its end has not come to one',
    async (native, reason, none) => {
      const edit = (text: string): string => {
        expect(text).toMatch(reason);
        return text.replace(reason, none);
      };
      upstream.answer = { fixture: `${native}/text.json`, edit };
      const { choices } = JSON.parse((await call(native, {})).answer!) as { choices: unknown[] };
      expect(choices).toMatchObject([{ finish_reason: null }]);
    },
  );

  it('an answer with tool calls has their arguments as JSON text', async () => {
    upstream.answer = { fixture: 'anthropic/tools.json' };
    const { answer } = await call('anthropic', { tools: TOOLS, tool_choice: 'required' });
    const { choices } = JSON.parse(answer!) as { choices: unknown[] };
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: 'I look it up.',
        tool_calls: [
          {
            id: 'toolu_01A09q90qw90lq917835lq9',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city":"Brest"}' },
          },
        ],
      },
    });
    expect(upstream.last.body).toMatchObject({
      tools: [{ name: 'get_weather', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any' },
    });
  });
});

describe.each([
  ['anthropic', 'stop', 32, 15],
  ['google', 'length', 18, 8],
] as const)('a stream of %s', (native, finish, prompt, completion) => {
  it.each([undefined, 1, 7])(
    'a native stream is one chat completion, cut at every %s bytes',
    async (drip) => {
      upstream.answer = { fixture: `${native}/text.sse`, ...(drip === undefined ? {} : { drip }) };
      const outcome = await call(native, { stream: true });
      expect(outcome).toMatchObject({ clean: true });
      const chunks = chunksOf(outcome);
      expect(new Set(chunks.map(({ id }) => id))).toEqual(
        new Set(['chatcmpl-01K5Y0V8Z3M4N5P6Q7R8S9T0AB']),
      );
      expect(new Set(chunks.map(({ created }) => created)).size).toBe(1);
      expect(new Set(chunks.map(({ object }) => object))).toEqual(
        new Set(['chat.completion.chunk']),
      );
      expect(chunks[0]!.choices[0]!.delta).toEqual({ role: 'assistant', content: '' });
      expect(joined(chunks, 'content')).toBe('The lamp turns – ümläut 🌊');
      const [last, usage] = chunks.slice(-2);
      expect(last!.choices[0]!.finish_reason).toBe(finish);
      expect(usage).toMatchObject({
        choices: [],
        usage: { prompt_tokens: prompt, completion_tokens: completion },
      });
    },
  );

  it('a stream that breaks off did not end well', async () => {
    upstream.answer = { fixture: `${native}/text.sse`, stallAfter: native === 'google' ? 2 : 5 };
    const outcome = await call(native, { stream: true }, { timeoutMs: 300 });
    expect(outcome.failure?.kind).toBe('timeout');
    expect(joined(chunksOf(outcome), 'content')).toMatch(/^The lamp/);
  });

  it('a native stream that is ahead of its client waits, and goes on or ends as its client does', async () => {
    upstream.answer = { fixture: `${native}/text.sse` };
    for (const leaves of [false, true]) {
      const waits = Promise.withResolvers<() => void>();
      const state = { isAhead: true, read: 0 };
      const pace = {
        read: (chars: number) => void (state.read += chars),
        event: () => void (state.read += EVENT_CHARS),
        get isAhead() {
          return state.isAhead && state.read > 0;
        },
        whenCaughtUp: (resume: () => void) => waits.resolve(resume),
      };
      let calling: UpstreamCall | undefined;
      const onPayload = (one: UpstreamCall): void => {
        calling = one;
      };
      const over = call(native, { stream: true }, { pace, onPayload });
      const resume = await waits.promise;
      const before = state.read;
      for (let i = 0; i < 20; i += 1) await nextTurn();
      expect(state.read).toBe(before);
      state.isAhead = false;
      if (leaves) calling!.abort();
      else resume();
      const outcome = await over;
      expect(outcome).toMatchObject(leaves ? { failure: { kind: 'aborted' } } : { clean: true });
      expect(state.read > before).toBe(!leaves);
      const heard = outcome.payloads.map(({ length }) => length + EVENT_CHARS);
      expect(state.read).toBe(heard.reduce((sum, chars) => sum + chars));
    }
  });

  it('a native stream stops the upstream when the caller goes', async () => {
    upstream.answer = { fixture: `${native}/text.sse`, stallAfter: native === 'google' ? 1 : 4 };
    const outcome = await call(native, { stream: true }, { onPayload: (one) => one.abort() });
    expect(outcome.failure?.kind).toBe('aborted');
    await until(() => upstream.aborted === 1, 'the upstream sees it');
  });
});

describe('a stream with tool calls', () => {
  it('a stream with tool calls keeps index and id of each call, and shows reasoning apart', async () => {
    upstream.answer = { fixture: 'anthropic/tools.sse' };
    const chunks = chunksOf(await call('anthropic', { stream: true, tools: TOOLS }));
    expect(joined(chunks, 'reasoning_content')).toBe('Two cities, two calls.');
    const calls = new Map<number, { id: string; name: string; arguments: string }>();
    for (const { choices } of chunks) {
      const deltas = (choices[0]?.delta['tool_calls'] ?? []) as {
        index: number;
        id?: string;
        function: { name?: string; arguments: string };
      }[];
      for (const { index, id, function: called } of deltas) {
        const known = calls.get(index);
        if (known === undefined) {
          calls.set(index, { id: id!, name: called.name!, arguments: called.arguments });
        } else {
          expect(id).toBeUndefined();
          known.arguments += called.arguments;
        }
      }
    }
    expect([...calls.entries()]).toEqual([
      [
        0,
        {
          id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6',
          name: 'get_weather',
          arguments: '{"city": "Brest"}',
        },
      ],
      [
        1,
        {
          id: 'toolu_02B2x1fJ34qAmk2tNTrN7Up7',
          name: 'get_weather',
          arguments: '{"city": "Oslo"}',
        },
      ],
    ]);
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('tool_calls');
  });

  it('a stream of Google gives whole calls once', async () => {
    upstream.answer = { fixture: 'google/tools.sse' };
    const chunks = chunksOf(await call('google', { stream: true, tools: TOOLS }));
    const pieces = chunks.flatMap(
      ({ choices }) =>
        (choices[0]?.delta['tool_calls'] ?? []) as { function: { arguments: string } }[],
    );
    expect(JSON.parse(pieces.map((piece) => piece.function.arguments).join(''))).toEqual({
      city: 'Brest',
    });
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('tool_calls');
  });
});
