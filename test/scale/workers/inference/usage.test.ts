import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import type { Usage } from '#shared/kernel/inference.ts';
import { type Asked, asked as askedOf } from '#workers/inference/bodies.ts';
import {
  cannotBe,
  countUsed,
  dependsOnEndpoint,
  promptAtLeast,
  readUsage,
  toldUsage,
} from '#workers/inference/usage.ts';
import { forAll, forAllAsync } from '#test/support/for-all.ts';
import { turnsDuring } from '#test/support/turns-during.ts';

const counter = createTokenCounter();
const tokensOf = async (text: string, family: string): Promise<number> =>
  (await counter.countPrompts([{ texts: [text], tokens: 0, messages: 0 }], family)).tokens;
const MODEL = 'small';
const chat = (body: object): Asked => ({ route: 'chat.completions', body: JSON.stringify(body) });
const completion = (prompt: unknown): Asked => ({
  route: 'completions',
  body: JSON.stringify({ prompt }),
});
const SOME = { prompt_tokens: 10, completion_tokens: 2 };

describe('usage of an upstream', () => {
  it('usage of zero is a count, not an absence', () => {
    expect(readUsage({ prompt_tokens: 0, completion_tokens: 0 })).toEqual({
      inputTokens: 0,
      cachedInputTokens: 0,
      outputTokens: 0,
      source: 'upstream',
    });
  });

  it('usage that is absent or absurd is undefined, so that it is counted', () => {
    for (const usage of [
      undefined,
      null,
      {},
      [],
      'x',
      { prompt_tokens: -1 },
      { prompt_tokens: 1.5 },
      { prompt_tokens: '7' },
      { prompt_tokens: 1e12, completion_tokens: 1 },
      { prompt_tokens: 7 },
      { prompt_tokens: 7, completion_tokens: null },
      { prompt_tokens: 7, completion_tokens: '3' },
      { completion_tokens: 3 },
    ]) {
      expect(readUsage(usage)).toBeUndefined();
    }
  });

  it('cached tokens are read in each way that servers name them', () => {
    expect(readUsage({ ...SOME, prompt_tokens_details: { cached_tokens: 4 } })).toMatchObject({
      cachedInputTokens: 4,
    });
    expect(
      readUsage({ input_tokens: 10, output_tokens: 2, input_tokens_details: { cached_tokens: 4 } }),
    ).toMatchObject({ inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 });
    expect(readUsage({ ...SOME, prompt_cache_hit_tokens: 9 })).toMatchObject({
      cachedInputTokens: 9,
    });
    expect(readUsage({ ...SOME, cached_tokens: 8 })).toMatchObject({ cachedInputTokens: 8 });
  });

  it('cached tokens are told where clients look for them, wherever their server told them', () => {
    for (const more of [{ prompt_cache_hit_tokens: 4 }, { cached_tokens: 4 }]) {
      const theirs = { ...SOME, ...more };
      const told = { ...theirs, prompt_tokens_details: { cached_tokens: 4 } };
      expect(toldUsage(readUsage(theirs)!, theirs)).toEqual(told);
    }
    const none = { ...SOME, prompt_cache_hit_tokens: 0 };
    expect(toldUsage(readUsage(none)!, none)).toBe(none);
  });

  it('usage under the names of chats and of responses says one thing under both', () => {
    const theirs = { ...SOME, input_tokens: 0, output_tokens: 7, input_tokens_details: null };
    const told = toldUsage(readUsage(theirs)!, theirs);
    expect(told).toEqual({ ...theirs, input_tokens: 10, output_tokens: 2 });
    const agreed = { ...theirs, input_tokens: 10, output_tokens: 2 };
    expect(toldUsage(readUsage(agreed)!, agreed)).toBe(agreed);
  });

  it('usage of embeddings needs no count of what was generated', () => {
    expect(readUsage({ prompt_tokens: 10 }, undefined, 'embeddings')).toMatchObject({
      inputTokens: 10,
      outputTokens: 0,
      source: 'upstream',
    });
  });

  it('measured energy is read only from the field that the catalogue names', () => {
    const usage = { ...SOME, energy_joules: 2.5 };
    expect(readUsage(usage)).not.toHaveProperty('statedJoules');
    expect(readUsage(usage, { usageField: 'energy_joules' })).toMatchObject({
      statedJoules: 2.5,
    });
    expect(
      readUsage({ ...usage, energy_joules: -1 }, { usageField: 'energy_joules' }),
    ).not.toHaveProperty('statedJoules');
  });

  it('usage of any shape never throws and never gives a count that is no whole number', () => {
    forAll([fc.anything()], (value) => {
      const usage = readUsage(value);
      if (usage === undefined) return;
      expect(
        [usage.inputTokens, usage.outputTokens, usage.cachedInputTokens].every(
          Number.isSafeInteger,
        ),
      ).toBe(true);
    });
  });
});

