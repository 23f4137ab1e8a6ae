import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MethodologyFailure } from '#shared/methodology/measurement.ts';
import { estimateEcologits } from '#shared/methodology/ecologits.ts';
import { ECOLOGITS_CONSTANTS, ECOLOGITS_FORMULAS } from '#shared/methodology/ecologits-formulas.ts';
import { ends, type ValueOrRange } from '#shared/methodology/factor-set.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';
import { evaluate } from './formula-evaluator.ts';

interface Vector {
  id: string;
  inputs: Record<string, unknown>;
  expected: Record<string, ValueOrRange> | null;
}

const vectors = (name: string): Vector[] => {
  const url = new URL(`../../vectors/ecologits/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(url, 'utf8')) as { cases: Vector[] }).cases;
};
const published = vectors('published');
/** What the reference gives for its optional parameters, each alone and all together. */
const overrides = vectors('overrides');

const everyOverride = overrides.find((vector) => vector.id === 'override/all')!.inputs;

/** The published tolerance: relative, bound by bound. */
const TOLERANCE = 1e-12;

const base = published.find((vector) => vector.id === 'U-no-request-latency')!.inputs;

function within(actual: number, expected: number, what: string): void {
  const error = expected === 0 ? Math.abs(actual) : Math.abs(actual / expected - 1);
  expect(error, `${what}: ${actual} for ${expected}`).toBeLessThanOrEqual(TOLERANCE);
}

const failure = (input: unknown): MethodologyFailure =>
  thrownBy(MethodologyFailure, () => estimateEcologits(input))!;

describe('agreement with EcoLogits 0.11.2', () => {
  for (const { id, inputs, expected } of [...published, ...overrides]) {
    if (expected === null) {
      it(`refuses ${id}`, () => {
        expect(failure(inputs).stage).toBe('input');
      });
      continue;
    }
    it(`gives the published figures for ${id}`, () => {
      const results = estimateEcologits(inputs) as unknown as Record<string, ValueOrRange>;
      expect(Object.keys(results)).toEqual(Object.keys(expected));
      for (const [name, value] of Object.entries(expected)) {
        expect(typeof results[name], name).toBe(typeof value);
        within(ends(results[name]!).min, ends(value).min, name);
        within(ends(results[name]!).max, ends(value).max, name);
      }
    });
  }
});

describe('the published formulas', () => {
  it('give what the code gives, for any request', () => {
    forAll([request()], (inputs) => {
      const values = new Map<string, number>(
        Object.entries(ECOLOGITS_CONSTANTS).map(([symbol, { value }]) => [symbol, value]),
      );
      const given: Record<string, number> = {
        P_a: inputs.model_active_parameter_count,
        P_t: inputs.model_total_parameter_count,
        N: inputs.output_token_count,
        T_req: inputs.request_latency ?? Infinity,
        ttft: inputs.ttft ?? 0,
        PUE: inputs.datacenter_pue,
        WUE: inputs.datacenter_wue,
        F_gwp: inputs.if_electricity_mix_gwp,
        F_adpe: inputs.if_electricity_mix_adpe,
        F_pe: inputs.if_electricity_mix_pe,
        W: inputs.if_electricity_mix_wue,
      };
      for (const [symbol, value] of Object.entries(given)) values.set(symbol, value);
      if (inputs.tps !== null) values.set('tps', inputs.tps);
      for (const { symbol, formula, when } of ECOLOGITS_FORMULAS) {
        if (when === 'tps is given' && inputs.tps === null) continue;
        if (when === 'tps is not given' && inputs.tps !== null) continue;
        values.set(symbol, evaluate(formula, values));
      }
      const results = estimateEcologits(inputs);
      within(ends(results.energy_kwh).min, values.get('E')!, 'energy');
      within(ends(results.wcf_l).min, values.get('U_wcf')!, 'water');
      within(ends(results.gwp_kgco2eq).min, values.get('total_gwp')!, 'gwp');
      within(ends(results.adpe_kgsbeq).min, values.get('total_adpe')!, 'adpe');
      within(ends(results.pe_mj).min, values.get('total_pe')!, 'pe');
      within(ends(results.embodied_gwp).min, values.get('X_gwp')!, 'embodied');
    });
  });
});

describe('ranges', () => {
  it('evaluate both bounds on their own, and never cross', () => {
    forAll([request(), fc.double({ min: 1, max: 5, noNaN: true })], (inputs, stretch) => {
      const ranged = {
        ...inputs,
        model_active_parameter_count: {
          min: inputs.model_active_parameter_count,
          max: inputs.model_active_parameter_count * stretch,
        },
        model_total_parameter_count: {
          min: inputs.model_total_parameter_count,
          max: inputs.model_total_parameter_count * stretch,
        },
        datacenter_wue: { min: inputs.datacenter_wue, max: inputs.datacenter_wue * stretch },
      };
      const low = estimateEcologits(inputs);
      const high = estimateEcologits({
        ...inputs,
        model_active_parameter_count: ranged.model_active_parameter_count.max,
        model_total_parameter_count: ranged.model_total_parameter_count.max,
        datacenter_wue: ranged.datacenter_wue.max,
      });
      const both = estimateEcologits(ranged);
      for (const name of Object.keys(low) as (keyof typeof low)[]) {
        expect(both[name]).toEqual({ min: low[name], max: high[name] });
        expect(ends(both[name]).min).toBeLessThanOrEqual(ends(both[name]).max);
      }
    });
  });

  it('of water on site reach the water alone', () => {
    const results = estimateEcologits({ ...base, datacenter_wue: { min: 0.1, max: 0.9 } });
    const ranged = Object.entries(results).filter(([, value]) => typeof value !== 'number');
    expect(ranged.map(([name]) => name)).toEqual(['wcf_l']);
  });
});

describe('refusals', () => {
  it.each([
    ['tps', 0, 'tps_invalid'],
    ['tps', -1, 'tps_invalid'],
    ['ttft', -0.1, 'ttft_invalid'],
    ['request_latency', -1, 'request_latency_invalid'],
    ['request_latency', 'soon', 'request_latency_invalid'],
    ['output_token_count', undefined, 'output_token_count_missing'],
    ['output_token_count', null, 'output_token_count_invalid'],
    ['output_token_count', -5, 'output_token_count_invalid'],
    ['model_total_parameter_count', 0, 'model_total_parameter_count_invalid'],
    ['model_total_parameter_count', { min: 0, max: 5 }, 'model_total_parameter_count_invalid'],
    ['model_active_parameter_count', { min: 9, max: 5 }, 'model_active_parameter_count_invalid'],
    ['model_active_parameter_count', { min: 9 }, 'model_active_parameter_count_missing'],
    ['model_active_parameter_count', -7, 'model_active_parameter_count_invalid'],
    ['datacenter_pue', { min: 1, max: 2, mean: 1.5 }, 'datacenter_pue_invalid'],
    ['datacenter_wue', [0.1, 0.2], 'datacenter_wue_invalid'],
    ['if_electricity_mix_gwp', Number.NaN, 'if_electricity_mix_gwp_invalid'],
    ['batch_size', 0, 'batch_size_invalid'],
    ['batch_size', 'many', 'batch_size_invalid'],
    ['model_quantization_bits', -4, 'model_quantization_bits_invalid'],
    ['gpu_energy_beta', 'x', 'gpu_energy_beta_invalid'],
    ['server_lifetime', { min: 1, max: 2 }, 'server_lifetime_invalid'],
    ['outputs', 5, 'field_unknown'],
  ])('%s = %j is refused as %s', (field, value, code) => {
    expect(failure({ ...base, [field]: value })).toMatchObject({ stage: 'input', code });
  });

  it('an overflow is a failure, never an infinity', () => {
    expect(failure({ ...base, output_token_count: 1e308 })).toMatchObject({
      stage: 'computation',
      code: 'result_not_finite',
    });
  });

  it('any input gets finite figures or a MethodologyFailure', () => {
    forAll(
      [
        fc.dictionary(
          fc.constantFrom(...Object.keys({ ...base, ...everyOverride })),
          fc.anything(),
        ),
      ],
      (changes) => {
        try {
          const results = estimateEcologits({ ...base, ...changes });
          for (const value of Object.values(results)) {
            expect(Number.isFinite(ends(value).min) && Number.isFinite(ends(value).max)).toBe(true);
          }
        } catch (error) {
          expect(error).toBeInstanceOf(MethodologyFailure);
        }
      },
    );
  });
});

function request() {
  const from = (min: number, max: number) => fc.double({ min, max, noNaN: true });
  return fc.record({
    model_active_parameter_count: from(0, 1000),
    model_total_parameter_count: from(0.1, 5000),
    output_token_count: fc.integer({ min: 0, max: 100_000 }),
    request_latency: fc.option(from(0, 1000)),
    tps: fc.option(from(0.1, 1000)),
    ttft: fc.option(from(0, 60)),
    datacenter_pue: from(1, 2),
    datacenter_wue: from(0, 2),
    if_electricity_mix_gwp: from(0, 1),
    if_electricity_mix_adpe: from(0, 1e-6),
    if_electricity_mix_pe: from(0, 20),
    if_electricity_mix_wue: from(0, 20),
  });
}
