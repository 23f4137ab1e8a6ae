import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countTokens } from '#embedded/sandbox/tokens.ts';
import { type RunningSandbox, runSandbox } from './running-sandbox.ts';

let sandbox: RunningSandbox;
let client: OpenAI;
beforeAll(async () => {
  sandbox = await runSandbox();
  client = sandbox.client;
});
afterAll(() => sandbox[Symbol.asyncDispose]());

describe('legacy completions of the sandbox', () => {
  it('answer each prompt n times, with parallel arrays of log probabilities', async () => {
    const answer = await client.completions.create({
      model: 'm',
      prompt: ['The tide', 'The lamp'],
      n: 2,
      max_tokens: 6,
      logprobs: 2,
      echo: true,
    });
    expect(answer.object).toBe('text_completion');
    expect(answer.choices.map((choice) => choice.text.slice(0, 8))).toEqual([
      'The tide',
      'The tide',
      'The lamp',
      'The lamp',
    ]);
    const { tokens, text_offset: offsets } = answer.choices[0]?.logprobs ?? {};
    tokens?.forEach((token, index) => {
      expect(answer.choices[0]?.text.startsWith(token, offsets?.[index])).toBe(true);
    });
    expect(answer.usage?.prompt_tokens).toBe(countTokens('The tide') + countTokens('The lamp'));
  });

  it('stream as text_completion', async () => {
    const stream = await client.completions.create({
      model: 'm',
      prompt: [1, 2, 3],
      max_tokens: 5,
      stream: true,
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.every((chunk) => chunk.object === 'text_completion')).toBe(true);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toMatch(/stop|length/);
  });
});

describe('embeddings of the sandbox', () => {
  it('are the same unit vectors as base64 and as floats, of the size asked for', async () => {
    for (const dimensions of [1, 3, 256, 1024]) {
      const ask = { model: 'm', input: ['a lamp', 'a ship'], dimensions };
      // The SDK asks for base64 where no format is given, and decodes it.
      const [encoded, floats] = await Promise.all([
        client.embeddings.create(ask),
        client.embeddings.create({ ...ask, encoding_format: 'float' }),
      ]);
      expect(encoded.data.map((item) => item.embedding)).toEqual(
        floats.data.map((item) => item.embedding),
      );
      for (const { embedding } of floats.data) {
        expect(embedding).toHaveLength(dimensions);
        expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
      }
    }
  });

  it('lie closer for texts that share words, and take token ids', async () => {
    const input = ['the keeper of the lighthouse', 'a lighthouse keeper', 'seven boxes of oranges'];
    const { data } = await client.embeddings.create({ model: 'm', input });
    const [a, b, c] = data.map((item) => item.embedding) as [number[], number[], number[]];
    const dot = (x: number[], y: number[]) =>
      x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0);
    expect(dot(a, b)).toBeGreaterThan(dot(a, c) + 0.1);
    const ids = await client.embeddings.create({ model: 'm', input: [[1, 2, 3], [4]] });
    expect(ids.usage.prompt_tokens).toBe(4);
  });
});

describe('the sandbox process', () => {
  it('lists its model, and refuses other keys where it has one', async () => {
    expect((await client.models.list()).data[0]?.id).toBe('almanac');
    expect((await fetch(`${sandbox.url}/models`)).status).toBe(200);
    expect((await fetch(`${sandbox.url}/v1/nothing`)).status).toBe(404);
    await using locked = await runSandbox({ apiKey: 'right' });
    await expect(locked.client.models.list()).resolves.toBeDefined();
    const wrong = new OpenAI({ baseURL: `${locked.url}/v1`, apiKey: 'wrong', maxRetries: 0 });
    await expect(wrong.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });
});
