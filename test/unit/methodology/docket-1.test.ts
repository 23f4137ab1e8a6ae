import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuantityName } from '../../../shared/domain/measurement.ts';
import { toDecimalString } from '../../../shared/domain/methodology/decimal.ts';
import type { EstimateInput } from '../../../shared/domain/methodology/methodology.ts';
import type { Precision } from '../../../shared/domain/methodology/factor-set.ts';
import {
  FACTOR_SET,
  failureOf,
  METHODOLOGY,
  request,
  requests,
  withFootprint,
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
    latency_s?: number;
    measured_joules?: number;
  };
  expected: {
    data_quality: string;
    results: Record<QuantityName, { value: number; lower: number; upper: number }>;
  };
}

const { cases } = JSON.parse(
  readFileSync(new URL('../../vectors/docket-1/frozen.json', import.meta.url), 'utf8'),
) as { cases: Vector[] };

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
      ...given({ measuredJoules: input.measured_joules }),
    },
    route: input.route ?? 'chat.completions',
    model: { id: 'vector', footprint: given({ ref, activeB, totalB, precision, batch, gpus }) },
    zone: input.zone,
    site: { operator: 'example', ...given({ pue: input.pue, wue: input.wue }) },
    attempts: input.attempts ?? 1,
    ...given({ latencyS: input.latency_s }),
  };
}

function valueOf(input: EstimateInput, name: QuantityName = 'energy'): number {
  return METHODOLOGY.estimate(input).results.find((quantity) => quantity.name === name)!.value;
}

function factorOf(input: EstimateInput, name: QuantityName = 'energy'): number {
  const { value, upper } = METHODOLOGY.estimate(input).results.find((q) => q.name === name)!;
  return upper / value;
}

