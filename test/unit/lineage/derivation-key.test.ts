import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { derivationKey, LONG_CONTEXT_TOKENS } from '#shared/lineage/derivation-key.ts';
import type { Derivation } from '#shared/methodology/derivation.ts';
import { DOCKET_CONSTANTS } from '#shared/methodology/docket-1-formulas.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import { derivationOf, parseDerivation, wholeMeasurement } from '#shared/receipts/derivation.ts';
import { measurementDocument } from '#shared/receipts/measurement-document.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { MethodologyFailure } from '#shared/methodology/measurement.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { METHODOLOGY, request, requests, withTokens } from '#test/unit/methodology/fixtures.ts';

const issuer = receiptIssuer('https://gateway.example');
const keyOf = (input: EstimateInput): string => {
  const measurement = METHODOLOGY.estimate(input);
  const { digest, text } = derivationOf(issuer, measurement);
  const stated = measurementDocument(issuer, '01JD0A8N5K3M7Q2T9VXB4C6DEF', measurement, 'urn:x:y');
  return derivationKey(wholeMeasurement(stated, () => parseDerivation(text, digest)));
};

/** Everything about a derivation that is not a figure of its request, or came from one. */
function formOf({ methodology, inputs, constants, steps, bounds, warnings }: Derivation): object {
  const ofRequest = ({ kind, carried }: Derivation['inputs'][number]): boolean =>
    carried && (kind === 'usage' || kind === 'grid');
  return {
    methodology,
    constants,
    warnings,
    bounds,
    records: inputs.filter((view) => !ofRequest(view)),
    figures: inputs.map(({ values }) => values.map(({ symbol, unit }) => `${symbol} ${unit}`)),
    steps: steps.map(({ symbol, formula, inputs: reads }) => [
      symbol,
      formula,
      reads.map((read) => read.symbol),
    ]),
  };
}

describe('a derivation key', () => {
  it('is one for hours of whichever import, which each receipt names, and another for another signal', () => {
    const signal = { provider: 'P', signal: 'life cycle', version: 'an import' };
    const hour = { ...signal, hour: '2026-11-20T09:00:00Z', gwpKgco2ePerKwh: 0.042 };
    const of = (gridSignal: typeof hour): string => keyOf({ ...request(), gridSignal });
    expect(of({ ...hour, version: 'another', gwpKgco2ePerKwh: 0.4 })).toBe(of(hour));
    expect(of({ ...hour, signal: 'direct' })).not.toBe(of(hour));
    expect(of({ ...hour, provider: 'Q' })).not.toBe(of(hour));
  });

  it('is one for requests that differ in tokens, attempts and time alone: they take the same records through the same formulas [evidence.sources]', () => {
    const figures = fc.record({
      inputTokens: fc.nat(6_000),
      outputTokens: fc.nat(3_000),
      attempts: fc.integer({ min: 1, max: 4 }),
      hour: fc.integer({ min: 10, max: 23 }),
    });
    forAll([requests, figures, figures], { numRuns: runs(300) }, (input, one, other) => {
      const [a, b] = [one, other].map((each) => changed(input, each)) as [
        EstimateInput,
        EstimateInput,
      ];
      try {
        if (keyOf(a) !== keyOf(b)) return;
      } catch (error) {
        if (error instanceof MethodologyFailure) return;
        throw error;
      }
      expect(formOf(METHODOLOGY.explain(a))).toEqual(formOf(METHODOLOGY.explain(b)));
    });
  });

  it('does not change with the figures of a request, nor with the hour', () => {
    const key = keyOf(withTokens(300, 200));
    expect(keyOf(withTokens(1, 2_000))).toBe(key);
    expect(keyOf(request({ upstreamS: 60, attempts: 3 }))).toBe(key);
    const hourly = (hour: string, gwpKgco2ePerKwh: number): string =>
      keyOf(
        request({
          gridSignal: { hour, signal: 's', provider: 'p', version: '1', gwpKgco2ePerKwh },
        }),
      );
    expect(hourly('2026-11-01T14:00:00Z', 0.04)).toBe(hourly('2026-11-01T13:00:00Z', 0.031));
    expect(hourly('2026-11-01T14:00:00Z', 0.04)).not.toBe(key);
  });

  it.each<[string, EstimateInput]>([
    ['model', request({ model: { id: 'llama', footprint: { ref: 'llama-3.1-70b' } } })],
    [
      'way of serving',
      request({ model: { id: 'llama', footprint: { ref: 'llama-3.1-8b', batch: 8 } } }),
    ],
    ['zone', request({ zone: 'DEU' })],
    ['site', request({ site: { operator: 'example', pue: 1.2, wue: 0.18 } })],
    ['measured energy', request({ usage: { ...request().usage, statedJoules: 80 } })],
    ['way of timing', { ...request(), latencyS: 3 }],
    [
      'interval of token counts',
      request({
        usage: {
          ...request().usage,
          tokenInterval: { inputLower: 200, inputUpper: 200, outputLower: 300, outputUpper: 300 },
        },
      }),
    ],
    ['long context', withTokens(300, LONG_CONTEXT_TOKENS)],
    ['no output', withTokens(0)],
  ])('is another for another %s', (_name, input) => {
    expect(keyOf(input)).not.toBe(keyOf(request()));
  });

  it('takes a context to be long where the methodology does', () => {
    expect(LONG_CONTEXT_TOKENS).toBe(DOCKET_CONSTANTS.context_min.value);
  });
});

function changed(
  input: EstimateInput,
  figures: { inputTokens: number; outputTokens: number; attempts: number; hour: number },
): EstimateInput {
  const { inputTokens, outputTokens, attempts, hour } = figures;
  const { gridSignal, latencyS, upstreamS } = input;
  const { tokenInterval } = input.usage;
  return {
    ...input,
    attempts,
    usage: {
      ...input.usage,
      inputTokens,
      cachedInputTokens: 0,
      outputTokens,
      ...(tokenInterval && {
        tokenInterval: {
          inputLower: 0,
          inputUpper: inputTokens + 9,
          outputLower: 0,
          outputUpper: outputTokens + tokenInterval.outputUpper,
        },
      }),
    },
    ...(latencyS === undefined ? {} : { latencyS: latencyS + outputTokens }),
    ...(upstreamS === undefined ? {} : { upstreamS: upstreamS + outputTokens }),
    ...(gridSignal === undefined
      ? {}
      : { gridSignal: { ...gridSignal, hour: `2026-11-01T${hour}:00:00Z` } }),
  };
}
