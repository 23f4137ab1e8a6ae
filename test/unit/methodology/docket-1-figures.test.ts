import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateInput } from '#shared/methodology/estimate-input.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import {
  FACTOR_SET,
  failureOf,
  METHODOLOGY,
  request,
  requests,
  valueOf,
  withTokens,
} from './fixtures.ts';
import { catalogue, inferenceRecord } from '#test/support/issuing.ts';

const quantity = (input: EstimateInput, name: string) =>
  METHODOLOGY.estimate(input).results.find((each) => each.name === name)!;
const codes = (input: EstimateInput): readonly string[] =>
  METHODOLOGY.explain(input).warnings.map(({ code }) => code);
const timeOf = (input: EstimateInput): number =>
  METHODOLOGY.explain(input).steps.find(({ symbol }) => symbol === 'T')!.value;

/** Twenty tokens; `upstreamS` or `latencyS` says how long they took. */
function twenty(times: Pick<EstimateInput, 'upstreamS' | 'latencyS'>): EstimateInput {
  const { upstreamS: _, ...input } = withTokens(20, 20);
  return { ...input, ...times };
}

describe('time on the hardware', () => {
  it('waiting is not charged as use of hardware: a stall of twenty seconds does not change the estimate', () => {
    const stalled = quantity(twenty({ latencyS: 21 }), 'adpe');
    const prompt = quantity(twenty({ latencyS: 1 }), 'adpe');
    expect(stalled.value).toBe(prompt.value);
  });

  it('of an estimate is the smaller of the recorded and the modelled time, and its bounds reach over both', () => {
    const time = fc.double({ min: 0.001, max: 1_000, noNaN: true });
    forAll([requests, time], (input, upstreamS) => {
      const { statedJoules: _, tokenInterval: __, ...usage } = input.usage;
      const { upstreamS: ___, latencyS: ____, ...untimed } = { ...input, usage };
      const modelled = quantity(untimed, 'adpe');
      const both = quantity({ ...untimed, upstreamS }, 'adpe');
      const longer = quantity({ ...untimed, upstreamS: upstreamS * 2 }, 'adpe');
      expect(both.value).toBeLessThanOrEqual(modelled.value);
      expect(both.value).toBeLessThanOrEqual(longer.value);
      expect(both.upper).toBeGreaterThanOrEqual(modelled.upper * (1 - 1e-11));
      expect(both.lower).toBeLessThanOrEqual(modelled.lower);
      expect(longer.upper).toBeGreaterThanOrEqual(both.upper * (1 - 1e-11));
    });
  });

  it('grows with the prompt', () => {
    const { upstreamS: _, ...untimed } = withTokens(10, 4_000);
    const { upstreamS: __, ...short } = withTokens(10, 40);
    expect(timeOf(untimed)).toBeGreaterThan(timeOf(short));
  });

  it('is that of the upstream call where it was taken; where it was not, the lineage says what stands in for it', () => {
    const record = inferenceRecord({ startedAt: 1_000_000, endedAt: 1_021_000 });
    const called = estimateInput(catalogue, { ...record, upstreamMs: 1_250, queuedMs: 19_000 });
    expect(called).toMatchObject({ upstreamS: 1.25 });
    expect(called).not.toHaveProperty('latencyS');
    expect(codes(called)).not.toContain('time_with_waiting');
    const fallback = estimateInput(catalogue, record);
    expect(fallback).toMatchObject({ latencyS: 21 });
    expect(codes(fallback)).toContain('time_with_waiting');
    const { upstreamS: _, ...untimed } = called;
    expect(codes(untimed)).toContain('time_modelled');
  });

  it('does not depend on how long a request was queued', () => {
    forAll([fc.nat(1e6), fc.nat(1e6)], (one, other) => {
      const record = inferenceRecord({ upstreamMs: 900 });
      const [a, b] = [one, other].map((queuedMs) =>
        METHODOLOGY.estimate(estimateInput(catalogue, { ...record, queuedMs })),
      );
      expect(a).toEqual(b);
    });
  });
});

