import { describe, expect, it } from 'vitest';
import { closestRecord } from '#shared/methodology/closest-record.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';

const factors = newestFactorSet();
const closest = (name: string, isEmbedding = false) =>
  closestRecord(name, factors, { isEmbedding, otherwiseB: 400 });

describe('the record closest to a model of which the name is known', () => {
  it.each([
    ['gpt-4o', 'gpt-4o'],
    ['gpt-4o-2024-08-06', 'gpt-4o'],
    ['gpt-4o-mini', 'gpt-4o-mini'],
    ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
    ['anthropic/claude-sonnet-4.5', 'claude-sonnet-4-5'],
    ['claude-sonnet-4-20250514', 'claude-sonnet-4'],
    ['mistral-large-2512', 'mistral-large-3'],
    ['mistral-medium-latest', 'mistral-medium-latest'],
    ['llama-3.3-70b-versatile', 'llama-3.3-70b'],
    ['meta-llama/Llama-3.1-8B-Instruct', 'llama-3.1-8b'],
    ['llama3.1:8b', 'llama-3.1-8b'],
    ['meta-llama/llama-3.1-8b-instruct:free', 'llama-3.1-8b'],
    ['gpt-oss:120b', 'gpt-oss-120b'],
    ['gemma3:27b-it-q4_K_M', 'gemma-3-27b-it'],
    ['Qwen/Qwen3-30B-A3B', 'qwen3-30b-a3b'],
  ])('%s is the model of the record %s', (name, ref) => {
    expect(closest(name)).toEqual({ ref, basis: 'record' });
  });

  it('is no other model of the same family', () => {
    for (const name of ['gpt-4o-nano-imaginary', 'gpt-5-codex', 'claude-opus-9', 'llama-3.1-9b'])
      expect(closest(name).ref).toMatch(/^class:/);
  });

  it.each([
    ['qwen2.5:7b', 'class:small'],
    ['mixtral-9x22b', 'class:large'],
    ['acme-34b-chat', 'class:medium'],
    ['acme-1200b', 'class:frontier'],
    ['smollm-135m', 'class:small'],
  ])('%s is of the class of the size in its name, %s', (name, ref) => {
    expect(closest(name)).toEqual({ ref, basis: 'size-in-name' });
  });

  it('is the usual class where the name tells nothing', () => {
    expect(closest('acme-mini').ref).toBe('class:medium');
    expect(closest('acme-omega').ref).toBe('class:frontier');
    expect(closest('acme-embed-3', true).ref).toBe('class:small');
    expect(closest('gemini-omega').ref).toBe('class:frontier');
  });
});
