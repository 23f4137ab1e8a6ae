import { describe, expect, it } from 'vitest';
import { digestOf } from '#shared/kernel/canonical-json.ts';
import { toSignificant } from '#shared/kernel/decimal.ts';
import { PUBLISHED_FORMULAS } from '#shared/methodology/docket-1-end-formulas.ts';
import { symbolsOf } from '#shared/methodology/formula.ts';
import { forAll } from '#test/support/for-all.ts';
import { METHODOLOGY, request, requests, withFootprint, withTokens } from './fixtures.ts';
import { evaluate } from './formula-evaluator.ts';

const codes = (input: Parameters<typeof METHODOLOGY.explain>[0]): readonly string[] =>
  METHODOLOGY.explain(input).warnings.map(({ code }) => code);

const PUBLISHED = new Set(
  PUBLISHED_FORMULAS.map(({ symbol, formula }) => `${symbol} = ${formula}`),
);

describe('an explanation', () => {
  it('and the estimate cannot disagree', () => {
    forAll([requests], (input) => {
      const { methodology, inputs, results, dataQuality } = METHODOLOGY.explain(input);
      const estimate = METHODOLOGY.estimate(input);
      expect({ methodology, results, dataQuality }).toEqual({
        methodology: estimate.methodology,
        results: estimate.results,
        dataQuality: estimate.dataQuality,
      });
      expect(inputs.map(({ kind, id, digest }) => ({ kind, id, digest }))).toEqual(
        estimate.inputs.map(({ kind, id, digest }) => ({ kind, id, digest })),
      );
    });
  });

  it('gives for each step a published formula whose text, evaluated by itself, gives the step’s value', () => {
    forAll([requests], (input) => {
      for (const { formula, value, inputs, symbol } of METHODOLOGY.explain(input).steps) {
        expect(PUBLISHED, symbol).toContain(`${symbol} = ${formula}`);
        const known = new Map(inputs.map((entry) => [entry.symbol, entry.value]));
        const again = evaluate(formula, known);
        const error = value === 0 ? Math.abs(again) : Math.abs(again / value - 1);
        expect(error, `${symbol} = ${formula}`).toBeLessThanOrEqual(1e-12);
      }
    });
  });

  it('leads from its records and constants to every result without a gap', () => {
    forAll([requests], (input) => {
      const { steps, inputs, constants, bounds, results } = METHODOLOGY.explain(input);
      const last = new Map(steps.map(({ symbol, value }) => [symbol, toSignificant(value)]));
      for (const { name, value, lower, upper } of results) {
        expect(last.get(name === 'energy' ? 'E' : name)).toBe(value);
        expect(last.get(`${name}_lower`)).toBe(lower);
        expect(last.get(`${name}_upper`)).toBe(upper);
      }
      // What a step reads is a step before it, a figure of a record, a constant, a bound, or one of four
      // that the replica record or an unknown layout of attention settles.
      const known = new Set([
        ...constants.map(({ symbol }) => symbol),
        ...inputs.flatMap(({ values }) => values.map(({ symbol }) => symbol)),
        ...bounds.map(({ share }) => `f_${share}`),
        'w',
        'n',
        'E_att',
        'E_kv',
      ]);
      for (const step of steps) {
        for (const { symbol } of step.inputs) expect(known, step.symbol).toContain(symbol);
        known.add(step.symbol);
      }
    });
  });

  it('shows every record whole, under the digest that the measurement pins', () => {
    forAll([requests], (input) => {
      for (const { record, digest } of METHODOLOGY.explain(input).inputs) {
        expect(digestOf(record)).toBe(digest);
      }
    });
  });

  it('names unit, year and source of each figure that it takes from the factor set', () => {
    const { inputs } = METHODOLOGY.explain(request({ site: { operator: 'aws' } }));
    const cited = inputs.filter(({ record }) => 'sources' in record);
    expect(cited.map(({ kind }) => kind).toSorted()).toEqual(['grid', 'hardware', 'model', 'site']);
    for (const { values } of cited) {
      expect(values.length).toBeGreaterThan(0);
      for (const { unit, year, sources } of values) {
        expect(unit).not.toBe('');
        expect(year).not.toBe('');
        expect(sources.length).toBeGreaterThan(0);
        for (const { citation, licence } of sources) {
          expect(citation).not.toBe('');
          expect(licence).not.toBe('');
        }
      }
    }
  });
});