describe('energy', () => {
  const counts = fc.record({
    input: fc.oneof(fc.nat(5_000), fc.nat(200_000)),
    output: fc.oneof(fc.nat(5_000), fc.nat(100_000)),
    more: fc.integer({ min: 1, max: 5_000 }),
  });

  it('never falls with another token, in or out', () => {
    forAll([requests, counts], (base, { input, output, more }) => {
      const at = (outputTokens: number, inputTokens: number): number => {
        const usage = { outputTokens, inputTokens, cachedInputTokens: 0 } as const;
        return valueOf({ ...base, usage: { ...usage, source: 'upstream' } });
      };
      expect(at(output + more, input)).toBeGreaterThanOrEqual(at(output, input));
      expect(at(output, input + more)).toBeGreaterThanOrEqual(at(output, input));
    });
  });

  it('does not jump at any number of tokens: one more costs what the one before it cost, and at most what attention to one more adds', () => {
    const known = FACTOR_SET.models.flatMap(({ id, kv }) =>
      kv === undefined
        ? []
        : [{ ref: id, bytes: kv.bytes_per_token, operations: kv.operations_per_pair }],
    );
    const near = fc.integer({ min: -3, max: 3 }).map((offset) => 2_048 + offset);
    const tokens = fc.oneof(near, fc.integer({ min: 1, max: 6_000 }));
    forAll(
      [fc.constantFrom(...known), tokens, tokens, fc.boolean()],
      { numRuns: runs(500) },
      ({ ref, bytes, operations }, input, output, out) => {
        const model = { id: 'x', footprint: { ref } };
        const at = (more: number): number => {
          const [n, i] = out ? [output + more, input] : [output, input + more];
          return valueOf({ ...withTokens(n, i), model });
        };
        const joules = 150e-12 * bytes * (output + 2) + 1.7e-12 * operations;
        const attending = (joules / 3.6e6) * 1.35 * 1.12 * 1.12;
        // Twelve digits are kept.
        const rounding = at(2) * 1e-11;
        const change = at(2) - at(1) - (at(1) - at(0));
        expect(Math.abs(change)).toBeLessThanOrEqual(attending + rounding);
      },
    );
  });

  it('of a prompt beyond 2,048 tokens holds attention, each token with each before it; what was cached costs none', () => {
    const model = { id: 'x', footprint: { ref: 'llama-3.1-70b' } };
    const at = (inputTokens: number, cachedInputTokens: number): number =>
      valueOf({
        ...request({
          usage: { inputTokens, cachedInputTokens, outputTokens: 0, source: 'upstream' },
        }),
        model,
      });
    // 80 layers of 64 heads of 128, a key and a value, two operations each.
    const operations = 80 * 64 * 2 * 128 * 2;
    const joules = (input: number, cached: number): number =>
      0.0034 * 70.55 * (input - cached) +
      (1.7e-12 * operations * ((input - 2_048) ** 2 - Math.max(0, cached - 2_048) ** 2)) / 2;
    const kwh = (of: number): number => (of / 3.6e6) * 1.35 * 1.12 * 1.12;
    for (const [input, cached] of [
      [100_000, 0],
      [100_000, 90_000],
      [3_000, 2_999],
    ] as const) {
      expect(at(input, cached) / kwh(joules(input, cached))).toBeCloseTo(1, 10);
    }
    expect(at(100_000, 0) / at(10_000, 0)).toBeGreaterThan(17);
  });

  it('is the same on both sides of 2,048 tokens', () => {
    const at = (input: number): number => valueOf(withTokens(300, input));
    expect(at(1_749) / at(1_748)).toBeLessThan(1.001);
  });
});

describe('token counts', () => {
  const interval = { inputLower: 150, inputUpper: 260, outputLower: 240, outputUpper: 390 };
  const counted = (tokenInterval: typeof interval): EstimateInput =>
    request({ usage: { ...request().usage, source: 'counted', tokenInterval } });

  it('with an interval widen every bound to what it is at the ends', () => {
    const { results } = METHODOLOGY.estimate(counted(interval));
    const at = (output: number, input: number) =>
      METHODOLOGY.estimate(withTokens(output, input)).results;
    const [low, high] = [at(240, 150), at(390, 260)];
    METHODOLOGY.estimate(request()).results.forEach(({ value }, i) => {
      const result = results[i]!;
      expect(result.value).toBe(value);
      expect(result.lower).toBeCloseTo(low[i]!.lower, 14);
      expect(result.upper / high[i]!.upper).toBeCloseTo(1, 10);
    });
    expect(codes(counted(interval))).toContain('tokens_within_interval');
    expect(codes(request())).not.toContain('tokens_within_interval');
  });

  it('have bounds that a receipt can be recomputed from', () => {
    const measurement = METHODOLOGY.estimate(counted(interval));
    expect(METHODOLOGY.estimate(rebuildInput(measurement.inputs))).toEqual(measurement);
  });

  it('that lie outside their own interval, or have a bound that is no count, are refused', () => {
    const broken = [
      { ...interval, inputLower: 201 },
      { ...interval, inputUpper: 199 },
      { ...interval, outputLower: 301 },
      { ...interval, outputUpper: 299 },
      { ...interval, outputUpper: Number.NaN },
      { ...interval, inputLower: -1 },
      { ...interval, inputLower: 1.5 },
    ];
    for (const each of broken) expect(failureOf(counted(each)).code).toBe('usage_invalid');
  });

  it('that are not known give no estimate, and never a zero', () => {
    const usage = { source: 'unknown', reason: 'caller_left' } as const;
    expect(() => estimateInput(catalogue, { ...inferenceRecord(), usage })).toThrow(
      expect.objectContaining({ stage: 'input', code: 'usage_unknown' }),
    );
  });
});
