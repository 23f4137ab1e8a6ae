import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AiSdkProvider } from '../../../shared/adapters/providers/ai-sdk/provider.ts';
import type { Route } from '../../../shared/domain/inference.ts';
import type { UpstreamFailure } from '../../../shared/domain/upstream-error.ts';
import type { UpstreamCall } from '../../../shared/ports/provider.ts';
import { NativeUpstream } from '../../support/native-upstream.ts';
import { until } from '../../support/until.ts';
import { endpoint } from '../routing/catalogue.ts';

let upstream: NativeUpstream;
let origin: string;
let provider: AiSdkProvider;

beforeAll(async () => {
  upstream = new NativeUpstream();
  origin = await upstream.listen();
  provider = new AiSdkProvider((name) => (name === 'KEY' ? 'sk-test' : undefined));
});
afterAll(() => upstream.close());
beforeEach(() => {
  upstream.aborted = 0;
});

const ENDPOINTS = {
  anthropic: () => ({ provider: 'anthropic', baseUrl: `${origin}/v1/` }),
  google: () => ({ provider: 'google', baseUrl: `${origin}/v1beta` }),
};
type Native = keyof typeof ENDPOINTS;

interface Outcome {
  answer?: string;
  payloads: string[];
  clean?: boolean;
  failure?: UpstreamFailure;
}

interface CallOptions {
  route?: Route;
  timeoutMs?: number;
  onPayload?: (call: UpstreamCall) => void;
}

/** One call to its end. */
function call(native: Native, body: object, options: CallOptions = {}): Promise<Outcome> {
  const { route = 'chat.completions', timeoutMs = 5_000, onPayload } = options;
  const stream = 'stream' in body;
  return new Promise((resolve) => {
    const payloads: string[] = [];
    const running = provider.call(
      {
        requestId: 'req_01',
        route,
        endpoint: endpoint(native, ['eu'], {
          adapter: 'ai-sdk',
          apiKeyEnv: 'KEY',
          ...ENDPOINTS[native](),
        }),
        body: JSON.stringify({ model: 'the-model', messages: MESSAGES, ...body }),
        stream,
        timeoutMs,
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      },
      {
        onAnswer: (answer) => resolve({ answer, payloads }),
        onPayload: (text) => {
          payloads.push(text);
          onPayload?.(running);
        },
        onEnd: (clean) => resolve({ clean, payloads }),
        onFailure: (failure) => resolve({ failure, payloads }),
      },
    );
  });
}

const MESSAGES = [{ role: 'user', content: 'How fast does the lamp turn?' }];
const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
];
interface Chunk {
  id: string;
  created: number;
  object: string;
  model: string;
  choices: { index: number; delta: Record<string, unknown>; finish_reason: string | null }[];
  usage?: object;
}
const chunksOf = ({ payloads }: Outcome) => payloads.map((text) => JSON.parse(text) as Chunk);
const joined = (chunks: Chunk[], field: string) =>
  chunks.map(({ choices }) => choices[0]?.delta[field] ?? '').join('');

