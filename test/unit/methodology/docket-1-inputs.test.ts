import { describe, expect, it } from 'vitest';
import type { Precision } from '#shared/methodology/factor-set.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import {
  factorOf,
  failureOf,
  METHODOLOGY,
  request,
  valueOf,
  withFootprint,
  withTokens,
} from './fixtures.ts';

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
  it('are found by their names in the registry, in upper or lower case', () => {
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
    ['input', 'latency_invalid', request({ upstreamS: -0.001 })],
    ['input', 'latency_invalid', request({ latencyS: Number.NaN })],
    ['input', 'site_invalid', request({ site: { operator: 'x', pue: 0.99 } })],
    ['input', 'site_invalid', request({ site: { operator: 'x', wue: -1 } })],
    ['input', 'site_invalid', request({ site: { operator: '' } })],
  ])('%s / %s', (stage, code, input) => {
    expect(failureOf(input)).toMatchObject({ stage, code });
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
    const same = { ...gridSignal, gwpKgco2ePerKwh: 0.04144 };
    expect(factorOf(request({ gridSignal: same }), 'gwp')).toBeLessThan(factorOf(request(), 'gwp'));
  });

  it.each([{ hour: '2026-11-01T13:30:00Z' }, { gwpKgco2ePerKwh: 41.4 }, { provider: '' }])(
    'with %j is refused',
    (change) => {
      const failure = failureOf(request({ gridSignal: { ...gridSignal, ...change } }));
      expect(failure).toMatchObject({ stage: 'factors', code: 'grid_signal_invalid' });
    },
  );
});
