import { describe, expect, it } from 'vitest';
import { closes, resets, startSayingServer } from '#test/support/saying-server.ts';
import { faultOf } from '#workers/inference/providers/upstream-failure.ts';
import { failureOf } from '#workers/inference/providers/ai-sdk/failures.ts';
import { chunksOf, joined, speakNatively } from './speak.ts';

const { upstream, call, endpointOf } = speakNatively();

describe('embeddings', () => {
  it('embeddings of Google come in OpenAI’s shape', async () => {
    upstream.answer = { fixture: 'google/embeddings.json' };
    const { answer } = await call(
      'google',
      { input: ['a', 'b'], dimensions: 3 },
      { route: 'embeddings' },
    );
    expect(JSON.parse(answer!)).toEqual({
      object: 'list',
      model: 'the-model',
      data: [
        { object: 'embedding', index: 0, embedding: [0.6, 0.8, 0] },
        { object: 'embedding', index: 1, embedding: [0, -0.6, 0.8] },
      ],
    });
  });

  it('embeddings are refused where the provider has none, and for token ids', async () => {
    const none = await call('anthropic', { input: 'a' }, { route: 'embeddings' });
    expect(none.failure).toMatchObject({ kind: 'rejected', param: 'model' });
    const ids = await call('google', { input: [1, 2] }, { route: 'embeddings' });
    expect(ids.failure).toMatchObject({ kind: 'rejected', param: 'input' });
  });
});

describe('a failure', () => {
  it.each([
    [400, 'anthropic/error.json', 'rejected', 'context_length_exceeded'],
    [401, 'anthropic/error.json', 'misconfigured', undefined],
    [429, 'anthropic/error.json', 'rate_limited', undefined],
    [529, 'anthropic/error.json', 'unavailable', undefined],
    [500, 'anthropic/error.json', 'unavailable', undefined],
  ])('a failure with status %i is told apart', async (status, fixture, kind, code) => {
    upstream.answer = { fixture, status, headers: { 'retry-after': '3' } };
    const { failure } = await call('anthropic', {});
    expect(failure).toMatchObject({ kind, status, retryAfterMs: 3_000 });
    expect(failure!.code).toBe(code);
    if (kind !== 'rejected')
      expect(faultOf(failure!, 'chat.completions').message).not.toContain(failure!.message);
  });

  it('a failure about our credential counts as ours with any status', async () => {
    upstream.answer = { fixture: 'google/error.json', status: 400 };
    const { failure } = await call('google', {});
    expect(failure).toMatchObject({ kind: 'misconfigured' });
    expect(faultOf(failure!, 'chat.completions').message).not.toContain('key');
  });

  it('an endpoint whose address or credential a reload has changed is called with the new one', async () => {
    upstream.answer = { fixture: 'anthropic/text.json' };
    const before = endpointOf('anthropic');
    for (const apiKeyEnv of ['KEY', 'OTHER_KEY']) {
      await call('anthropic', {}, { endpoint: { ...before, apiKeyEnv } });
      expect(upstream.last.headers['x-api-key']).toBe(apiKeyEnv === 'KEY' ? 'sk-test' : 'sk-other');
    }
  });

  it('a failure inside a stream ends it', async () => {
    upstream.answer = { fixture: 'anthropic/overloaded.sse' };
    const outcome = await call('anthropic', { stream: true });
    expect(joined(chunksOf(outcome), 'content')).toBe('The lamp');
    expect(outcome.failure?.kind).toBe('unavailable');
  });

  it('data that are no base64 are refused, and what cannot be computed is a fault of ours: neither speaks of the upstream', async () => {
    const file = (url: string) => ({ type: 'file', file: { file_data: url } });
    const image = (url: string) => ({ type: 'image_url', image_url: { url } });
    for (const part of [
      file('data:text/plain;base64,%%%'),
      image('data:image/png;base64,%%%'),
      image(`data:${';'.repeat(4_000_000)}`),
    ]) {
      const messages = [{ role: 'user', content: [part] }];
      expect((await call('anthropic', { messages })).failure?.kind).toBe('rejected');
    }
    for (const error of [
      new RangeError('Maximum call stack size exceeded'),
      new TypeError('x is not a function'),
      new DOMException('wrong', 'InvalidCharacterError'),
    ])
      expect(failureOf(error).kind).toBe('own_fault');
    for (const error of [new TypeError('fetch failed'), new TypeError('terminated')])
      expect(failureOf(error).kind).toBe('connection');
  });

  it('a failure to connect, or to read the answer, counts as the upstream’s', async () => {
    upstream.answer = { fixture: 'google/embeddings.json' };
    expect((await call('anthropic', {})).failure?.kind).toBe('malformed');
    const nowhere = 'http://127.0.0.1:9';
    expect((await call('anthropic', {}, { baseUrl: nowhere })).failure?.kind).toBe('connection');
  });
});

describe('the end of a stream', () => {
  const events = {
    anthropic: [
      { type: 'message_start', message: { id: 'm', model: 'x', usage: { input_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    ],
    google: [{ candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] }],
  };

  it.each([
    ['google', 'a close of a body without a length', closes, true],
    ['google', 'no reset', resets, false],
    ['anthropic', 'no close before its last event', closes, false],
    ['anthropic', 'no reset', resets, false],
  ] as const)('of %s is %s', async (native, _how, then, isWhole) => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
    const body = events[native].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    const server = await startSayingServer(head + body);
    const outcome = await call(
      native,
      { stream: true },
      { baseUrl: server.url, onPayload: () => server.withEach(then) },
    );
    await server.close();
    const ends = chunksOf(outcome).flatMap(({ choices }) => choices[0]?.finish_reason ?? []);
    expect(joined(chunksOf(outcome), 'content')).toBe('Hi');
    expect([outcome.clean === true, ends]).toEqual(isWhole ? [true, ['stop']] : [false, []]);
  });
});