describe('a whole answer', () => {
  it('of Anthropic comes in OpenAI’s shape, with cached tokens, under our credential', async () => {
    upstream.answer = { fixture: 'anthropic/text.json' };
    const { answer } = await call('anthropic', { max_tokens: 50 });
    expect(JSON.parse(answer!)).toEqual({
      id: 'chatcmpl-01',
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
      'x-request-id': 'req_01',
      traceparent: expect.stringContaining('0af7651916') as string,
    });
    expect(body).toMatchObject({ model: 'the-model', max_tokens: 50 });
  });

  it('of Google counts its thoughts as output', async () => {
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

  it('with tool calls has their arguments as JSON text', async () => {
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
  it.each([undefined, 1, 7])('is one chat completion, cut at every %s bytes', async (drip) => {
    upstream.answer = { fixture: `${native}/text.sse`, ...(drip === undefined ? {} : { drip }) };
    const outcome = await call(native, { stream: true });
    expect(outcome).toMatchObject({ clean: true });
    const chunks = chunksOf(outcome);
    expect(new Set(chunks.map(({ id }) => id))).toEqual(new Set(['chatcmpl-01']));
    expect(new Set(chunks.map(({ created }) => created)).size).toBe(1);
    expect(new Set(chunks.map(({ object }) => object))).toEqual(new Set(['chat.completion.chunk']));
    expect(chunks[0]!.choices[0]!.delta).toEqual({ role: 'assistant', content: '' });
    expect(joined(chunks, 'content')).toBe('The lamp turns – ümläut 🌊');
    const [last, usage] = chunks.slice(-2);
    expect(last!.choices[0]!.finish_reason).toBe(finish);
    expect(usage).toMatchObject({
      choices: [],
      usage: { prompt_tokens: prompt, completion_tokens: completion },
    });
  });

  it('that breaks off did not end well', async () => {
    upstream.answer = { fixture: `${native}/text.sse`, stallAfter: native === 'google' ? 2 : 5 };
    const outcome = await call(native, { stream: true }, { timeoutMs: 300 });
    expect(outcome.failure?.kind).toBe('timeout');
    expect(joined(chunksOf(outcome), 'content')).toMatch(/^The lamp/);
  });

  it('stops the upstream when the caller goes', async () => {
    upstream.answer = { fixture: `${native}/text.sse`, stallAfter: native === 'google' ? 1 : 4 };
    const outcome = await call(native, { stream: true }, { onPayload: (one) => one.abort() });
    expect(outcome.failure?.kind).toBe('aborted');
    await until(() => upstream.aborted === 1, 'the upstream sees it');
  });
});

describe('a stream with tool calls', () => {
  it('keeps index and id of each call, and shows reasoning apart', async () => {
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

  it('of Google gives whole calls once', async () => {
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

describe('a conversation', () => {
  const PNG = 'iVBORw0KGgo=';
  const HISTORY = [
    { role: 'system', content: 'Be brief.' },
    { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: 'call_1',
          type: 'function',
          function: { name: 'get_weather', arguments: '{"city":"Brest"}' },
        },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    { role: 'user', content: 'And now?' },
  ];

  it('reaches Anthropic with system prompt, image, call and result in their places', async () => {
    upstream.answer = { fixture: 'anthropic/text.json' };
    await call('anthropic', { messages: HISTORY, tools: TOOLS });
    const { system, messages } = upstream.last.body as {
      system: { text: string }[];
      messages: { role: string; content: Record<string, unknown>[] }[];
    };
    expect(system.map(({ text }) => text)).toEqual(['Be brief.', 'Be kind.']);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(messages[0]!.content[1]).toMatchObject({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: PNG },
    });
    expect(messages[1]!.content[0]).toMatchObject({
      type: 'tool_use',
      id: 'call_1',
      name: 'get_weather',
      input: { city: 'Brest' },
    });
    expect(messages[2]!.content).toMatchObject([
      { type: 'tool_result', tool_use_id: 'call_1', content: 'rain' },
      { type: 'text', text: 'And now?' },
    ]);
  });

  it('reaches Google the same way', async () => {
    upstream.answer = { fixture: 'google/text.json' };
    await call('google', { messages: HISTORY, tools: TOOLS });
    const { systemInstruction, contents } = upstream.last.body as {
      systemInstruction: { parts: { text: string }[] };
      contents: { role: string; parts: Record<string, unknown>[] }[];
    };
    expect(systemInstruction.parts.map(({ text }) => text)).toEqual(['Be brief.', 'Be kind.']);
    expect(contents[0]!.parts[1]).toMatchObject({
      inlineData: { mimeType: 'image/png', data: PNG },
    });
    expect(contents[1]!.parts[0]).toMatchObject({ functionCall: { name: 'get_weather' } });
  });

  it('may bring an instruction in its middle: it keeps its place', async () => {
    upstream.answer = { fixture: 'anthropic/text.json' };
    const messages = [...MESSAGES, { role: 'system', content: 'Now in verse.' }];
    await call('anthropic', { messages });
    expect(JSON.stringify(upstream.last.body['messages'])).toContain('Now in verse.');
  });

  const remote = { type: 'image_url', image_url: { url: 'http://169.254.169.254/latest' } };
  it.each([
    ['n', { n: 2 }],
    ['logprobs', { logprobs: true }],
    ['logit_bias', { logit_bias: { 1: 5 } }],
    ['tools[0]', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
    ['response_format', { response_format: { type: 'grammar' } }],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] }],
    ['messages[0].content[0].image_url.url', { messages: [{ role: 'user', content: [remote] }] }],
  ])('that says what there are no words for is refused at %s, never changed', async (at, rest) => {
    const before = upstream.requests.length;
    const { failure } = await call('google', rest);
    expect(failure).toMatchObject({ kind: 'rejected', param: at });
    expect(upstream.requests).toHaveLength(before);
  });
});

describe('embeddings', () => {
  it('of Google come in OpenAI’s shape', async () => {
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

  it('are refused where the provider has none, and for token ids', async () => {
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
  ])('with status %i is told apart', async (status, fixture, kind, code) => {
    upstream.answer = { fixture, status, headers: { 'retry-after': '3' } };
    const { failure } = await call('anthropic', {});
    expect(failure).toMatchObject({ kind, status, retryAfterMs: 3_000 });
    expect(failure!.code).toBe(code);
    if (kind !== 'rejected') expect(failure!.message).toBeUndefined();
  });

  it('about our credential is ours, whatever its status', async () => {
    upstream.answer = { fixture: 'google/error.json', status: 400 };
    const { failure } = await call('google', {});
    expect(failure).toMatchObject({ kind: 'misconfigured' });
    expect(failure!.message).toBeUndefined();
  });

  it('inside a stream ends it', async () => {
    upstream.answer = { fixture: 'anthropic/overloaded.sse' };
    const outcome = await call('anthropic', { stream: true });
    expect(joined(chunksOf(outcome), 'content')).toBe('The lamp');
    expect(outcome.failure?.kind).toBe('unavailable');
  });

  it('to connect, or to read the answer, is the upstream’s', async () => {
    upstream.answer = { fixture: 'google/embeddings.json' };
    expect((await call('anthropic', {})).failure?.kind).toBe('malformed');
    const gone = new AiSdkProvider(() => undefined);
    const failure = await new Promise<UpstreamFailure>((resolve) => {
      const nowhere = endpoint('gone', ['eu'], {
        adapter: 'ai-sdk',
        provider: 'anthropic',
        baseUrl: 'http://127.0.0.1:9',
      });
      const ignore = (): void => {};
      gone.call(
        {
          requestId: 'req_02',
          route: 'chat.completions',
          endpoint: nowhere,
          body: JSON.stringify({ model: 'm', messages: MESSAGES }),
          stream: false,
          timeoutMs: 5_000,
        },
        { onAnswer: ignore, onPayload: ignore, onEnd: ignore, onFailure: resolve },
      );
    });
    expect(failure.kind).toBe('connection');
    const anywhere = endpoint('e', ['eu'], { adapter: 'ai-sdk', ...ENDPOINTS.google() });
    expect(await gone.probe(anywhere, 1_000)).toBe(true);
    expect(await gone.probe({ ...anywhere, baseUrl: 'http://127.0.0.1:9' }, 1_000)).toBe(false);
  });
});
