import { createOpenAI, type OpenAIProvider } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  embedMany,
  generateText,
  isStepCount,
  jsonSchema,
  type LanguageModel,
  type ModelMessage,
  Output,
  RetryError,
  streamText,
  tool,
} from 'ai';
import { describe, expect, it } from 'vitest';
import { upstreamCalls } from '#test/support/calls.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { expectSigned } from '#test/support/receipts.ts';
import { joinProduct } from '#test/support/product.ts';
import { until } from '#test/support/until.ts';

const system = await joinProduct({ faults: true });

/** The provider as its documentation shows it; our extra member is read with its own hook. */
function provider(apiKey = system.key, attempts: number[] = []) {
  return createOpenAICompatible({
    name: 'docket',
    baseURL: system.baseUrl,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      attempts.push(response.status);
      return response;
    },
    metadataExtractor: {
      extractMetadata: async ({ parsedBody }) => receiptIn(parsedBody),
      createStreamExtractor: () => {
        let found: ReturnType<typeof receiptIn>;
        return {
          processChunk: (chunk) => (found = receiptIn(chunk) ?? found),
          buildMetadata: () => found,
        };
      },
    },
  });
}

function receiptIn(body: unknown): { docket: { receipt: never } } | undefined {
  const { receipt } = body as { receipt?: never };
  return receipt === undefined ? undefined : { docket: { receipt } };
}

const model = (apiKey?: string, attempts?: number[]) => provider(apiKey, attempts)('llama-3.1-8b');
/** Further members of the body, as the provider passes them. */
const faulty = (sandbox_fault: string) => ({ docket: { sandbox_fault } });

const weather = tool({
  description: 'The weather of a city',
  inputSchema: jsonSchema<{ city: string }>({
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }),
  execute: async ({ city }) => `It rains in ${city}.`,
});

/** An answer in a form that was asked for, read by the SDK. */
async function expectStructured(asked: LanguageModel): Promise<void> {
  const { output } = await generateText({
    model: asked,
    prompt: 'Describe a lighthouse.',
    output: Output.object({
      schema: jsonSchema<{ name: string; height: number }>({
        type: 'object',
        properties: { name: { type: 'string' }, height: { type: 'integer' } },
        required: ['name', 'height'],
        additionalProperties: false,
      }),
    }),
  });
  expect(output).toEqual({
    name: expect.any(String) as string,
    height: expect.any(Number) as number,
  });
}

describe('the AI SDK', () => {
  it('generateText gives the text, and the receipt in the provider’s metadata [operations.client]', async () => {
    const result = await generateText({
      model: model(),
      prompt: 'Tell me about the lighthouse.',
      maxOutputTokens: 8,
      // A field of the sandbox: generate exactly that many.
      providerOptions: { docket: { ignore_eos: true } },
    });
    expect(result.text).not.toBe('');
    expect(result.usage).toMatchObject({ outputTokens: 8 });
    await expectSigned(system, result.providerMetadata!['docket']!['receipt']);
  });

  it('streamText gives the text, and keeps extra keys of chunks [clients.extra-keys]', async () => {
    const result = streamText({
      model: model(),
      prompt: 'Tell me about the lighthouse.',
      maxOutputTokens: 8,
      // A field of the sandbox: generate exactly that many.
      providerOptions: { docket: { ignore_eos: true } },
    });
    let text = '';
    for await (const delta of result.textStream) text += delta;
    expect(text).toBe(await result.text);
    expect(await result.finishReason).toBe('length');
    expect(await result.usage).toMatchObject({ outputTokens: 8 });
    await expectSigned(system, (await result.providerMetadata)!['docket']!['receipt']);
  });

  it('generateText and streamText call tools and go on with their results [clients.sdk-features]', async () => {
    const settings = {
      model: model(),
      prompt: 'Please get_weather for Brest.',
      tools: { get_weather: weather },
      stopWhen: isStepCount(2),
      maxOutputTokens: 100,
    };
    const { steps } = await generateText(settings);
    expect(steps[0]!.toolResults[0]!.output).toMatch(/^It rains in /);
    expect(steps).toHaveLength(2);
    const streamed = streamText(settings);
    expect((await streamed.steps)[0]!.toolResults[0]!.output).toMatch(/^It rains in /);
  });

  it('the AI SDK reads structured output [clients.sdk-features]', async () => {
    await expectStructured(model());
  });

  it('embedMany gives embeddings of full length [clients.embeddings]', async () => {
    const { embeddings } = await embedMany({
      model: provider().embeddingModel('bge-m3'),
      values: ['harbour', 'garden'],
    });
    expect(embeddings.map((vector) => vector.length)).toEqual([1024, 1024]);
  });

  it('a permanent error is an APICallError with our message, and is not tried again [clients.error-classes]', async () => {
    const attempts: number[] = [];
    const error: unknown = await generateText({
      model: model(system.key, attempts),
      prompt: 'x',
      temperature: 3,
    }).catch((thrown: unknown) => thrown);
    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({
      statusCode: 400,
      isRetryable: false,
      message: '`temperature` must be a number from 0 to 2.',
      data: { error: { code: 'invalid_temperature', param: 'temperature' } },
    });
    expect(attempts).toEqual([400]);
  });

  it('the AI SDK tries again after a 429 when retry-after-ms has passed [clients.retries]', async () => {
    const organisation = await newOrganisation(system, { requestsPerSecond: 1, burst: 1 });
    const attempts: number[] = [];
    const limited = model(await organisation.newKey(), attempts);
    const begun = performance.now();
    await Promise.all(
      [1, 2].map(() => generateText({ model: limited, prompt: 'x', maxOutputTokens: 2 })),
    );
    expect(attempts.filter((status) => status === 429)).toHaveLength(1);
    expect(attempts).toHaveLength(3);
    expect(performance.now() - begun).toBeGreaterThan(500);
  });

  it('an upstream that stays broken ends in an error that carries our last one', async () => {
    const error: unknown = await generateText({
      model: model(),
      prompt: 'x',
      maxRetries: 1,
      providerOptions: faulty('status=500'),
    }).catch((thrown: unknown) => thrown);
    expect(RetryError.isInstance(error)).toBe(true);
    expect((error as RetryError).lastError).toMatchObject({ statusCode: 502 });
  });

  it('the AI SDK sees a broken stream as an error, never as an end [clients.broken-streams]', async () => {
    const errors: unknown[] = [];
    const result = streamText({
      model: provider()('llama-3.3-70b'),
      prompt: 'x',
      maxRetries: 0,
      providerOptions: faulty('cut=end; cut-after=2'),
      onError: ({ error }) => {
        errors.push(error);
      },
    });
    await result.consumeStream();
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(errors[0])).toContain('upstream_error');
  });

  it('aborting a stream of the AI SDK stops the upstream [clients.aborts]', async () => {
    const abort = new AbortController();
    const call = generateText({
      model: model(),
      prompt: 'x',
      abortSignal: abort.signal,
      providerOptions: faulty('id=ai-abort; stall=60000'),
    }).catch((error: unknown) => error);
    await until(async () => (await upstreamCalls(system, 'ai-abort')).length === 1);
    abort.abort();
    expect(await call).toMatchObject({ name: 'AbortError' });
    await until(async () => (await upstreamCalls(system, 'ai-abort'))[0]?.state === 'aborted');
  });
});

