import { describe, expect, it } from 'vitest';
import { DEFAULT_CATALOGUE, loadCatalogue } from '#shared/catalogue/files/load.ts';
import { referencesIn } from '#shared/methodology/known-references.ts';
import { MethodologyFailure } from '#shared/methodology/measurement.ts';
import { attemptEstimate, estimateInput } from '#shared/methodology/estimate-input.ts';
import { record as timed } from '#test/unit/receipts/samples.ts';
import { FACTOR_SET, METHODOLOGY } from './fixtures.ts';

const { catalogue } = loadCatalogue(DEFAULT_CATALOGUE, {
  variable: () => 'http://127.0.0.1:9/v1',
  timeoutMs: 120_000,
});

/** As a release recorded it that did not take the time of the upstream call. */
const { upstreamMs: _, ...sample } = timed;

describe('what a methodology is asked about a request', () => {
  it('is its usage, with the model and the region as the catalogue has them', () => {
    expect(estimateInput(catalogue, sample)).toEqual({
      usage: sample.usage,
      route: 'chat.completions',
      model: { id: 'llama-3.1-8b', footprint: { ref: 'llama-3.1-8b' } },
      zone: 'FRA',
      site: { operator: 'sandbox', pue: 1.12, wue: 0.18 },
      attempts: 1,
      latencyS: 1.888,
    });
  });

  it('has a latency of zero, not below, when the clock was set back meanwhile', () => {
    const record = { ...sample, endedAt: sample.startedAt - 5_000 };
    const input = estimateInput(catalogue, record);
    expect(input.latencyS).toBe(0);
    expect(METHODOLOGY.estimate(input).dataQuality).toBe('T3');
  });

  it.each([
    [{ model: 'gone' }, 'model', 'model_unknown'],
    [{ region: 'gone' }, 'factors', 'region_unknown'],
  ])('fails for %j, which the catalogue has no longer', (more, stage, code) => {
    const estimate = attemptEstimate(() =>
      METHODOLOGY.estimate(estimateInput(catalogue, { ...sample, ...more })),
    );
    expect(estimate).toEqual({ degradation: { stage, code } });
  });
});

describe('an estimate that fails says how', () => {
  it('by its own stage and code, or as a fault of the computation', () => {
    const failing = (error: Error) =>
      attemptEstimate(() => {
        throw error;
      });
    expect(failing(new MethodologyFailure('timeout', 'late', 'x'))).toEqual({
      degradation: { stage: 'timeout', code: 'late' },
    });
    expect(failing(new TypeError('x'))).toEqual({
      degradation: { stage: 'computation', code: 'unexpected_error' },
    });
  });
});

it('a catalogue may refer to the classes of models as well as to models', () => {
  const { models } = referencesIn(FACTOR_SET);
  for (const { id } of FACTOR_SET.model_classes) expect(models).toContain(id);
  expect(models).toContain('llama-3.1-8b');
  expect(models).not.toContain('class:none');
});
