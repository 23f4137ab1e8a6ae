import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuantityName } from '#shared/methodology/measurement.ts';
import { toDecimalString } from '#shared/kernel/decimal.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import type { Precision } from '#shared/methodology/factor-set.ts';
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
    measured_joules?: number;
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
        measuredJoules: input.measured_joules,
        tokenInterval: input.token_interval && intervalOf(input.token_interval),
      }),
    },
    route: input.route ?? 'chat.completions',
    model: { id: 'vector', footprint: given({ ref, activeB, totalB, precision, batch, gpus }) },
    zone: input.zone,
    site: { operator: 'example', ...given({ pue: input.pue, wue: input.wue }) },
    attempts: input.attempts ?? 1,
    ...given({ latencyS: input.latency_s, upstreamS: input.upstream_s }),
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
    fc.assert(
      fc.property(requests, (input) => {
        for (const { value, lower, upper } of METHODOLOGY.estimate(input).results) {
          expect([value, lower, upper].every((figure) => Number.isFinite(figure))).toBe(true);
          expect(0 <= lower && lower <= value && value <= upper).toBe(true);
        }
      }),
    );
  });

  it('an estimate is the same again, character for character, after any others', () => {
    fc.assert(
      fc.property(requests, requests, (input, other) => {
        const first = METHODOLOGY.estimate(input);
        METHODOLOGY.estimate(other);
        expect(METHODOLOGY.estimate(structuredClone(input))).toEqual(first);
      }),
    );
  });

  it('has at most 12 significant digits', () => {
    fc.assert(
      fc.property(requests, (input) => {
        for (const { value, lower, upper } of METHODOLOGY.estimate(input).results) {
          for (const figure of [value, lower, upper]) {
            expect(toDecimalString(figure).replace(/^0\.0*|\./g, '').length).toBeLessThanOrEqual(
              21,
            );
            expect(Number(toDecimalString(figure))).toBe(figure);
          }
        }
      }),
    );
  });

  it('grows with every kind of token, and with attempts', () => {
    fc.assert(
      fc.property(requests, fc.integer({ min: 1, max: 1000 }), (input, more) => {
        const { measuredJoules: _, tokenInterval: __, ...usage } = input.usage;
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
      }),
    );
  });

  it('is linear in PUE, and in attempts', () => {
    fc.assert(
      fc.property(requests, fc.double({ min: 1, max: 3, noNaN: true }), (input, pue) => {
        const at = (value: number): number =>
          valueOf({ ...input, site: { ...input.site, pue: value } });
        expect(Math.abs(at(pue) - at(1) * pue)).toBeLessThanOrEqual(at(pue) * 1e-10);
        const twice = valueOf({ ...input, attempts: 2 });
        const once = valueOf({ ...input, attempts: 1 });
        expect(Math.abs(twice - 2 * once)).toBeLessThanOrEqual(twice * 1e-10);
      }),
    );
  });

  it('is never below the same request at a better known place', () => {
    fc.assert(
      fc.property(requests, (input) => {
        const known = { ...input, site: { operator: 'example', pue: 1.3, wue: 0.5 } };
        const unknown = { ...input, site: { operator: 'nobody' } };
        if (valueOf(input) === 0) return;
        expect(factorOf(unknown)).toBeGreaterThan(factorOf(known));
      }),
    );
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

describe('measured energy', () => {
  const measured = (
    measuredJoules: number,
    changes: Partial<EstimateInput> = {},
  ): EstimateInput => {
    const base = request(changes);
    return { ...base, usage: { ...base.usage, measuredJoules } };
  };

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

describe('extremes', () => {
  it('of what can be counted still give a figure that a receipt can state', () => {
    const most = withTokens(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    const model = { id: 'x', footprint: { totalB: 100_000, batch: 1 } };
    expect(valueOf({ ...most, model, attempts: 1000 })).toBeLessThan(1e30);
  });

  it('that a receipt cannot state are refused', () => {
    const { usage } = request();
    const tiny = request({ usage: { ...usage, measuredJoules: 1e-40 } });
    expect(failureOf(tiny)).toMatchObject({ stage: 'computation', code: 'result_out_of_range' });
  });
});