describe('counts of an upstream that no vocabulary can make', () => {
  const stated = (inputTokens: number, outputTokens: number, cachedInputTokens = 0): Usage => ({
    inputTokens,
    outputTokens,
    cachedInputTokens,
    source: 'upstream',
  });
  const judge = async (
    usage: Usage,
    generated: string[],
    asked: Asked = chat({ messages: [] }),
  ) => {
    let reads = 0;
    const isNone = await cannotBe(usage, generated, Buffer.byteLength(asked.body), async () => {
      reads += 1;
      return promptAtLeast(asked);
    });
    return { isNone, reads };
  };

  it.each<[string, Usage, string[], boolean]>([
    ['none for a letter', stated(5, 0), ['a'], true],
    ['none for an answer that is empty', stated(5, 0), ['', ''], false],
    ['one for a hundred and twenty-eight bytes', stated(5, 1), ['x'.repeat(128)], false],
    ['one for a byte more', stated(5, 1), ['x'.repeat(129)], true],
    ['one for forty-three letters of three bytes', stated(5, 1), ['€'.repeat(43)], true],
    ['one for two choices', stated(5, 1), ['a', 'b'], true],
    ['a thousand for a letter, thought in secret', stated(5, 1_000), ['a'], false],
    ['more from a cache than there was', stated(5, 1, 6), ['a'], true],
    ['all of it from a cache', stated(5, 1, 5), ['a'], false],
    ['no prompt', stated(0, 1), ['a'], true],
  ])('%s', async (_, usage, generated, isNone) => {
    expect((await judge(usage, generated)).isNone).toBe(isNone);
  });

  it('of a prompt are looked for only where its body is long enough for that', async () => {
    const long = chat({ messages: [{ role: 'user', content: 'word '.repeat(1_000) }] });
    expect(await judge(stated(20, 1), ['a'], long)).toEqual({ isNone: true, reads: 1 });
    expect(await judge(stated(41, 1), ['a'], long)).toEqual({ isNone: false, reads: 0 });
    const image = {
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${'A'.repeat(10_000)}` },
    };
    const seen = chat({ messages: [{ role: 'user', content: [image] }] });
    expect(await judge(stated(20, 1), ['a'], seen)).toEqual({ isNone: false, reads: 1 });
    // A server makes pictures of it.
    const drawing = `<svg>${'<path d="M 0 0"/>'.repeat(1_000)}</svg>`;
    const file = { file_data: `data:image/svg+xml;base64,${btoa(drawing)}` };
    const drawn = chat({ messages: [{ role: 'user', content: [{ type: 'file', file }] }] });
    expect(await judge(stated(20, 1), ['a'], drawn)).toEqual({ isNone: false, reads: 1 });
    const ids = completion(Array.from({ length: 400 }, () => 50_000));
    expect((await judge(stated(9, 1), ['a'], ids)).isNone).toBe(true);
  });
});

describe('tokens that the worker counts itself', () => {
  const counting =
    (tokens: typeof counter, family?: string) =>
    (asked: Asked, generated: readonly string[], reported?: Usage) =>
      countUsed(tokens, asked, family, generated, reported);
  const count = counting(counter);

  it('of 128 prompts of the costliest text are counted for one request as for one text, in turns with other work', async () => {
    const bounded = counting(createTokenCounter(2_097_152));
    await bounded(chat({ messages: [{ role: 'user', content: 'warm' }] }), ['warm']);
    // Of this text a kibibyte takes a millisecond: all of it would take a quarter of a minute.
    const prompt = Array.from({ length: 128 }, (_, i) => `${i} ${'жщ'.repeat(60_000)}`);
    const { result: usage, turns } = await turnsDuring(() => bounded(completion(prompt), []));
    expect(usage.inputTokens!).toBeGreaterThan(128 * 10_000);
    // A turn each KiB or so; all of it would be 15,000.
    expect(turns).toBeGreaterThan(20);
    expect(turns).toBeLessThan(200);
  });

  it('of a few short prompts are exact', async () => {
    const asked = completion(['hello world', [1, 2, 3]]);
    expect(await count(asked, ['hello world'])).toEqual({
      inputTokens: 5,
      cachedInputTokens: 0,
      outputTokens: 2,
      source: 'counted',
      tokenizer: 'o200k_base',
      // Nothing says that the model reads this vocabulary.
      tokenInterval: { inputLower: 3, inputUpper: 15, outputLower: 1, outputUpper: 8 },
    });
  });

  it('have an interval unless the vocabulary is the model’s own, which the count names', async () => {
    const own = counting(counter, 'o200k_harmony');
    const asked = chat({ messages: [{ role: 'user', content: 'How fast?' }] });
    const usage = await own(asked, ['Once in ten seconds.']);
    expect(usage).toMatchObject({ source: 'counted', tokenizer: 'o200k_base' });
    expect(usage).not.toHaveProperty('tokenInterval');
  });

  it('say that they are estimated where a part was counted, with an interval also of the model’s own vocabulary', async () => {
    const own = counting(createTokenCounter(1_024), 'o200k_base');
    const text = 'the lighthouse '.repeat(1_000) + 'q7#'.repeat(4_000);
    const usage = (await own(completion(text), ['Hi'])) as Usage;
    expect(usage).toMatchObject({ source: 'counted', extrapolated: true, outputTokens: 1 });
    const { inputLower, inputUpper, outputLower, outputUpper } = usage.tokenInterval!;
    const real = await tokensOf(text, 'o200k_base');
    expect(usage.inputTokens).toBeLessThan(real);
    expect(inputLower).toBeLessThanOrEqual(usage.inputTokens);
    expect(inputUpper).toBeGreaterThanOrEqual(real);
    expect([outputLower, outputUpper]).toEqual([1, 1]);
    expect(toldUsage(usage, undefined)).toMatchObject({ source: 'counted', extrapolated: true });
  });

  it('have an interval that holds what other vocabularies make of the text', async () => {
    await forAllAsync([fc.string({ unit: 'grapheme', maxLength: 200 })], async (text) => {
      const usage = (await count(completion(text), [text])) as Usage;
      const { inputLower, inputUpper, outputLower, outputUpper } = usage.tokenInterval!;
      expect(inputLower).toBeLessThanOrEqual(usage.inputTokens);
      expect(inputUpper).toBeGreaterThanOrEqual(usage.inputTokens);
      const other = await tokensOf(text, 'cl100k_base');
      expect(other).toBeGreaterThanOrEqual(outputLower);
      expect(other).toBeLessThanOrEqual(outputUpper);
    });
  });

  it('are not known of images and other media, which only the model can count', async () => {
    const content = [
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
    ];
    const asked = chat({ messages: [{ role: 'user', content }] });
    expect(await count(asked, ['A lamp.'])).toEqual({
      source: 'unknown',
      reason: 'not_counted',
    });
  });

  it('are not known of what a server of responses ran or thought in secret, and may be more by what was thought where that is sent', async () => {
    const question = { role: 'user', content: 'How fast?' };
    const thought = {
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'The lamp turns once in ten seconds.' }],
    };
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
    const answer = { role: 'assistant', content: 'Once in ten seconds.' };
    const counted = (input: unknown[], endpoint: Parameters<typeof askedOf>[2]) =>
      count(askedOf('responses', JSON.stringify({ model: MODEL, input }), endpoint), ['x']);
    const sealed = { ...thought, encrypted_content: 'AAAA' };
    for (const item of [sealed, search])
      expect(await counted([question, item, answer], { responses: true })).toEqual({
        source: 'unknown',
        reason: 'not_counted',
      });
    const without = await counted([question, answer], {});
    expect(await counted([question, search, answer], {})).toEqual(without);
    expect(await counted([question, thought, answer], {})).toEqual(without);
    const upper = (usage: object) => (usage as Usage).tokenInterval!.inputUpper;
    const native = await counted([question, thought, answer], { responses: true });
    expect(upper(native)).toBeGreaterThan(upper(without) + 20);
    const again = await counted([question, thought, answer], { reasoningContent: true });
    expect({ ...again, tokenInterval: null }).toEqual({ ...without, tokenInterval: null });
    expect(upper(again)).toBe(upper(without) + 35);
  });

  it('are those of a chat also where its caller puts an input of another interface beside its messages', async () => {
    const messages = [{ role: 'user', content: 'How fast?' }];
    const alone = await count(chat({ messages }), ['x']);
    expect(await count(chat({ messages, input: [{}] }), ['x'])).toEqual(alone);
  });

  it('depend on the endpoint where thoughts or what a server ran is among what was asked', () => {
    const of = (route: Asked['route'], body: object) =>
      dependsOnEndpoint({ route, body: JSON.stringify(body) });
    const thinks = { role: 'assistant', content: 'x', reasoning_content: 'y' };
    expect(of('chat.completions', { messages: [thinks] })).toBe(true);
    expect(of('chat.completions', { messages: [{ role: 'user', content: 'x' }] })).toBe(false);
    expect(of('responses', { input: [{ type: 'web_search_call' }] })).toBe(true);
    expect(of('responses', { input: 'x' })).toBe(false);
    expect(of('completions', { prompt: 'x' })).toBe(false);
  });

  const said = 'The lamp turns once in ten seconds, and the keeper sleeps.';
  const twice = chat({ messages: [{ role: 'user', content: 'How fast?' }], n: 2 });
  const reported = (inputTokens: number, outputTokens: number): Usage => ({
    inputTokens,
    cachedInputTokens: 0,
    outputTokens,
    source: 'upstream',
  });

  it('replace what an upstream reported of one choice only, and not what it reported of all', async () => {
    const ofOne = await count(twice, [said, said], reported(11, 13));
    expect(ofOne).toMatchObject({ source: 'counted', outputTokens: 26 });
    const ofAll = reported(11, 24);
    expect(await count(twice, [said, said], ofAll)).toBe(ofAll);
    // Hidden reasoning is counted by the upstream alone.
    const more = reported(11, 900);
    expect(await count(twice, [said, said], more)).toBe(more);
  });

  it('replace what an upstream reported of one prompt among several', async () => {
    const asked = completion(['The sea and the wind', 'The wind and the sea']);
    expect(await count(asked, [said, said], reported(5, 26))).toMatchObject({
      source: 'counted',
      inputTokens: 10,
    });
    expect(await count(asked, [said, said], reported(10, 26))).toMatchObject({
      source: 'upstream',
    });
  });
});
