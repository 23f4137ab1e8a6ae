import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countTokens } from '#embedded/sandbox/tokens.ts';
import { QUESTION, type RunningSandbox, runSandbox } from './running-sandbox.ts';

let sandbox: RunningSandbox;
let client: OpenAI;
beforeAll(async () => {
  sandbox = await runSandbox();
  client = sandbox.client;
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const base = { model: 'llama', messages: QUESTION };
/** Of vLLM, unknown to the SDK's types. */
const TO_THE_END = { ignore_eos: true };

async function chunksOf(body: Partial<OpenAI.ChatCompletionCreateParamsStreaming>) {
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of await client.chat.completions.create({
    ...base,
    ...body,
    stream: true,
  })) {
    chunks.push(chunk);
  }
  return chunks;
}

describe('chat completions of the sandbox', () => {
  it('report usage as the tokenizer counts it', async () => {
    const { choices, usage } = await client.chat.completions.create({
      ...base,
      n: 3,
      max_tokens: 40,
    });
    const texts = choices.map((choice) => choice.message.content ?? '');
    expect(choices.map((choice) => choice.index)).toEqual([0, 1, 2]);
    expect(new Set(texts).size).toBe(3);
    expect(usage?.completion_tokens).toBe(texts.reduce((sum, text) => sum + countTokens(text), 0));
    expect(usage?.prompt_tokens).toBe(3 + 3 + 1 + countTokens(QUESTION[0]?.content ?? ''));
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    expect(usage?.prompt_tokens_details?.cached_tokens).toBe(0);
  });

  it('are the same for the same seed, streamed or not', async () => {
    const body = { seed: 11, max_tokens: 50, temperature: 0.9 };
    const [first, second] = await Promise.all([
      client.chat.completions.create({ ...base, ...body }),
      chunksOf(body),
    ]);
    const streamed = second.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
    expect(streamed).toBe(first.choices[0]?.message.content);
  });

  it('are the same for the same prompt at temperature 0, and others for other prompts', async () => {
    const text = async (content: string) => {
      const messages = [{ role: 'user' as const, content }];
      const answer = await client.chat.completions.create({ model: 'm', messages, temperature: 0 });
      expect(answer.choices[0]?.finish_reason).toBe('stop');
      return answer.choices[0]?.message.content;
    };
    const prompts = ['Tell me about the harbour.', 'What is a tide?', 'Who keeps the light?', 'x'];
    const texts = await Promise.all(prompts.map(text));
    expect(await Promise.all(prompts.map(text))).toEqual(texts);
    expect(new Set(texts).size).toBeGreaterThan(1);
  });

  it('stop at max_tokens, and go on to it with ignore_eos', async () => {
    const exact = { ...base, max_completion_tokens: 300, ignore_eos: true };
    const answer = await client.chat.completions.create(exact);
    expect(answer.usage?.completion_tokens).toBe(300);
    expect(answer.choices[0]?.finish_reason).toBe('length');
  });

  it('never show a stop sequence', async () => {
    const answer = await client.chat.completions.create({ ...base, seed: 2, stop: ['the ', '.'] });
    expect(answer.choices[0]?.finish_reason).toBe('stop');
    expect(answer.choices[0]?.message.content).not.toMatch(/the |\./);
  });

  it('report the log probability of every token', async () => {
    const answer = await client.chat.completions.create({
      ...base,
      max_tokens: 20,
      logprobs: true,
      top_logprobs: 4,
    });
    const content = answer.choices[0]?.logprobs?.content ?? [];
    expect(content).toHaveLength(answer.usage?.completion_tokens ?? -1);
    expect(content.map((entry) => entry.token).join('')).toBe(answer.choices[0]?.message.content);
    for (const entry of content) {
      expect(entry.logprob).toBeLessThanOrEqual(0);
      expect(entry.top_logprobs).toHaveLength(4);
      expect(Buffer.from(entry.bytes ?? []).toString()).toBe(entry.token);
    }
  });

  it('refuse bad requests as OpenAI does, naming the parameter', async () => {
    const refused = client.chat.completions.create({ ...base, temperature: 3 });
    await expect(refused).rejects.toMatchObject({ status: 400, param: 'temperature' });
    const empty = client.chat.completions.create({ model: 'm', messages: [] });
    await expect(empty).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  });
});

describe('chat streams of the sandbox', () => {
  it('share id and time on all chunks, and end every choice once', async () => {
    const chunks = await chunksOf({ n: 2, max_tokens: 10 });
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(new Set(chunks.map((chunk) => chunk.created)).size).toBe(1);
    const ends = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.finish_reason);
    expect(ends.map((choice) => choice.index)).toEqual([0, 1]);
    expect(chunks.every((chunk) => chunk.choices.length === 1)).toBe(true);
  });

  it('carry usage last, on a chunk without choices, only when asked', async () => {
    const chunks = await chunksOf({
      max_tokens: 5,
      ...TO_THE_END,
      stream_options: { include_usage: true },
    });
    const last = chunks.at(-1);
    expect(last?.choices).toEqual([]);
    expect(last?.usage?.completion_tokens).toBe(5);
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(
      (await chunksOf({ max_tokens: 5, ...TO_THE_END })).some((chunk) => 'usage' in chunk),
    ).toBe(false);
  });

  it('keep their pace', async () => {
    await using paced = await runSandbox({ tokensPerSecond: 100 });
    const startedAt = performance.now();
    const stream = await paced.client.chat.completions.create({
      ...base,
      max_tokens: 20,
      stream: true,
      ...TO_THE_END,
    });
    for await (const _ of stream) continue;
    // However slow the machine is, never faster.
    expect(performance.now() - startedAt).toBeGreaterThan(180);
  });

  it('can be put together again by the SDK', async () => {
    const final = await client.chat.completions
      .stream({ ...base, max_tokens: 12 })
      .finalChatCompletion();
    expect(final.choices[0]?.message.content?.length).toBeGreaterThan(0);
  });
});

