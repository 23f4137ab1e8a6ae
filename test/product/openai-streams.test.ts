import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { chatBody } from '#test/support/calls.ts';
import { expectSigned, type Receipt } from '#test/support/receipts.ts';
import { joinProduct } from '#test/support/product.ts';
import type { Product } from '#test/support/system.ts';

type WithReceipt<T> = T & { receipt?: Receipt };
type Chunk = WithReceipt<OpenAI.ChatCompletionChunk>;

let system: Product;
let openai: OpenAI;

beforeAll(async () => {
  system = await joinProduct({ faults: true });
  openai = new OpenAI({ baseURL: system.baseUrl, apiKey: system.key });
});

const params = (rest: object = {}) =>
  chatBody({ stream: true, ...rest }) as unknown as OpenAI.ChatCompletionCreateParamsStreaming;

async function chunksOf(rest: object = {}): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of await openai.chat.completions.create(params(rest))) {
    chunks.push(chunk);
  }
  return chunks;
}

const TOOL = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { enum: ['C', 'F'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
} as const;

describe('chunks', () => {
  it.each(['eol=lf', 'eol=cr', 'eol=crlf', 'ping', 'multiline', 'drip=3'])(
    'every chunk is read however the upstream frames them: %s [clients.framing]',
    async (sandbox_fault) => {
      const chunks = await chunksOf({ sandbox_fault, seed: 7 });
      const text = chunks.map(({ choices }) => choices[0]!.delta.content ?? '').join('');
      const plain = await chunksOf({ seed: 7 });
      expect(text).toBe(plain.map(({ choices }) => choices[0]!.delta.content ?? '').join(''));
      expect(chunks.at(-1)!.receipt).toBeDefined();
    },
  );

  it('chunks of one answer share id and created, and their choices have index 0..n-1 [clients.chunks]', async () => {
    const chunks = await chunksOf({ n: 3 });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(new Set(chunks.map(({ created }) => created)).size).toBe(1);
    const indexes = chunks.flatMap(({ choices }) => choices.map(({ index }) => index));
    expect(new Set(indexes)).toEqual(new Set([0, 1, 2]));
  });

  it('no chunk is without choices unless usage was asked for, so that `chunk.choices[0].delta` is safe [clients.delta]', async () => {
    for (const n of [1, 2]) {
      const chunks = await chunksOf({ n });
      expect(chunks.every(({ choices }) => choices.length > 0)).toBe(true);
      expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
    }
  });

  it('when usage was asked for, the last chunk alone has it, and no choices [clients.delta]', async () => {
    const chunks = await chunksOf({ stream_options: { include_usage: true } });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 4 } });
  });

  it('the chunk with the last finish_reason carries the receipt as an extra key [clients.extra-keys]', async () => {
    const chunks = await chunksOf({ n: 2 });
    const carriers = chunks.filter(({ receipt }) => receipt !== undefined);
    expect(carriers).toEqual([chunks.at(-1)]);
    expect(carriers[0]!.choices[0]!.finish_reason).not.toBeNull();
    await expectSigned(system, carriers[0]!.receipt);
  });

  it('chunks of a tool call keep its index and id, and the arguments satisfy the schema [clients.chunks]', async () => {
    const chunks = await chunksOf({ tools: [TOOL], tool_choice: 'required', max_tokens: 200 });
    const deltas = chunks.flatMap(({ choices }) => choices[0]!.delta.tool_calls ?? []);
    expect(new Set(deltas.map(({ index }) => index))).toEqual(new Set([0]));
    expect(deltas.filter(({ id }) => id !== undefined)).toHaveLength(1);
    const text = deltas.map((delta) => delta.function?.arguments ?? '').join('');
    expect(JSON.parse(text)).toMatchObject({ city: expect.any(String) as string });
  });

  it('chunks of legacy completions are text_completion objects [clients.chunks]', async () => {
    const stream = await openai.completions.create({
      model: 'llama-3.1-8b',
      prompt: 'The sea',
      max_tokens: 4,
      stream: true,
    });
    const chunks: WithReceipt<OpenAI.Completion>[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(new Set(chunks.map(({ object }) => object))).toEqual(new Set(['text_completion']));
    await expectSigned(system, chunks.at(-1)!.receipt);
  });
});

describe('a stream that breaks', () => {
  it.each(['cut=end; cut-after=2', 'cut=reset; cut-after=2', 'malformed-after=2', 'error-after=2'])(
    'a stream that breaks throws the error object that was sent: %s [clients.broken-streams]',
    async (sandbox_fault) => {
      const seen: Chunk[] = [];
      const read = async (): Promise<void> => {
        for await (const chunk of await openai.chat.completions.create(params({ sandbox_fault }))) {
          seen.push(chunk);
        }
      };
      await expect(read()).rejects.toBeInstanceOf(OpenAI.APIError);
      expect(seen.length).toBeGreaterThan(0);
      expect(seen.every(({ receipt }) => receipt === undefined)).toBe(true);
    },
  );
});

describe('helpers of the SDK', () => {
  it('chat.completions.stream() assembles the completion with its receipt [clients.sdk-features]', async () => {
    const { stream: _, ...rest } = params({ stream_options: { include_usage: true } });
    const runner = openai.chat.completions.stream(rest);
    let text = '';
    runner.on('content', (delta) => (text += delta));
    const completion = await runner.finalChatCompletion();
    expect(completion.choices[0]!.message.content).toBe(text);
    expect(completion.usage!.completion_tokens).toBe(4);
    const { receipt } = completion as typeof completion & { receipt: Receipt };
    await expectSigned(system, receipt);
  });

  it('chat.completions.parse() reads structured output [clients.sdk-features]', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, height: { type: 'integer', minimum: 1 } },
      required: ['name', 'height'],
      additionalProperties: false,
    };
    const { choices } = await openai.chat.completions.parse({
      model: 'llama-3.1-8b',
      messages: [{ role: 'user', content: 'Describe a lighthouse.' }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'tower', strict: true, schema },
      },
    });
    expect(choices[0]!.message.parsed ?? JSON.parse(choices[0]!.message.content!)).toMatchObject({
      name: expect.any(String) as string,
      height: expect.any(Number) as number,
    });
  });

  it('chat.completions.runTools() calls the tool with arguments that fit, and goes on [clients.sdk-features]', async () => {
    const asked: string[] = [];
    const runner = openai.chat.completions.runTools({
      model: 'llama-3.1-8b',
      messages: [{ role: 'user', content: 'Please get_weather for Brest.' }],
      // Above any paragraph of the sandbox: an answer that is cut off is an error to this helper.
      max_tokens: 4_000,
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'The weather of a city',
            parameters: structuredClone<object>(TOOL.function.parameters),
            parse: (text: string) => JSON.parse(text) as { city: string },
            function: ({ city }: { city: string }) => {
              asked.push(city);
              return 'rain';
            },
          },
        },
      ],
    });
    await runner.done();
    expect(asked.length).toBeGreaterThan(0);
  });
});
