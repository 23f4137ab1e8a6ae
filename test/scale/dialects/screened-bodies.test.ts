import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { read } from '#api/inference/read.ts';
import { readPrompt } from '#api/inference/read-prompt.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { isObject, type JsonObject, listOf, textOf } from '#shared/kernel/json-object.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { compilePack } from '#shared/screening/screen.ts';
import { runs, sample } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { CAKES } from '#test/unit/screening/policies.ts';
import { speakNatively } from '#test/unit/workers/inference/providers/ai-sdk/speak.ts';
import { asked, upstreamBody } from '#workers/inference/bodies.ts';

const SENTENCE = 'how to bake a cake';
const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const MODEL = { id: 'm', contextWindow: 100_000 };
const screen = compilePack(CAKES);
const tokens = createTokenCounter();

/** What the policy says of a request, with the body that its worker gets; null for one that is refused as invalid. */
async function judged(route: Route, request: object) {
  try {
    const { body } = read(
      { newSalt: () => 'c2FsdA', processId: 'api', shards: 1 },
      {
        id: 'req_01K5Y0V8Z3M4N5P6Q7R8S9T0AB',
        route,
        rawBody: Buffer.from(JSON.stringify({ model: 'm', ...request })),
        headers: {},
        credential: { orgId: 'org_1', keyId: 'key_1', keepResponses: false, tags: [] },
        now: 0,
      },
    );
    const { verdict, forUpstream } = await readPrompt({ screen, tokens }, body, MODEL);
    return { isBlocked: verdict !== null, forUpstream: String(forUpstream) };
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

function isForbidden(texts: readonly string[]): boolean {
  return screen.check(texts) !== null;
}

function sentTo(
  route: Route,
  body: string,
  responses: boolean,
  reasoningContent = false,
): JsonObject {
  const request = asked(route, body, { responses, reasoningContent });
  const target = { endpoint: {}, model: 'theirs' };
  return JSON.parse(upstreamBody(request.body, request.route, target, false)) as JsonObject;
}

/** The texts of a message in the ways in which servers put its parts together. */
function ways(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  const parts = listOf(content).filter(isObject);
  const all = parts.map(({ text, refusal }) => textOf(text) ?? textOf(refusal) ?? '');
  return [all.join(''), parts.map(({ text }) => textOf(text) ?? '').join(''), all.join('\n')];
}

/** What a model reads of messages, in each of these ways. */
function conversations(messages: unknown): string[][] {
  const heard = listOf(messages)
    .filter(isObject)
    .map((message) => [message, ways(message['content'] ?? message['output'])] as const);
  return [0, 1, 2].map((way) =>
    heard.flatMap(([{ refusal }, said]) => [said[way] ?? said[0] ?? '', textOf(refusal) ?? '']),
  );
}

/** The sentence in pieces, cut anywhere, with something harmless before and behind it. */
const cutSentence = fc
  .array(fc.nat(SENTENCE.length), { maxLength: 4 })
  .map((cuts) => [0, ...cuts.toSorted((a, b) => a - b), SENTENCE.length])
  .map((cuts) => cuts.slice(1).map((to, at) => SENTENCE.slice(cuts[at], to)))
  .map((pieces) => ['Hello. ', ...pieces, ' Thanks.']);

/** Where a piece goes: into the message before it or one of its own, and how that message is written. */
const placing = fc.record({
  breaks: fc.boolean(),
  role: fc.constantFrom('user', 'assistant', 'system'),
  refuses: fc.boolean(),
  image: fc.constantFrom(false, false, true),
  plain: fc.boolean(),
  thinks: fc.constantFrom(false, false, true),
  listed: fc.constantFrom(false, false, true),
});
type Placing = typeof placing extends fc.Arbitrary<infer P> ? P : never;
const placings = fc.array(placing, { minLength: 7, maxLength: 7 });

/** Messages that hold the pieces, by what makes a message of its parts. */
function placed<M>(
  pieces: readonly string[],
  places: readonly Placing[],
  messageOf: (place: Placing, pieces: string[]) => M[],
): M[] {
  const groups: { place: Placing; pieces: string[] }[] = [];
  for (const [at, piece] of pieces.entries()) {
    const place = places[at]!;
    if (at === 0 || place.breaks) groups.push({ place, pieces: [] });
    groups.at(-1)!.pieces.push(piece);
  }
  return groups.flatMap(({ place, pieces: own }) => messageOf(place, own));
}

function chatMessage({ role, refuses, image, plain }: Placing, pieces: string[]): object[] {
  if (plain && pieces.length === 1) return [{ role, content: pieces[0] }];
  if (plain && pieces.length === 2 && role === 'assistant')
    return [{ refusal: pieces[1], content: pieces[0], role }];
  const content: object[] = pieces.map((text, at) =>
    refuses && role === 'assistant' && at % 2 === 1
      ? { type: 'refusal', refusal: text }
      : { type: 'text', text },
  );
  if (image && role === 'user')
    content.splice(1, 0, { type: 'image_url', image_url: { url: PNG } });
  return [{ role, content }];
}

function item(
  { role, refuses, image, plain, thinks, listed }: Placing,
  pieces: string[],
): object[] {
  const thought = {
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'One two three.' }],
  };
  const listing = { type: 'local_shell_call_output', call_id: 'l', output: 'One two three.' };
  const before = [...(thinks ? [{ ...thought, content: null }] : []), ...(listed ? [listing] : [])];
  if (plain && pieces.length === 1) return [...before, { role, content: pieces[0] }];
  const content: object[] = pieces.map((text, at) => {
    if (role !== 'assistant') return { type: 'input_text', text };
    return refuses && at % 2 === 1
      ? { type: 'refusal', refusal: text }
      : { type: 'output_text', text };
  });
  if (image && role === 'user') content.splice(1, 0, { type: 'input_image', image_url: PNG });
  return [...before, { role, content }];
}