describe.each([
  ['responses, its default', (provided: OpenAIProvider) => provided('llama-3.1-8b')],
  ['chat', (provided: OpenAIProvider) => provided.chat('llama-3.1-8b')],
] as const)('the OpenAI provider of the AI SDK, by %s', (_how, modelOf) => {
  const asked = () => modelOf(createOpenAI({ baseURL: system.baseUrl, apiKey: system.key }));

  it('gives text, usage and finish reason, and the receipt in the body of the answer [operations.client]', async () => {
    const result = await generateText({
      model: asked(),
      prompt: 'Tell me about the lighthouse.',
      maxOutputTokens: 16,
      include: { responseBody: true },
    });
    expect(result.text).not.toBe('');
    expect(['stop', 'length']).toContain(result.finishReason);
    expect(result.usage.outputTokens).toBeGreaterThan(0);
    await expectSigned(system, receiptIn(result.response.body)!.docket.receipt);
  });

  it('streams the same, with the receipt on a raw chunk [operations.client, clients.extra-keys]', async () => {
    const result = streamText({
      model: asked(),
      prompt: 'Tell me about the lighthouse.',
      maxOutputTokens: 16,
      includeRawChunks: true,
    });
    let found: ReturnType<typeof receiptIn>;
    let text = '';
    for await (const part of result.fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta') text += part.text;
      if (part.type === 'raw') found = receiptIn(part.rawValue) ?? found;
    }
    expect(text).toBe(await result.text);
    expect((await result.usage).outputTokens).toBeGreaterThan(0);
    await expectSigned(system, found!.docket.receipt);
  });

  it('calls tools, whole and streamed, and goes on with their results [clients.sdk-features]', async () => {
    const settings = {
      model: asked(),
      prompt: 'Please get_weather for Brest.',
      tools: { get_weather: weather },
      stopWhen: isStepCount(2),
      maxOutputTokens: 100,
    };
    const { steps } = await generateText(settings);
    expect(steps[0]!.toolResults[0]!.output).toMatch(/^It rains in /);
    expect(steps).toHaveLength(2);
    const streamed = await streamText(settings).steps;
    expect(streamed[0]!.toolResults[0]!.output).toMatch(/^It rains in /);
    expect(streamed[1]!.text).not.toBe('');
  });

  it('reads structured output [clients.sdk-features]', async () => {
    await expectStructured(asked());
  });

  it('gives our error, and does not try it again [clients.error-classes]', async () => {
    const error: unknown = await generateText({
      model: asked(),
      prompt: 'x',
      temperature: 3,
    }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      statusCode: 400,
      isRetryable: false,
      data: { error: { code: 'invalid_temperature', param: 'temperature' } },
    });
  });
});

it('the OpenAI provider of the AI SDK refers to what was answered before, and the model gets it as if it had been sent [responses.references]', async () => {
  const sent: string[] = [];
  const provided = createOpenAI({
    baseURL: system.baseUrl,
    apiKey: system.key,
    fetch: (url, init) => {
      sent.push(init!.body as string);
      return fetch(url, init);
    },
  });
  const ask = (messages: ModelMessage[], store: boolean) =>
    generateText({
      model: provided('llama-3.1-8b'),
      messages,
      maxOutputTokens: 16,
      providerOptions: { openai: { store } },
    });
  const begun: ModelMessage[] = [{ role: 'user', content: 'Tell me about the lighthouse.' }];
  const first = await ask(begun, true);
  const goneOn: ModelMessage[] = [
    ...begun,
    ...first.response.messages,
    { role: 'user', content: 'And the keeper?' },
  ];
  const [kept, whole] = [await ask(goneOn, true), await ask(goneOn, false)];
  const has = (text: string) => text.includes('"item_reference"');
  expect(sent.map(has)).toEqual([false, true, false]);
  expect(kept.usage.inputTokens).toBe(whole.usage.inputTokens);
  expect(kept.usage.inputTokens).toBeGreaterThan(first.usage.inputTokens! + 10);
});
