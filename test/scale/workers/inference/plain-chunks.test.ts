import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '#shared/kernel/json-object.ts';
import { PlainChunks } from '#workers/inference/plain-chunks.ts';
import { StreamRelay } from '#workers/inference/stream-relay.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { endpoint } from '#test/unit/catalogue/routed-catalogue.ts';

type Made = { object: 'chat.completion.chunk' | 'text_completion'; includeUsage: boolean };

/** What a client gets of these payloads, with the short way and without it, and what is known of the stream then. */
function relayed(payloads: readonly string[], made: Made, isShort: boolean) {
  const sent: string[] = [];
  const relay = new StreamRelay({
    ...made,
    answerId: 'ours',
    model: 'm',
    send: (text) => sent.push(text),
  });
  relay.readFrom(endpoint('e', ['eu']));
  let short = 0;
  for (const payload of payloads) {
    if (isShort && relay.acceptPlain(payload)) short += 1;
    else relay.accept(payload, JSON.parse(payload) as JsonObject);
  }
  const { usage, texts, isFinished, sentTokens, sent: count, upstreamAnswerId, modelNamed } = relay;
  const known = { usage, texts, isFinished, sentTokens, count, upstreamAnswerId, modelNamed };
  const last = relay.finish({ source: 'unknown', reason: 'not_counted' });
  return { short, got: { sent, last, known } };
}

const word = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('a', ' word', 'Grüße ', '日本', '😀', '}', '"content":"x'),
  },
  fc.string({ unit: 'binary', maxLength: 6 }),
);

/** Chunks of one server, most of which differ in a text alone. */
const stream = fc
  .record({
    isChat: fc.boolean(),
    spaced: fc.boolean(),
    usageNull: fc.boolean(),
    model: fc.constantFrom('m', 'theirs'),
    pieces: fc.array(
      fc.record({
        text: word,
        odd: fc.oneof(
          { weight: 8, arbitrary: fc.constant('plain') },
          fc.constantFrom(
            'end',
            'role',
            'usage',
            'tools',
            'second',
            'later',
            'receipt',
            'noChoice',
          ),
        ),
      }),
      { maxLength: 12 },
    ),
  })
  .map(({ isChat, spaced, usageNull, model, pieces }) => {
    const payloads = pieces.map(({ text, odd }) => {
      const tools = [
        { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: text } },
      ];
      const said = isChat
        ? {
            delta: {
              ...(odd === 'role' && { role: 'assistant' }),
              content: text,
              ...(odd === 'tools' && { tool_calls: tools }),
            },
          }
        : { text };
      const choice = {
        index: odd === 'second' ? 1 : 0,
        ...said,
        finish_reason: odd === 'end' ? 'stop' : null,
      };
      const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
      const chunk = {
        id: 'theirs',
        object: isChat ? 'chat.completion.chunk' : 'text_completion',
        created: odd === 'later' ? 2 : 1,
        model,
        choices: odd === 'noChoice' ? [] : [choice],
        ...(odd === 'usage' || odd === 'noChoice' ? { usage } : usageNull ? { usage: null } : {}),
        ...(odd === 'receipt' && { x_receipt: 'none' }),
      };
      return JSON.stringify(chunk, null, spaced ? 1 : undefined);
    });
    return {
      object: isChat ? ('chat.completion.chunk' as const) : ('text_completion' as const),
      payloads,
    };
  });

it('a stream is the same to its client and on its receipt whether its chunks are parsed or known', () => {
  let short = 0;
  forAll(
    [stream, fc.boolean()],
    { numRuns: runs(20_000) },
    ({ object, payloads }, includeUsage) => {
      const known = relayed(payloads, { object, includeUsage }, true);
      const parsed = relayed(payloads, { object, includeUsage }, false);
      expect(known.got).toEqual(parsed.got);
      short += known.short;
    },
  );
  expect(short).toBeGreaterThan(0);
});

const chunk = (content: string): string =>
  `{"id":"a","choices":[{"index":0,"delta":{"content":${content}},"finish_reason":null}]}`;

it.each([
  ['an escape', chunk('"a\\n"')],
  ['a quote that ends the text early', chunk('"a","content":"b"')],
  ['a raw line break', chunk('"a\nb"')],
  ['no text', chunk('""')],
  ['another id', chunk('"b"').replace('"a"', '"b"')],
])('a chunk with %s is parsed', (_what, given) => {
  const plain = new PlainChunks('delta');
  plain.learn(chunk('"a"'), JSON.parse(chunk('"a"')) as JsonObject, chunk('"a"'));
  expect(plain.read(chunk('"b"'))?.payload).toBe(chunk('"b"'));
  expect(plain.read(given)).toBe(undefined);
});

it('a member that is spelt in two ways is not taken for the text', () => {
  const twice = chunk('"a"').replace('"content":"a"', '"content":"a","\\u0063ontent":"b"');
  const plain = new PlainChunks('delta');
  plain.learn(twice, JSON.parse(twice) as JsonObject, twice);
  expect(plain.read(twice)).toBe(undefined);
});

const speaking = (delta: string, beside = ''): string =>
  `{"id":"a","choices":[{"index":0,"delta":{${delta}}${beside},"finish_reason":null}]`;

it.each([
  [
    'what was thought as well',
    ['a', 'b', 'c'].map((text) => `${speaking(`"content":"${text}","reasoning":"why "`)}}`),
  ],
  [
    'a call beside the text',
    ['a', 'b'].map(
      (text) =>
        `${speaking(`"content":"${text}","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":" "}}]`)}}`,
    ),
  ],
  [
    'usage in a place of its own, which goes back',
    [3, 9, 3].map(
      (tokens, at) =>
        `${speaking(`"content":"${at}"`)},"x_groq":{"usage":{"prompt_tokens":1,"completion_tokens":${tokens}}}}`,
    ),
  ],
  [
    'a text that stands where another is read',
    ['a', 'bb'].map(
      (text) => `${speaking('"\\u0063ontent":"probe"', `,"logprobs":{"content":"${text}"}`)}}`,
    ),
  ],
])('what is known of a stream is the same where its chunks have %s', (_what, payloads) => {
  const made = { object: 'chat.completion.chunk', includeUsage: true } as const;
  expect(relayed(payloads, made, true).got).toEqual(relayed(payloads, made, false).got);
});
