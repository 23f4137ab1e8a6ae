import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { readUsage, usageCounter } from '#workers/inference/usage.ts';
import { entry } from '#test/unit/api/inference/doubles.ts';

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
      { prompt_tokens: 1e12 },
    ]) {
      expect(readUsage(usage)).toBeUndefined();
    }
  });

  it('cached tokens are read in each way that servers name them, never more than the prompt', () => {
    expect(
      readUsage({ prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 4 } }),
    ).toMatchObject({ cachedInputTokens: 4 });
    expect(
      readUsage({ input_tokens: 10, output_tokens: 2, input_tokens_details: { cached_tokens: 4 } }),
    ).toMatchObject({ inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 });
    expect(readUsage({ prompt_tokens: 10, prompt_cache_hit_tokens: 99 })).toMatchObject({
      cachedInputTokens: 10,
    });
  });

  it('measured energy is read only from the field that the catalogue names', () => {
    const usage = { prompt_tokens: 1, energy_joules: 2.5 };
    expect(readUsage(usage)).not.toHaveProperty('measuredJoules');
    expect(readUsage(usage, { usageField: 'energy_joules' })).toMatchObject({
      measuredJoules: 2.5,
    });
    expect(
      readUsage({ ...usage, energy_joules: -1 }, { usageField: 'energy_joules' }),
    ).not.toHaveProperty('measuredJoules');
  });

  it('usage of any shape never throws and never gives a count that is no whole number', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const usage = readUsage(value);
        if (usage === undefined) return;
        expect(
          [usage.inputTokens, usage.outputTokens, usage.cachedInputTokens].every(
            Number.isSafeInteger,
          ),
        ).toBe(true);
      }),
    );
  });
});

describe('tokens that the worker counts itself', () => {
  const count = usageCounter(createTokenCounter(), () => ({ models: [] }) as never);

  it('of 128 prompts of the costliest text are counted for one request as for one text, while heartbeats go on', async () => {
    await count(entry(), JSON.stringify({ messages: [{ role: 'user', content: 'warm' }] }), 'warm');
    // Of this text a kibibyte takes a millisecond: all of it would take a quarter of a minute.
    const prompt = Array.from({ length: 128 }, (_, i) => `${i} ${'жщ'.repeat(60_000)}`);
    let beats = 0;
    const heart = setInterval(() => (beats += 1), 20);
    const begun = performance.now();
    const usage = await count(entry({ route: 'completions' }), JSON.stringify({ prompt }), '');
    clearInterval(heart);
    const took = performance.now() - begun;
    expect(usage.inputTokens).toBeGreaterThan(128 * 10_000);
    expect(took).toBeLessThan(15_000);
    expect(beats).toBeGreaterThan(0);
  });

  it('of a few short prompts are exact', async () => {
    const body = JSON.stringify({ prompt: ['hello world', [1, 2, 3]] });
    expect(await count(entry({ route: 'completions' }), body, 'hello world')).toEqual({
      inputTokens: 5,
      cachedInputTokens: 0,
      outputTokens: 2,
      source: 'counted',
    });
  });
});
