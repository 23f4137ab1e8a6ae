import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startSaltedDigest } from '#shared/receipts/digest.ts';
import { LONG } from '#shared/kernel/turns.ts';
import { withEncodingAsked } from '#workers/inference/bodies.ts';
import { isDense, parseEmbeddings, withoutLogprobs } from '#workers/inference/long-answers.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import {
  answers,
  asTold,
  completion,
  delivery,
  ScriptedProvider,
  streams,
  workerWith,
} from './doubles.ts';

const vector = fc.oneof(
  fc.array(fc.double()),
  fc.base64String(),
  fc.jsonValue({ maxDepth: 2 }),
  fc.constant('a "embedding":[1] in a text'),
);
const item = fc.dictionary(
  fc.constantFrom('embedding', 'index', 'object', 'an "embedding', 'embedding"'),
  vector,
);
const answer = fc.record({ data: fc.array(item), usage: fc.jsonValue(), embedding: vector });

/** What a promise comes to, and how often others had their turn before that. */
async function withTurns<T>(work: Promise<T>): Promise<[T, number]> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const value = await work;
  isOver = true;
  return [value, turns];
}

describe('a long answer with embeddings', () => {
  it('is parsed as JSON.parse does, also where its server has put other things in places of vectors', async () => {
    await forAllAsync([answer, fc.constantFrom(0, 1)], async (given, indent) => {
      const text = JSON.stringify(given, null, indent);
      expect(await parseEmbeddings(text)).toEqual(JSON.parse(text));
    });
    await expect(parseEmbeddings('{"data":[{"embedding":[1,2}]}')).rejects.toThrow(SyntaxError);
    await expect(parseEmbeddings('{"data":[{"embedding":[1,2')).rejects.toThrow(SyntaxError);
  });

  it('of many vectors in base64 is read once, and not from its beginning for each of them', async () => {
    const embedding = Buffer.alloc(1_536, 1).toString('base64');
    const data = Array.from({ length: 20_000 }, (_, index) => ({ index, embedding }));
    // Read for each of them it takes minutes, and the test does not end.
    const parsed = await parseEmbeddings(JSON.stringify({ data }));
    expect((parsed as { data: unknown[] }).data[19_999]).toEqual(data[19_999]);
  });

  it('lets other answers have their turns, in parsing it and in writing it in another encoding', async () => {
    const embedding = Array.from({ length: 40_000 }, () => 0.25);
    const data = Array.from({ length: 40 }, (_, index) => ({ index, embedding }));
    const text = JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 40 } });
    // Some less than it has megabytes: a piece ends with a vector.
    const pieces = Math.floor(text.length / (2 * LONG));
    const [parsed, turns] = await withTurns(parseEmbeddings(text));
    expect(turns).toBeGreaterThanOrEqual(pieces);
    const ask = (format: string, of: object, given: string): Promise<string> =>
      withEncodingAsked(given, { ...of }, JSON.stringify({ encoding_format: format }));
    const [base64, turnsOfWriting] = await withTurns(ask('base64', parsed as object, text));
    expect(turnsOfWriting).toBeGreaterThanOrEqual(pieces);
    const inBase64 = JSON.parse(base64) as { data: { embedding: unknown }[] };
    expect(inBase64.data[39]!.embedding).toBeTypeOf('string');
    const again = JSON.parse(await ask('float', inBase64, base64)) as object;
    expect(again).toEqual(JSON.parse(text));
    expect(await ask('float', parsed as object, text)).toBe(text);
  });
});

/** A token as servers tell it with others that might have stood there. */
const token = (text: string) => ({
  token: text,
  logprob: -0.25,
  bytes: [...Buffer.from(text)],
  top_logprobs: Array.from({ length: 20 }, (_, at) => ({ token: `${text}${at}`, logprob: -at })),
});
/** Some three megabytes of them. */
const TOKENS = Array.from({ length: 2_500 }, (_, at) => token(`"[x]" ${at}`));

const list = fc.array(
  fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(token(' ]}"\\')), fc.constant([[], {}])),
);
const logprobs = fc.oneof(
  fc.constant(null),
  list,
  fc.record({ content: list, refusal: fc.constant(null) }),
  fc.record({ refusal: fc.constant(null), content: fc.oneof(list, fc.constant(null)) }),
  fc.record({ tokens: list, top_logprobs: list, text_offset: list, token_logprobs: list }),
);
const withLogprobs = fc.record({
  choices: fc.array(
    fc.record({
      text: fc.oneof(fc.string(), fc.constant('"logprobs": ["a"')),
      logprobs,
      'logprobs"': logprobs,
    }),
  ),
  usage: fc.jsonValue(),
});