describe('formulas', () => {
  it('read only symbols that something defines', () => {
    const { constants, inputs } = METHODOLOGY.explain(request());
    const ranges = ['P_a', 'P_t', 'PUE', 'WUE'].flatMap((s) => [`${s}_min`, `${s}_max`]);
    const bounds = ['energy', 'gwp', 'water', 'adpe', 'adpf', 'embodied'].map((s) => `f_${s}`);
    const defined = new Set([
      ...constants.map(({ symbol }) => symbol),
      ...inputs.flatMap(({ values }) => values.map(({ symbol }) => symbol)),
      ...PUBLISHED_FORMULAS.map(({ symbol }) => symbol),
      ...ranges,
      ...bounds,
      // Of a request whose calls were timed, or that was timed from its arrival, or whose counts have an interval.
      'T_up',
      'T_req',
      'I_lower',
      'I_upper',
      'N_lower',
      'N_upper',
      'w',
      'J',
      'E_att',
      'E_kv',
    ]);
    for (const { formula } of PUBLISHED_FORMULAS) {
      for (const symbol of symbolsOf(formula)) expect(defined, formula).toContain(symbol);
    }
  });
});

describe('warnings', () => {
  it('are absent where everything is stated, but for what the records themselves say', () => {
    const stated = { ref: 'llama-3.1-8b', precision: 'bf16', batch: 32, gpus: 1 } as const;
    expect(codes(withFootprint(stated))).toEqual([
      'embodied_adpf_from_primary_energy',
      'reference_pe_is_adpf',
    ]);
  });

  it.each([
    ['batch_assumed', withFootprint({ ref: 'llama-3.1-8b' })],
    ['precision_assumed', withFootprint({ ref: 'llama-3.1-8b' })],
    ['architecture_guessed', withFootprint({ ref: 'gpt-4o' })],
    ['active_equals_total', withFootprint({ ref: 'gemini-3-flash-preview' })],
    ['architecture_assumed_dense', withFootprint({ totalB: 8 })],
    ['model_class_default', withFootprint({ ref: 'class:large' })],
    ['model_record_unknown', withFootprint({ ref: 'not-on-record', activeB: 1, totalB: 1 })],
    ['size_outside_fit', withFootprint({ activeB: 0.5, totalB: 0.5 })],
    ['batch_outside_fit', withFootprint({ ref: 'llama-3.1-8b', batch: 1 })],
    ['site_unknown', request({ site: { operator: 'nobody' } })],
    ['site_unknown', request({ site: { operator: 'google' } })],
    ['water_world_default', request({ zone: 'ZAF' })],
    ['reference_row_unsourced', request({ zone: 'WOR' })],
    ['adpe_adpf_not_checked_against_ademe', request({ zone: 'SRB' })],
    [
      'context_energy_unknown',
      { ...withTokens(100, 9_000), model: { id: 'x', footprint: { totalB: 8 } } },
    ],
  ])('say %s', (code, input) => {
    expect(codes(input)).toContain(code);
  });

  it('say when the time was modelled, and nothing of it when it was measured', () => {
    const { upstreamS: _, ...unmeasured } = request();
    expect(codes(unmeasured)).toContain('time_modelled');
    expect(codes(request())).not.toContain('time_modelled');
  });

  it('do not speak of an assumed precision where the weights were released in one', () => {
    expect(codes(withFootprint({ ref: 'gpt-oss-20b' }))).not.toContain('precision_assumed');
  });
});
