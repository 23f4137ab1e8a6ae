import { describe, expect, it } from 'vitest';
import { checkPromptFits } from '../../../api/openai/prompt-fits.ts';
import { createTokenCounter } from '../../../shared/adapters/tokenizer/counter.ts';
import type { Route } from '../../../shared/domain/inference.ts';

const counter = createTokenCounter();
const model = { id: 'm', contextWindow: 20, tokenizer: 'o200k_base' };
const check = (route: Route, body: Record<string, unknown>, over = {}) =>
  checkPromptFits(counter, { ...model, ...over }, route, body, JSON.stringify(body).length);
const chat = (content: string) => ({ messages: [{ role: 'user', content }] });

describe('checkPromptFits', () => {
  it('counts nothing when the body has no more bytes than the window has tokens', () => {
    expect(check('chat.completions', chat('hello'), { contextWindow: 100 })).toBeUndefined();
  });

  it('lets a prompt pass that has more bytes and not more tokens', async () => {
    await expect(
      check('chat.completions', chat('hello world '.repeat(8))),
    ).resolves.toBeUndefined();
  });

  it.each<[Route, Record<string, unknown>, string]>([
    ['chat.completions', chat('hello world '.repeat(20)), 'messages'],
    ['completions', { prompt: 'hello world '.repeat(20) }, 'prompt'],
    ['embeddings', { input: ['hello', 'hello world '.repeat(20)] }, 'input'],
  ])('refuses a prompt of %s with more tokens than the window', async (route, body, param) => {
    await expect(check(route, body)).rejects.toMatchObject({
      code: 'prompt_too_long',
      param,
      status: 400,
    });
  });

  it('refuses token arrays by their length, each by itself', () => {
    const tokens = Array.from({ length: 21 }, (_, i) => i);
    expect(() => check('embeddings', { input: [[1], tokens] })).toThrow('context window');
    expect(check('embeddings', { input: [tokens.slice(1), tokens.slice(1)] })).toBeUndefined();
  });
});