describe('a long answer with log probabilities [limits.answers]', () => {
  it('is without them what it is with none, and has them in their places again', async () => {
    await forAllAsync([withLogprobs, fc.constantFrom(0, 1)], async (given, indent) => {
      const text = JSON.stringify(given, null, indent);
      const { text: rest, restored } = await withoutLogprobs(text);
      expect(restored(rest)).toBe(text);
      const { choices } = JSON.parse(rest) as typeof given;
      expect(choices.map((one) => one.text)).toEqual(given.choices.map((one) => one.text));
    });
  });

  it('is none where one of them is no JSON, also where they are parsed piece by piece', async () => {
    const text = JSON.stringify({ logprobs: TOKENS });
    const odd = [
      [/\]\}$/, ',]}'],
      [/\]\}$/, '}'],
      [/\]\}$/, ''],
      [/"logprob":-0.25/, '"logprob":-.25'],
      [/(.*)"logprob":-0.25/, '$1"logprob":'],
      [/\},\{"token"/g, '},,{"token"'],
    ] as const;
    for (const [found, put] of odd)
      await expect(withoutLogprobs(text.replace(found, put))).rejects.toThrow(SyntaxError);
    // A comma behind which nothing comes, where a piece ends with it.
    const long = `"${'x'.repeat(LONG)}"`;
    await expect(withoutLogprobs(`{"logprobs":[${long},]}`)).rejects.toThrow(SyntaxError);
    await expect(withoutLogprobs(`{"logprobs":[${long},1]}`)).resolves.toBeDefined();
  });

  it.each([
    ['chat.completions', { content: TOKENS, refusal: null }],
    ['completions', { tokens: TOKENS, token_logprobs: [1], top_logprobs: TOKENS }],
  ] as const)('lets others have their turns, and is told as it came: %s', async (route, odds) => {
    const choice = { index: 0, text: 'Hi', message: { content: 'Hi' }, finish_reason: 'stop' };
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    const choices = [{ ...choice, logprobs: odds }];
    const text = JSON.stringify({ id: 'c', model: 'up/m', choices, usage });
    expect(text.length).toBeGreaterThan(2 * LONG);
    const { run, handed } = workerWith(new ScriptedProvider(answers(text)));
    const one = delivery({ route }, { body: '{"model":"m","prompt":"Hi","messages":[]}' });
    const [, turns] = await withTurns(run(one));
    expect(turns).toBeGreaterThan((4 * text.length) / LONG);
    const told = startSaltedDigest(one.entry.salt);
    told.update(asTold(text, one));
    expect(handed()[0]!.record).toMatchObject({
      outcome: 'complete',
      usage: { outputTokens: 3 },
      responseDigest: told.end(),
    });
  });
});

describe('what would be parsed in one step for long [limits.answers]', () => {
  const dense = JSON.stringify(Array.from({ length: 1_500_000 }, (_, at) => ({ at })));

  it('is what holds very much, and not one long text', () => {
    expect(isDense(dense)).toBe(true);
    expect(isDense(dense.slice(0, LONG))).toBe(false);
    expect(isDense(`["${'A'.repeat(16 * LONG)}"]`)).toBe(false);
  });

  it.each([
    ['an answer', false, answers(completion().replace('{', `{"more":${dense},`))],
    ['an event of a stream', true, streams(completion().replace('{', `{"more":${dense},`))],
    [
      'a whole answer to a streamed request',
      true,
      answers(completion().replace('{', `{"more":${dense},`)),
    ],
  ])('is not read, and is no fault of its server: %s', async (_, stream, behaviour) => {
    const { run, outbox } = workerWith(new ScriptedProvider(behaviour));
    await run(delivery({ stream }));
    expect(outbox.replies.at(-1)).toMatchObject({
      kind: 'error',
      error: { code: 'upstream_error', message: expect.stringContaining('too large') as string },
    });
  });

  it('is not written either: a response ends where its chat server has sent more log probabilities than that', async () => {
    const piece = (content: string) => ({
      id: 'c',
      choices: [{ index: 0, delta: { content }, logprobs: { content: TOKENS.slice(0, 600) } }],
    });
    const chunks = Array.from({ length: 14 }, (_, at) => JSON.stringify(piece(`${at}`)));
    const { run, outbox } = workerWith(new ScriptedProvider(streams(...chunks)));
    const body = '{"model":"m","input":"Hi"}';
    await run(delivery({ route: 'responses', stream: true }, { body }));
    expect(outbox.replies.at(-1)).toMatchObject({
      kind: 'error',
      error: { code: 'upstream_error' },
    });
    // With some it goes on to its end.
    const few = workerWith(new ScriptedProvider(streams(...chunks.slice(0, 3))));
    await few.run(delivery({ route: 'responses', stream: true }, { body }));
    expect(few.outbox.replies.some(({ kind }) => kind === 'frames')).toBe(true);
  });
});
