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

describe('responses of the sandbox', () => {
  const ask = { model: 'm', input: 'Tell me about the lighthouse.', seed: 7 } as const;

  it('are the same text whole and streamed, with every event in order and a number', async () => {
    const whole = await client.responses.create({ ...ask, max_output_tokens: 12 } as never);
    expect(whole).toMatchObject({ object: 'response', status: 'incomplete' });
    expect(whole.usage).toMatchObject({ output_tokens: 12 });
    const stream = client.responses.stream({ ...ask, max_output_tokens: 12 });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, i) => i));
    expect([...new Set(events.map(({ type }) => type))]).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.incomplete',
    ]);
    expect((await stream.finalResponse()).output_text).toBe(whole.output_text);
  });

  it('call functions, go on with what they gave, write JSON of a schema, and refuse what needs a store', async () => {
    const parameters = {
      type: 'object',
      properties: { city: { enum: ['Oslo'] } },
      required: ['city'],
    };
    const tools = [{ type: 'function' as const, name: 'get_weather', parameters, strict: null }];
    const called = await client.responses.create({
      model: 'm',
      input: 'Please get_weather for Oslo.',
      tools,
    });
    const [call] = called.output;
    expect(call).toMatchObject({ type: 'function_call', arguments: '{"city":"Oslo"}' });
    const { call_id } = call as OpenAI.Responses.ResponseFunctionToolCall;
    const after = await client.responses.create({
      model: 'm',
      input: [
        { role: 'user', content: 'Please get_weather for Oslo.' },
        call!,
        { type: 'function_call_output', call_id, output: 'Rain.' },
      ] as OpenAI.Responses.ResponseInput,
      tools,
    });
    expect(after.output[0]).toMatchObject({ type: 'message', status: 'completed' });
    const written = await client.responses.create({
      model: 'm',
      input: 'A city.',
      text: { format: { type: 'json_schema', name: 'city', schema: parameters } },
    });
    expect(JSON.parse(written.output_text)).toEqual({ city: 'Oslo' });
    await expect(
      client.responses.create({ ...ask, previous_response_id: 'resp_1' }),
    ).rejects.toMatchObject({ status: 400, param: 'previous_response_id' });
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