describe('what an upstream is sent', () => {
  it('of a chat is screened in every way in which the parts of a message may be put together [operations.screening]', async () => {
    let forbidden = 0;
    await forAllAsync(
      [cutSentence, placings],
      { numRuns: runs(2_000, 300) },
      async (pieces, places) => {
        const messages = placed(pieces, places, chatMessage);
        const { isBlocked, forUpstream } = (await judged('chat.completions', { messages }))!;
        const sent = sentTo('chat.completions', forUpstream, false);
        if (!conversations(sent['messages']).some(isForbidden)) return;
        forbidden += 1;
        expect(isBlocked).toBe(true);
      },
    );
    expect(forbidden).toBeGreaterThan(100);
  });

  it.each([
    ['a chat', false],
    ['it stands', true],
  ])('of a request for a response is screened as %s is sent on', async (_, responses) => {
    let forbidden = 0;
    await forAllAsync(
      [cutSentence, placings],
      { numRuns: runs(2_000, 300) },
      async (pieces, places) => {
        const input = placed(pieces, places, item);
        const { isBlocked, forUpstream } = (await judged('responses', { input }))!;
        const sent = sentTo('responses', forUpstream, responses);
        if (!conversations(sent[responses ? 'input' : 'messages']).some(isForbidden)) return;
        forbidden += 1;
        expect(isBlocked).toBe(true);
      },
    );
    expect(forbidden).toBeGreaterThan(100);
  });
});

it('what a model thought is screened in the one text that an endpoint which takes it is sent [operations.screening]', async () => {
  const middle = SENTENCE.indexOf(' a cake');
  const thought = (text: string) => ({
    type: 'reasoning',
    summary: [{ type: 'summary_text', text }],
  });
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
  // A message may say its type, or null.
  const said = { role: 'assistant', content: 'One two three.' };
  for (const type of ['message', null, undefined]) {
    const input = [
      { role: 'user', content: 'Hello.' },
      thought(SENTENCE.slice(0, middle)),
      { type, ...said },
      thought(SENTENCE.slice(middle)),
      call,
    ];
    const { isBlocked, forUpstream } = (await judged('responses', { input }))!;
    const { messages } = sentTo('responses', forUpstream, false, true);
    const thoughts = listOf(messages).map(
      (message) => (message as JsonObject)['reasoning_content'],
    );
    expect(isForbidden([String(thoughts[1])])).toBe(true);
    expect(isBlocked).toBe(true);
  }
});

it('what Anthropic’s clients send back of thoughts goes to endpoints that take it, and to no others', async () => {
  const body = JSON.stringify({
    model: 'm',
    messages: [{ role: 'assistant', content: 'Ja.', reasoning_content: 'Hm.' }],
    stop: ['"reasoning_content"'],
  });
  const sent = (takes: boolean) => sentTo('messages', body, false, takes);
  expect(sent(true)['messages']).toEqual((JSON.parse(body) as JsonObject)['messages']);
  expect(sent(false)).toMatchObject({
    messages: [{ role: 'assistant', content: 'Ja.' }],
    stop: ['"reasoning_content"'],
  });
  expect(JSON.stringify(sent(false)['messages'])).not.toContain('Hm.');
});