const TOOLS: OpenAI.ChatCompletionTool[] = ['get_tide', 'light_lamp'].map((name) => ({
  type: 'function',
  function: {
    name,
    parameters: {
      type: 'object',
      properties: {
        harbour: { type: 'string' },
        hours: { type: 'integer', minimum: 1, maximum: 9 },
      },
      required: ['harbour', 'hours'],
    },
  },
}));

describe('tools of a sandbox chat', () => {
  it('are called when they must be, when they are named, and never when forbidden', async () => {
    const called = async (content: string, choice?: OpenAI.ChatCompletionToolChoiceOption) => {
      const answer = await client.chat.completions.create({
        model: 'm',
        messages: [{ role: 'user', content }],
        tools: TOOLS,
        ...(choice === undefined ? {} : { tool_choice: choice }),
      });
      const { message, finish_reason } = answer.choices[0] as OpenAI.ChatCompletion.Choice;
      const calls = (message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[];
      expect(finish_reason === 'tool_calls').toBe(calls.length > 0);
      for (const call of calls) {
        const parsed = JSON.parse(call.function.arguments) as { harbour: string; hours: number };
        expect(typeof parsed.harbour).toBe('string');
        expect(parsed.hours).toBeGreaterThanOrEqual(1);
      }
      return calls.map((call) => call.function.name);
    };
    expect(await called('hello')).toEqual([]);
    expect(await called('hello', 'required')).toEqual(['get_tide']);
    expect(await called('Please light lamp nine')).toEqual(['light_lamp']);
    expect(await called('get_tide and light_lamp')).toEqual(['get_tide', 'light_lamp']);
    expect(await called('get_tide', 'none')).toEqual([]);
    expect(await called('x', { type: 'function', function: { name: 'light_lamp' } })).toEqual([
      'light_lamp',
    ]);
  });

  it('are streamed in pieces under one index and one id', async () => {
    const chunks = await chunksOf({
      messages: [{ role: 'user', content: 'get_tide and light_lamp' }],
      tools: TOOLS,
    });
    const pieces = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    for (const index of [0, 1]) {
      const own = pieces.filter((piece) => piece.index === index);
      expect(own.filter((piece) => piece.id !== undefined)).toHaveLength(1);
      expect(own.length).toBeGreaterThan(3);
      const text = own.map((piece) => piece.function?.arguments ?? '').join('');
      expect(JSON.parse(text)).toHaveProperty('hours');
    }
  });

  it('are not called again once the tool has answered', async () => {
    const answer = await client.chat.completions.create({
      model: 'm',
      tools: TOOLS,
      messages: [
        { role: 'user', content: 'get_tide' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c', type: 'function', function: { name: 'get_tide', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c', content: 'high' },
      ],
    });
    expect(answer.choices[0]?.message.tool_calls).toBeUndefined();
    expect(answer.choices[0]?.message.content).not.toBe('');
  });
});

describe('structured answers of the sandbox', () => {
  it('are valid JSON of the schema', async () => {
    const answer = await client.chat.completions.create({
      ...base,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'lamp',
          schema: {
            type: 'object',
            properties: { lit: { type: 'boolean' }, kind: { enum: ['oil', 'gas'] } },
            required: ['lit', 'kind'],
            additionalProperties: false,
          },
        },
      },
    });
    const value = JSON.parse(answer.choices[0]?.message.content ?? '') as {
      lit: boolean;
      kind: string;
    };
    expect(typeof value.lit).toBe('boolean');
    expect(['oil', 'gas']).toContain(value.kind);
  });

  it('are an object for json_object', async () => {
    const answer = await client.chat.completions.create({
      ...base,
      response_format: { type: 'json_object' },
    });
    expect(typeof JSON.parse(answer.choices[0]?.message.content ?? '')).toBe('object');
  });
});