describe('agreement with a separate implementation', () => {
  it.each(cases)('$id', (vector) => {
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

  it('is the same again, character for character, whatever was estimated before it', () => {
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
        const { measuredJoules: _, ...usage } = input.usage;
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
        expect(at(pue)).toBeCloseTo(at(1) * pue, 10);
        const ratio = at(1) === 0 ? 1 : at(pue) / at(1) / pue;
        expect(Math.abs(ratio - 1)).toBeLessThan(1e-10);
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
      latencyS: 0,
    });
    for (const { value, lower, upper } of METHODOLOGY.estimate(none).results) {
      expect([value, lower, upper]).toEqual([0, 0, 0]);
    }
  });

  it('no attempt was made: nothing was used, and nobody may have counted tokens', () => {
    const nothing = {
      inputTokens: 0,
      cachedInputTokens: 0,
      outputTokens: 0,
      source: 'counted',
    } as const;
    expect(valueOf(request({ usage: nothing, attempts: 0, latencyS: 0 }))).toBe(0);
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

describe('data quality', () => {
  it.each([
    ['T2', { ref: 'llama-3.1-8b', gpus: 1 }],
    ['T2', { activeB: 8, totalB: 8, gpus: 1 }],
    ['T3', { ref: 'llama-3.1-8b' }],
    ['T3', { activeB: 3, totalB: 30 }],
    ['T4', { ref: 'gpt-4o' }],
    ['T4', { ref: 'gpt-4o', gpus: 8 }],
    ['T4', { totalB: 8 }],
    ['T4', { activeB: 8 }],
    ['T5', { ref: 'class:small' }],
  ] as const)('is %s for %j', (tier, footprint) => {
    expect(METHODOLOGY.estimate(withFootprint(footprint)).dataQuality).toBe(tier);
  });

  it('that is worse has wider bounds', () => {
    const published = factorOf(withFootprint({ ref: 'llama-3.1-70b' }));
    const guessed = factorOf(withFootprint({ ref: 'gpt-4.1-mini' }));
    const group = factorOf(withFootprint({ ref: 'class:medium' }));
    expect(guessed).toBeGreaterThan(published);
    expect(group).toBeGreaterThan(guessed);
  });
});

describe('models', () => {
  it('are found by their names in the registry, whatever the case', () => {
    const value = valueOf(withFootprint({ ref: 'mistral-large-3' }));
    expect(valueOf(withFootprint({ ref: 'Mistral-Large-2512' }))).toBe(value);
    expect(valueOf(withFootprint({ ref: 'mistral-large-3 (mistral-large-2512)' }))).toBe(value);
  });

  it('of which the set knows nothing use the declared size', () => {
    const declared = withFootprint({ ref: 'not-on-record', activeB: 8, totalB: 8 });
    expect(valueOf(declared)).toBe(valueOf(withFootprint({ activeB: 8, totalB: 8 })));
  });

  it.each([
    [{}, 'model_size_unknown'],
    [{ precision: 'fp8', batch: 8 }, 'model_size_unknown'],
    [{ gpus: 4 }, 'model_size_unknown'],
    [{ ref: 'not-on-record' }, 'model_record_unknown'],
    [{ ref: 'class:gigantic' }, 'model_record_unknown'],
    [{ activeB: 9, totalB: 8 }, 'footprint_invalid'],
    [{ activeB: 0, totalB: 8 }, 'footprint_invalid'],
    [{ totalB: Number.NaN }, 'footprint_invalid'],
    [{ totalB: 8e9 }, 'footprint_invalid'],
    [{ totalB: 8, batch: 0.5 }, 'footprint_invalid'],
    [{ totalB: 8, gpus: 1.5 }, 'footprint_invalid'],
    [{ totalB: 8, precision: 'fp3' as never }, 'footprint_invalid'],
  ] as const)('%j fails as %s: no size is invented', (footprint, code) => {
    expect(failureOf(withFootprint(footprint))).toMatchObject({ stage: 'model', code });
  });

  it('are prefilled in FP8 for half, and in other formats in full', () => {
    const of = (precision: Precision): number =>
      valueOf({
        ...withTokens(0, 1000),
        model: { id: 'x', footprint: { totalB: 8, activeB: 8, gpus: 1, precision } },
      });
    expect(of('fp8')).toBeCloseTo(of('bf16') / 2, 14);
    for (const precision of ['fp16', 'int8', 'fp4', 'int4'] as const) {
      expect(of(precision)).toBe(of('bf16'));
    }
  });
});

describe('what cannot be estimated fails, at the stage and with the code that says why', () => {
  it.each<[string, string, EstimateInput]>([
    ['factors', 'zone_unknown', request({ zone: 'XYZ' })],
    ['factors', 'zone_unknown', request({ zone: '__proto__' })],
    ['input', 'usage_invalid', withTokens(-1)],
    ['input', 'usage_invalid', withTokens(1.5)],
    ['input', 'usage_invalid', withTokens(Number.NaN)],
    ['input', 'usage_invalid', withTokens(1, 10, 11)],
    ['input', 'attempts_invalid', request({ attempts: 1.5 })],
    ['input', 'attempts_invalid', request({ attempts: 1001 })],
    ['input', 'latency_invalid', request({ latencyS: -0.001 })],
    ['input', 'latency_invalid', request({ latencyS: Number.NaN })],
    ['input', 'site_invalid', request({ site: { operator: 'x', pue: 0.99 } })],
    ['input', 'site_invalid', request({ site: { operator: 'x', wue: -1 } })],
    ['input', 'site_invalid', request({ site: { operator: '' } })],
  ])('%s / %s', (stage, code, input) => {
    expect(failureOf(input)).toMatchObject({ stage, code });
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

describe('an hourly signal', () => {
  const gridSignal = {
    hour: '2026-11-01T13:00:00Z',
    signal: 'location-based life cycle',
    provider: 'example',
    version: '3',
    gwpKgco2ePerKwh: 0.02,
  };

  it('replaces the annual greenhouse gas factor alone, and is named as an input', () => {
    const annual = METHODOLOGY.estimate(request());
    const hourly = METHODOLOGY.estimate(request({ gridSignal }));
    const changed = hourly.results.filter(
      ({ name, value }) => annual.results.find((q) => q.name === name)!.value !== value,
    );
    expect(changed.map(({ name }) => name)).toEqual(['gwp']);
    expect(hourly.inputs.map(({ id }) => id)).toContain('FRA@2026-11-01T13:00:00Z');
    expect(factorOf(request({ gridSignal }), 'gwp')).toBeLessThan(factorOf(request(), 'gwp'));
  });

  it.each([{ hour: '2026-11-01T13:30:00Z' }, { gwpKgco2ePerKwh: 41.4 }, { provider: '' }])(
    'with %j is refused',
    (change) => {
      const failure = failureOf(request({ gridSignal: { ...gridSignal, ...change } }));
      expect(failure).toMatchObject({ stage: 'factors', code: 'grid_signal_invalid' });
    },
  );
});

describe('every zone of the factor set', () => {
  it('gives an estimate', () => {
    expect(FACTOR_SET.grid).toHaveLength(72);
    for (const { id } of FACTOR_SET.grid)
      expect(valueOf(request({ zone: id }), 'adpf')).toBeGreaterThan(0);
  });
});
