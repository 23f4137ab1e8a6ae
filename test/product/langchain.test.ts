import { HumanMessage, type AIMessageChunk } from '@langchain/core/messages';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { describe, expect, it } from 'vitest';
import { upstreamCalls } from '#test/support/calls.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { expectSigned, type Receipt } from '#test/support/receipts.ts';
import { joinProduct } from '#test/support/product.ts';
import { until } from '#test/support/until.ts';

const system = await joinProduct({ faults: true });

type Fields = ConstructorParameters<typeof ChatOpenAI>[0];

const chat = (fields: Fields = {}): ChatOpenAI =>
  new ChatOpenAI({
    model: 'llama-3.1-8b',
    apiKey: system.key,
    configuration: { baseURL: system.baseUrl },
    maxTokens: 8,
    maxRetries: 0,
    ...fields,
    // A field of the sandbox: generate exactly `maxTokens`.
    modelKwargs: { ignore_eos: true, ...fields?.modelKwargs },
  });

const faulty = (sandbox_fault: string): Fields => ({ modelKwargs: { sandbox_fault } });

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
} as const;

describe('LangChain', () => {
  it('a prompt over the window raises the error by which LangChain has a conversation shortened [clients.error-classes]', async () => {
    const asked = chat({ model: 'mixtral-8x7b' }).invoke('sea '.repeat(9_000));
    await expect(asked).rejects.toMatchObject({
      name: 'ContextOverflowError',
      message: expect.stringMatching(/maximum context length is \d+ tokens/) as string,
    });
  });

  it('invoke gives the answer, with the receipt in the raw one [operations.client]', async () => {
    const message = await chat({ __includeRawResponse: true }).invoke(
      'Tell me about the lighthouse.',
    );
    expect(message.text).not.toBe('');
    expect(message.usage_metadata).toMatchObject({ output_tokens: 8 });
    const raw = message.additional_kwargs['__raw_response'] as { receipt: Receipt };
    await expectSigned(system, raw.receipt);
  });

  it('stream gives chunks, with the receipt on the last raw one [clients.extra-keys]', async () => {
    const chunks: AIMessageChunk[] = [];
    const model = chat({ __includeRawResponse: true, streamUsage: false });
    for await (const chunk of await model.stream([
      new HumanMessage('Tell me about the lighthouse.'),
    ])) {
      chunks.push(chunk);
    }
    expect(chunks.length).toBeGreaterThan(2);
    const raws = chunks.map(
      (one) => one.additional_kwargs['__raw_response'] as { receipt?: Receipt } | undefined,
    );
    const receipts = raws.flatMap((raw) => (raw?.receipt === undefined ? [] : [raw.receipt]));
    expect(receipts).toHaveLength(1);
    await expectSigned(system, receipts[0]);
  });

  it('stream asks for usage by itself and gets it', async () => {
    let total: AIMessageChunk | undefined;
    for await (const chunk of await chat().stream('Tell me about the lighthouse.')) {
      total = total?.concat(chunk) ?? chunk;
    }
    expect(total!.usage_metadata).toMatchObject({ output_tokens: 8 });
  });

  it('LangChain calls the tools that are bound [clients.sdk-features]', async () => {
    const { tool_calls } = await chat({ maxTokens: 100 })
      .bindTools([WEATHER])
      .invoke('Please get_weather for Brest.');
    expect(tool_calls).toHaveLength(1);
    expect(tool_calls![0]).toMatchObject({
      name: 'get_weather',
      args: { city: expect.any(String) as string },
    });
  });

  it('LangChain reads structured output [clients.sdk-features]', async () => {
    const lighthouse = await chat({ maxTokens: 200 })
      .withStructuredOutput(
        {
          title: 'lighthouse',
          type: 'object',
          properties: { name: { type: 'string' }, height: { type: 'integer' } },
          required: ['name', 'height'],
          additionalProperties: false,
        },
        { method: 'jsonSchema' },
      )
      .invoke('Describe a lighthouse.');
    expect(lighthouse).toEqual({
      name: expect.any(String) as string,
      height: expect.any(Number) as number,
    });
  });

  it('batch gives one answer for each prompt', async () => {
    const messages = await chat().batch(['One.', 'Two.', 'Three.']);
    expect(messages.map(({ text }) => text !== '')).toEqual([true, true, true]);
  });

  it('LangChain gets embeddings of full length [clients.embeddings]', async () => {
    const embeddings = new OpenAIEmbeddings({
      model: 'bge-m3',
      apiKey: system.key,
      configuration: { baseURL: system.baseUrl },
    });
    const vectors = await embeddings.embedDocuments(['harbour', 'garden']);
    expect(vectors.map((vector) => vector.length)).toEqual([1024, 1024]);
  });

  it('LangChain throws the SDK’s errors, with our code [clients.error-classes]', async () => {
    await expect(chat({ temperature: 3 }).invoke('x')).rejects.toMatchObject({
      status: 400,
      code: 'invalid_temperature',
      param: 'temperature',
    });
    await expect(chat({ apiKey: 'nonsense' }).invoke('x')).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
  });

  it('LangChain tries again after a 429 [clients.retries]', async () => {
    const organisation = await newOrganisation(system, { requestsPerSecond: 1, burst: 1 });
    const limited = chat({ apiKey: await organisation.newKey(), maxRetries: 4 });
    const messages = await Promise.all([limited.invoke('One.'), limited.invoke('Two.')]);
    expect(messages).toHaveLength(2);
  });

  it('LangChain sees a broken stream as an error, never as an end [clients.broken-streams]', async () => {
    const read = async (): Promise<void> => {
      const model = chat({ model: 'llama-3.3-70b', ...faulty('cut=end; cut-after=2') });
      for await (const _ of await model.stream('x'));
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error' });
  });

  it('aborting a call of LangChain stops the upstream [clients.aborts]', async () => {
    const abort = new AbortController();
    const call = chat(faulty('id=lc-abort; stall=60000'))
      .invoke('x', { signal: abort.signal })
      .catch((error: unknown) => error);
    await until(async () => (await upstreamCalls(system, 'lc-abort')).length === 1);
    abort.abort();
    expect(await call).toBeInstanceOf(Error);
    await until(async () => (await upstreamCalls(system, 'lc-abort'))[0]?.state === 'aborted');
  });
});