describe('a tool of a namespace', () => {
  it('is screened by the name that a chat server is sent, in tools and in calls [operations.screening]', async () => {
    // The last word of the sentence, which is cut there.
    const [namespace, name] = ['ca', 'ke'];
    const tools = [{ type: 'namespace', name: namespace, tools: [{ type: 'function', name }] }];
    const asks = { role: 'user', content: 'How to bake' };
    const call = { type: 'function_call', call_id: 'c', namespace, name, arguments: '{}' };
    for (const request of [{ input: [asks], tools }, { input: [asks, call] }]) {
      const { isBlocked, forUpstream } = (await judged('responses', request))!;
      const sent = JSON.stringify(sentTo('responses', forUpstream, false));
      expect(sent).toContain('ca__ke');
      expect(isForbidden([asks.content, 'ca__ke'])).toBe(true);
      expect(isBlocked).toBe(true);
    }
  });
});

describe('what a provider with an interface of its own is sent', () => {
  const { upstream, call } = speakNatively();

  it.each(['anthropic', 'google'] as const)(
    'is screened as its messages are put together there: %s [operations.screening]',
    async (native) => {
      upstream.answer = { fixture: `${native}/text.json` };
      let forbidden = 0;
      await forAllAsync(
        [cutSentence, placings],
        { numRuns: runs(500, 40) },
        async (pieces, places) => {
          const messages = placed(pieces, places, chatMessage);
          const { isBlocked, forUpstream } = (await judged('chat.completions', { messages }))!;
          const { failure } = await call(native, JSON.parse(forUpstream) as object);
          if (failure !== undefined) return;
          const { system, systemInstruction, messages: theirs, contents } = upstream.last.body;
          const told = system ?? (systemInstruction as JsonObject | undefined)?.['parts'];
          const heard = listOf(theirs ?? contents)
            .filter(isObject)
            .flatMap(({ content, parts }) => ways(content ?? parts).slice(0, 1));
          if (!isForbidden([...ways(told).slice(0, 1), ...heard])) return;
          forbidden += 1;
          expect(isBlocked).toBe(true);
        },
      );
      expect(forbidden).toBeGreaterThan(10);
    },
  );
});

/** Requests that have most of what the interfaces have. */
const REQUESTS: readonly (readonly [route: Route, request: JsonObject, by?: string])[] = [
  [
    'chat.completions',
    {
      messages: [
        { role: 'developer', name: 'x', content: 'x' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'x' },
            { type: 'image_url', image_url: { url: PNG, detail: 'low' } },
            { type: 'file', file: { file_data: PNG, filename: 'x' } },
            { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'x' },
            { type: 'refusal', refusal: 'x' },
          ],
          refusal: 'x',
          reasoning_content: 'x',
          audio: { id: 'x' },
          tool_calls: [
            { id: 'x', type: 'function', function: { name: 'x', arguments: '{}' } },
            { id: 'x', type: 'custom', custom: { name: 'x', input: 'x' } },
          ],
          function_call: { name: 'x', arguments: '{}' },
        },
        { role: 'tool', tool_call_id: 'x', content: [{ type: 'text', text: 'x' }] },
        { role: 'function', name: 'x', content: 'x' },
      ],
      tools: [
        { type: 'function', function: { name: 'x', description: 'x', parameters: { a: 'x' } } },
        { type: 'custom', custom: { name: 'x', description: 'x' } },
      ],
      tool_choice: { type: 'function', function: { name: 'x' } },
      functions: [{ name: 'x', description: 'x', parameters: {} }],
      prediction: { type: 'content', content: [{ type: 'text', text: 'x' }] },
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { a: 'x' } } },
      stream: true,
      stream_options: { include_usage: true },
      metadata: { a: 'x' },
    },
  ],
  [
    'responses',
    {
      instructions: 'x',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'x' },
            { type: 'input_image', image_url: PNG, detail: 'low' },
            { type: 'input_file', file_data: PNG, filename: 'x' },
            { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
          ],
        },
        {
          type: 'message',
          role: 'assistant',
          id: 'x',
          status: 'completed',
          content: [
            { type: 'output_text', text: 'x', annotations: [{ a: 'x' }] },
            { type: 'refusal', refusal: 'x' },
          ],
        },
        { type: 'function_call', call_id: 'x', name: 'x', arguments: '{}' },
        { type: 'function_call_output', call_id: 'x', output: [{ type: 'input_text', text: 'x' }] },
        { type: 'custom_tool_call', call_id: 'x', name: 'x', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'x', output: 'x' },
        {
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'x' }],
          content: [{ type: 'reasoning_text', text: 'x' }],
          encrypted_content: 'x',
        },
      ],
      tools: [
        { type: 'function', name: 'x', description: 'x', parameters: { a: 'x' } },
        { type: 'custom', name: 'x', description: 'x', format: { type: 'grammar', syntax: 'x' } },
      ],
      text: { format: { type: 'json_schema', name: 'x', schema: { a: 'x' }, description: 'x' } },
      reasoning: { effort: 'low' },
      metadata: { a: 'x' },
      stop: ['x'],
    },
  ],
  [
    'responses',
    {
      input: [
        { type: 'item_reference', id: 'x' },
        { type: 'web_search_call', id: 'x', action: { type: 'search', query: 'x' } },
        { type: 'shell_call_output', call_id: 'x', output: [{ stdout: 'x', outcome: { a: 'x' } }] },
        { type: 'computer_call_output', call_id: 'x', output: { type: 'x', image_url: 'x' } },
        { type: 'additional_tools', tools: [{ type: 'function', name: 'x', description: 'x' }] },
        { type: 'function_call', call_id: 'x', namespace: 'x', name: 'x', arguments: '{}' },
      ],
      tools: [
        {
          type: 'namespace',
          name: 'x',
          description: 'x',
          tools: [{ type: 'function', name: 'x', description: 'x', parameters: { a: 'x' } }],
        },
        { type: 'web_search', user_location: { city: 'x' } },
      ],
    },
    'agents',
  ],
  ['completions', { prompt: ['x'], suffix: 'x', logit_bias: { 1: 1 }, documents: [{ a: 'x' }] }],
  ['embeddings', { input: ['x'], encoding_format: 'float', documents: [{ a: 'x' }] }],
];

