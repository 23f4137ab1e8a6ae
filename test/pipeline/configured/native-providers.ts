import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import type { NativeUpstream } from '#test/support/native-upstream.ts';
import { expectSigned, type Receipt } from '#test/support/receipts.ts';
import type { System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';
import { MODELS } from './catalogue.ts';

const MESSAGES = [{ role: 'user' as const, content: 'How fast does the lamp turn?' }];

type WithReceipt<T> = T & { receipt: Receipt };

/** Models of Anthropic and Google, whose own interfaces are spoken. */
export function nativeProviders(system: () => System, upstream: NativeUpstream): void {
  let openai: OpenAI;
  beforeAll(() => {
    openai = new OpenAI({ baseURL: system().baseUrl, apiKey: system().key, maxRetries: 0 });
  });

  describe('a model of a native provider, through the stock OpenAI SDK', () => {
    it('the receipt of a native provider’s answer states the provider’s own counts', async () => {
      upstream.answer = { fixture: 'anthropic/text.json' };
      const completion = (await openai.chat.completions.create({
        model: MODELS.anthropic,
        messages: MESSAGES,
      })) as WithReceipt<OpenAI.ChatCompletion>;
      expect(completion.choices[0]!.message.content).toBe('The lamp turns once in ten seconds.');
      await expectSigned(system(), completion.receipt);
      expect(completion.receipt.credentialSubject).toMatchObject({
        usageSource: 'upstream',
        inputTokens: 42,
        cachedInputTokens: 30,
        outputTokens: 9,
        outcome: 'complete',
      });
      expect(upstream.last.headers['x-api-key']).toBe('sk-anthropic');
      expect(upstream.last.body['model']).toBe('claude-sonnet-4-5');
    });

    it('a native provider’s stream carries the receipt on the last chunk', async () => {
      upstream.answer = { fixture: 'google/text.sse', drip: 5 };
      const stream = await openai.chat.completions.create({
        model: MODELS.google,
        messages: MESSAGES,
        stream: true,
      });
      const chunks: WithReceipt<OpenAI.ChatCompletionChunk>[] = [];
      for await (const chunk of stream)
        chunks.push(chunk as WithReceipt<OpenAI.ChatCompletionChunk>);
      const text = chunks.map(({ choices }) => choices[0]!.delta.content ?? '').join('');
      expect(text).toBe('The lamp turns – ümläut 🌊');
      expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
      expect(chunks.at(-1)!.choices[0]!.finish_reason).toBe('length');
      expect(chunks.at(-1)!.receipt.credentialSubject).toMatchObject({
        inputTokens: 18,
        outputTokens: 8,
        usageSource: 'upstream',
      });
    });

    it('a native provider’s embeddings have the encoding that the SDK asks for', async () => {
      upstream.answer = { fixture: 'google/embeddings.json' };
      const { data } = await openai.embeddings.create({
        model: MODELS.googleEmbedding,
        input: ['a', 'b'],
      });
      expect(data.map(({ embedding }) => embedding.length)).toEqual([3, 3]);
      expect(data[0]!.embedding[0]).toBeCloseTo(0.6, 5);
    });

    it('a request that a native provider cannot express is refused, and so is a prompt that is too long', async () => {
      const ask = (rest: object) =>
        openai.chat.completions.create({ model: MODELS.anthropic, messages: MESSAGES, ...rest });
      await expect(ask({ logprobs: true })).rejects.toMatchObject({
        status: 400,
        code: 'invalid_logprobs',
        param: 'logprobs',
      });
      upstream.answer = { fixture: 'anthropic/error.json', status: 400 };
      await expect(ask({})).rejects.toMatchObject({ status: 400, code: 'prompt_too_long' });
    });

    it('a call to a native provider stops when its client leaves', async () => {
      upstream.answer = { fixture: 'anthropic/text.sse', stallAfter: 4 };
      const before = upstream.aborted;
      const stream = await openai.chat.completions.create({
        model: MODELS.anthropic,
        messages: MESSAGES,
        stream: true,
      });
      for await (const _ of stream) break;
      await until(() => upstream.aborted > before, 'the upstream sees it');
      expect(upstream.aborted).toBe(before + 1);
    });
  });
}
