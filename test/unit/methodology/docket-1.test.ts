import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuantityName } from '#shared/methodology/measurement.ts';
import { toDecimalString } from '#shared/kernel/decimal.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import type { Precision } from '#shared/methodology/factor-set.ts';
import { forAll } from '#test/support/for-all.ts';
import {
  factorOf,
  failureOf,
  METHODOLOGY,
  request,
  requests,
  valueOf,
  withTokens,
} from './fixtures.ts';

interface Vector {
  id: string;
  input: {
    ref?: string;
    active_b?: number;
    total_b?: number;
    precision?: Precision;
    batch?: number;
    gpus?: number;
    route?: 'embeddings';
    pue?: number;
    wue?: number;
    zone: string;
    input_tokens: number;
    cached_input_tokens?: number;
    output_tokens: number;
    attempts?: number;
    upstream_s?: number;
    latency_s?: number;
    token_interval?: { input: [number, number]; output: [number, number] };
    metered_joules?: number;
    stated_joules?: number;
  };
  expected: {
    data_quality: string;
    results: Record<QuantityName, { value: number; lower: number; upper: number }>;
  };
}

function vectors(version: string): Vector[] {
  const file = new URL(`../../vectors/docket-1/${version}.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { cases: Vector[] }).cases;
}

function intervalOf({ input, output }: NonNullable<Vector['input']['token_interval']>) {
  const [inputLower, inputUpper] = input;
  const [outputLower, outputUpper] = output;
  return { inputLower, inputUpper, outputLower, outputUpper };
}

/** Leaves out what is undefined, as callers do. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

function inputOf({ input }: Vector): EstimateInput {
  const { ref, active_b: activeB, total_b: totalB, precision, batch, gpus } = input;
  return {
    usage: {
      inputTokens: input.input_tokens,
      cachedInputTokens: input.cached_input_tokens ?? 0,
      outputTokens: input.output_tokens,
      source: 'upstream',
      ...given({
        statedJoules: input.stated_joules,
        tokenInterval: input.token_interval && intervalOf(input.token_interval),
      }),
    },
    route: input.route ?? 'chat.completions',
    model: { id: 'vector', footprint: given({ ref, activeB, totalB, precision, batch, gpus }) },
    zone: input.zone,
    site: { operator: 'example', ...given({ pue: input.pue, wue: input.wue }) },
    attempts: input.attempts ?? 1,
    ...given({
      latencyS: input.latency_s,
      upstreamS: input.upstream_s,
      meteredJoules: input.metered_joules,
    }),
  };
}

describe('version 1.0 agrees with a separate implementation', () => {
  it.each(vectors('1.0'))('$id', (vector) => {
    const { dataQuality, results } = METHODOLOGY.estimate(inputOf(vector));
    expect(dataQuality).toBe(vector.expected.data_quality);
    expect(results.map(({ name }) => name)).toEqual(['energy', 'gwp', 'water', 'adpe', 'adpf']);
    for (const { name, value, lower, upper } of results) {
      const expected = vector.expected.results[name];
      for (const [end, actual] of Object.entries({ value, lower, upper })) {
        const wanted = expected[end as keyof typeof expected];
        const error = wanted === 0 ? actual : Math.abs(actual / wanted - 1);
        expect(error, `${name} ${end}: ${actual} for ${wanted}`).toBeLessThanOrEqual(1e-10);
      }
    }
  });
});

describe('any estimate', () => {
  it('is finite, not negative, and lies between its bounds', () => {
    forAll([requests], (input) => {
      for (const { value, lower, upper } of METHODOLOGY.estimate(input).results) {
        expect([value, lower, upper].every((figure) => Number.isFinite(figure))).toBe(true);
        expect(0 <= lower && lower <= value && value <= upper).toBe(true);
      }
    });
  });

  it('an estimate is the same again, character for character, after any others', () => {
    forAll([requests, requests], (input, other) => {
      const first = METHODOLOGY.estimate(input);
      METHODOLOGY.estimate(other);
      expect(METHODOLOGY.estimate(structuredClone(input))).toEqual(first);
    });
  });

  it('has at most 12 significant digits', () => {
    forAll([requests], (input) => {
      for (const { value, lower, upper } of METHODOLOGY.estimate(input).results) {
        for (const figure of [value, lower, upper]) {
          expect(toDecimalString(figure).replace(/^0\.0*|\./g, '').length).toBeLessThanOrEqual(21);
          expect(Number(toDecimalString(figure))).toBe(figure);
        }
      }
    });
  });

  it('grows with every kind of token, and with attempts', () => {
    forAll([requests, fc.integer({ min: 1, max: 1000 })], (input, more) => {
      const { statedJoules: _, tokenInterval: __, ...usage } = input.usage;
      const modelled = { ...input, usage };
      const { outputTokens, inputTokens, cachedInputTokens } = usage;
      const base = valueOf(modelled);
      const grown = (changes: Partial<typeof usage>): number =>
        valueOf({ ...modelled, usage: { ...usage, ...changes } });
      expect(grown({ outputTokens: outputTokens + more })).toBeGreaterThanOrEqual(base);
      expect(grown({ inputTokens: inputTokens + more })).toBeGreaterThanOrEqual(base);
      expect(
        grown({ cachedInputTokens: Math.min(inputTokens, cachedInputTokens + more) }),
      ).toBeLessThanOrEqual(base);
      expect(valueOf({ ...modelled, attempts: modelled.attempts + 1 })).toBeGreaterThanOrEqual(
        base,
      );
    });
  });

  it('is linear in PUE, and in attempts', () => {
    forAll([requests, fc.double({ min: 1, max: 3, noNaN: true })], (input, pue) => {
      const at = (value: number): number =>
        valueOf({ ...input, site: { ...input.site, pue: value } });
      expect(Math.abs(at(pue) - at(1) * pue)).toBeLessThanOrEqual(at(pue) * 1e-10);
      const twice = valueOf({ ...input, attempts: 2 });
      const once = valueOf({ ...input, attempts: 1 });
      expect(Math.abs(twice - 2 * once)).toBeLessThanOrEqual(twice * 1e-10);
    });
  });

  it('is never below the same request at a better known place', () => {
    forAll([requests], (input) => {
      const known = { ...input, site: { operator: 'example', pue: 1.3, wue: 0.5 } };
      const unknown = { ...input, site: { operator: 'nobody' } };
      if (valueOf(input) === 0) return;
      expect(factorOf(unknown)).toBeGreaterThan(factorOf(known));
    });
  });
});

describe('zero is a value', () => {
  it('no tokens and no time use nothing at all', () => {
    const none = request({
      usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, source: 'upstream' },
      upstreamS: 0,
    });
    for (const { value, lower, upper } of METHODOLOGY.estimate(none).results) {
      expect([value, lower, upper]).toEqual([0, 0, 0]);
    }
  });

  it('no attempt was made: nothing was used, and no tokens may have been counted', () => {
    const nothing = {
      inputTokens: 0,
      cachedInputTokens: 0,
      outputTokens: 0,
      source: 'counted',
    } as const;
    expect(valueOf(request({ usage: nothing, attempts: 0, upstreamS: 0 }))).toBe(0);
    expect(failureOf(request({ attempts: 0 })).code).toBe('attempts_invalid');
  });

  it('a prompt that was wholly cached costs no prefill', () => {
    expect(valueOf(withTokens(10, 500, 500))).toBe(valueOf(withTokens(10, 0)));
  });
});

describe('metered energy', () => {
  const measured = (
    meteredJoules: number,
    changes: Partial<EstimateInput> = {},
  ): EstimateInput => ({ ...request(changes), meteredJoules });

  it('replaces the model of prefill and decode, and is T1', () => {
    const joules = 3_600;
    expect(METHODOLOGY.estimate(measured(joules)).dataQuality).toBe('T1');
    expect(valueOf(measured(joules))).toBeCloseTo(0.001 * 1.35 * 1.12 * 1.12, 12);
  });

  it('does not depend on the tokens', () => {
    const many = { inputTokens: 9_000, cachedInputTokens: 0, outputTokens: 9_000 };
    const input = measured(100);
    expect(valueOf({ ...input, usage: { ...input.usage, ...many } })).toBe(valueOf(input));
  });

  it('has narrower bounds than any model of a request', () => {
    expect(factorOf(measured(100))).toBeLessThan(factorOf(request()));
  });

  it('of zero is zero, not an invitation to estimate', () => {
    expect(valueOf(measured(0))).toBe(0);
  });

  it('needs no size where the number of GPUs and the time are known', () => {
    const input = measured(100, { model: { id: 'x', footprint: { gpus: 2, batch: 8 } } });
    expect(METHODOLOGY.estimate(input).dataQuality).toBe('T1');
    expect(failureOf(measured(100, { model: { id: 'x', footprint: {} } })).code).toBe(
      'model_size_unknown',
    );
  });

  it.each([-1, Number.NaN, Infinity, 1e16])('of %d J is refused', (joules) => {
    expect(failureOf(measured(joules))).toMatchObject({ stage: 'input', code: 'joules_invalid' });
  });
});

describe('energy that an upstream states of itself', () => {
  const large = { id: 'large', footprint: { ref: 'llama-3.1-70b', gpus: 4 } };
  const sixty = { inputTokens: 200, cachedInputTokens: 0, outputTokens: 60, source: 'upstream' };
  const stated = (statedJoules: number, changes: Partial<EstimateInput> = {}): EstimateInput => ({
    ...request({ model: large, upstreamS: 2, ...changes }),
    usage: { ...(sixty as EstimateInput['usage']), statedJoules },
  });
  const found = (input: EstimateInput) => {
    const { dataQuality, inputs, results } = METHODOLOGY.estimate(input);
    const { record } = inputs.find(({ kind }) => kind === 'usage')!;
    return { dataQuality, beyond: record!['stated_beyond'], energy: results[0]!.value };
  };
  const modelled = (input: EstimateInput): number => {
    const { statedJoules: _, ...usage } = input.usage;
    return valueOf({ ...input, usage });
  };

  it.each([
    ['nothing', 0, 'token_energy'],
    ['a millionth of a joule for 60 tokens of 70 billion parameters', 1e-6, 'token_energy'],
    ['a little less than any accelerator takes for them', 0.83, 'token_energy'],
    ['less than a share in the idle power of its replica', 1.5, 'idle_power'],
    ['more than its replica draws at full power', 40_000, 'full_power'],
    ['more than a power station gives', 1e300, 'full_power'],
  ])('of %s is not used, and the record names the bound', (_, joules, beyond) => {
    const input = stated(joules);
    expect(found(input)).toEqual({ dataQuality: 'T2', beyond, energy: modelled(input) });
    expect(METHODOLOGY.explain(input).warnings).toContainEqual(
      expect.objectContaining({ code: 'stated_energy_not_used' }),
    );
  });

  it('within the bounds is used, and is a class of its own below what a meter counted', () => {
    expect(found(stated(53))).toEqual({
      dataQuality: 'TS',
      beyond: undefined,
      energy: valueOf(request({ model: large, upstreamS: 2, meteredJoules: 53 })),
    });
    expect(METHODOLOGY.estimate({ ...stated(0), meteredJoules: 53 }).dataQuality).toBe('T1');
  });

  it('of any request that this method models is within the bounds where it is what the method comes to', () => {
    forAll([requests], (input) => {
      const { statedJoules: _, ...usage } = input.usage;
      const plain = { ...input, usage };
      const steps = METHODOLOGY.explain(plain).steps;
      const gpu = steps.find(({ symbol }) => symbol === 'E_gpu')!.value;
      if (gpu === 0 || usage.outputTokens === 0 || input.attempts === 0) return;
      const joules = gpu / input.attempts;
      const { beyond } = found({ ...plain, usage: { ...usage, statedJoules: joules } });
      expect(beyond, `${joules} J`).toBe(undefined);
    });
  });

  it('of an unknown size has to keep the bounds of its GPUs', () => {
    const model = { id: 'x', footprint: { gpus: 2, batch: 8 } };
    expect(found(stated(53, { model })).dataQuality).toBe('TS');
    for (const joules of [0, 1e-6, 1e6])
      expect(failureOf(stated(joules, { model })).code).toBe('model_size_unknown');
  });

  it('of an embedding pays for its input', () => {
    const input = stated(1e-6, { route: 'embeddings' });
    expect(found(input).beyond).toBe('token_energy');
  });
});

describe('hardware that is known', () => {
  const served = (footprint: EstimateInput['model']['footprint']) =>
    METHODOLOGY.explain(request({ model: { id: 'x', footprint } }));
  const quality = (footprint: EstimateInput['model']['footprint']): string =>
    served(footprint).dataQuality;

  it('has the memory for the weights, and for the batch that is stated', () => {
    const ref = 'llama-3.1-70b';
    expect(quality({ ref, gpus: 4 })).toBe('T2');
    expect(quality({ ref, gpus: 4, batch: 256 })).toBe('T2');
    expect(quality({ ref, gpus: 4, batch: 100_000 })).toBe('T3');
    expect(quality({ ref, gpus: 1 })).toBe('T3');
    expect(quality({ ref, gpus: 1, precision: 'fp8' })).toBe('T2');
    expect(served({ ref, gpus: 4, batch: 100_000 }).warnings).toContainEqual(
      expect.objectContaining({ code: 'batch_beyond_memory' }),
    );
  });

  it('cannot be told where the cache of a stated batch is not known', () => {
    const declared = { activeB: 8, totalB: 8, gpus: 1 };
    expect(quality(declared)).toBe('T2');
    expect(quality({ ...declared, batch: 8 })).toBe('T3');
    expect(served({ ...declared, batch: 8 }).warnings).toContainEqual(
      expect.objectContaining({ code: 'batch_not_checked' }),
    );
  });
});

describe('extremes', () => {
  it('of what can be counted still give a figure that a receipt can state', () => {
    const most = withTokens(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    const model = { id: 'x', footprint: { totalB: 100_000, batch: 1 } };
    expect(valueOf({ ...most, model, attempts: 1000 })).toBeLessThan(1e30);
  });

  it('that a receipt cannot state are refused', () => {
    const tiny = request({ meteredJoules: 1e-40 });
    expect(failureOf(tiny)).toMatchObject({ stage: 'computation', code: 'result_out_of_range' });
  });
});