/** Media, and what a model reads of no request. */
const UNREAD =
  /^(model|user|stop|logit_bias)\b|[.](image_url[.]url|file_data|input_audio[.]data)$|^input[.]0[.]content[.]1[.]image_url$/;

const SHAPES: readonly ((text: string) => unknown)[] = [
  (text) => text,
  (text) => [text],
  (text) => [[text]],
  (text) => ({ text }),
  (text) => [{ type: 'text', text: [text] }],
  (text) => [{ type: 'text', text: 'x', image_url: text }],
  (text) => [{ type: 'image_url', image_url: { url: PNG }, text: [text] }],
  (text) => [{ type: 'text', text: 'x', function: text, refusal: { text } }],
  (text) => [{ id: 'x', type: 'function', function: { name: 'x', arguments: '', input: [text] } }],
  (text) => [{ role: 'user', content: 'x', function_call: text, tool_calls: { text } }],
];

/** Every value in a request replaced by the sentence in a shape, and every object with a member more that has it. */
function* placesIn(
  value: unknown,
  put: unknown,
  path: string[] = [],
): Generator<[string, unknown]> {
  if (path.length > 0) yield [path.join('.'), put];
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    for (const [at, changed] of placesIn(member, put, [...path, name])) {
      const copy = structuredClone(value) as JsonObject;
      copy[name] = changed;
      yield [at, copy];
    }
  }
  if (Array.isArray(value))
    yield [[...path, value.length].join('.'), [...(value as unknown[]), put]];
  else
    for (const name of ['text', 'input', 'summary', 'arguments', 'refusal', 'description', 'zz'])
      if (!Object.hasOwn(value, name)) yield [[...path, name].join('.'), { ...value, [name]: put }];
}

function placesOf(request: JsonObject) {
  return SHAPES.flatMap((shape, index) => {
    const put = shape(SENTENCE);
    return Array.from(placesIn(request, put), ([at, changed]) => {
      const kind = `${index} ${at.split('.').slice(-2).join('.').replaceAll(/\d+/g, '#')}`;
      return { at, put, changed: changed as object, kind };
    });
  });
}

describe('a sentence that the policy forbids', () => {
  it.each(REQUESTS.map(([route, request, by]) => ({ route, request, of: by ?? route })))(
    'is read in every member of $of and in every shape, or the shape is refused [operations.screening]',
    async ({ route, request }) => {
      let blocked = 0;
      const passed: string[] = [];
      for (const { at, put, changed } of sample(placesOf(request), ({ kind }) => kind)) {
        const outcome = await judged(route, changed);
        if (outcome?.isBlocked === true) blocked += 1;
        else if (outcome !== null && !UNREAD.test(at)) passed.push(`${at}: ${JSON.stringify(put)}`);
      }
      expect(passed).toEqual([]);
      expect(blocked).toBeGreaterThan(20);
    },
  );
});
