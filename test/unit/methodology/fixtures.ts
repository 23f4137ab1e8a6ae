import fc from 'fast-check';
import type { Footprint } from '#shared/catalogue/catalogue.ts';
import type { TokenInterval } from '#shared/kernel/inference.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import { MethodologyFailure, type QuantityName } from '#shared/methodology/measurement.ts';
import { PRECISIONS } from '#shared/methodology/factor-set.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

export const METHODOLOGIES = shippedMethodologies();
export const FACTOR_SET = newestFactorSet();
export const METHODOLOGY = METHODOLOGIES.current;

/** A request that can be estimated in full; changed by what a test is about. */
export function request(changes: Partial<EstimateInput> = {}): EstimateInput {
  return {
    usage: { inputTokens: 200, cachedInputTokens: 0, outputTokens: 300, source: 'upstream' },
    route: 'chat.completions',
    model: { id: 'llama', footprint: { ref: 'llama-3.1-8b' } },
    zone: 'FRA',
    site: { operator: 'example', pue: 1.12, wue: 0.18 },
    attempts: 1,
    upstreamS: 3.2,
    ...changes,
  };
}

export function withTokens(outputTokens: number, inputTokens = 200, cached = 0): EstimateInput {
  return request({
    usage: { inputTokens, cachedInputTokens: cached, outputTokens, source: 'upstream' },
  });
}

export function withFootprint(footprint: Footprint): EstimateInput {
  return request({ model: { id: 'some-model', footprint } });
}

/** The estimated value of one quantity. */
export function valueOf(input: EstimateInput, name: QuantityName = 'energy'): number {
  return METHODOLOGY.estimate(input).results.find((quantity) => quantity.name === name)!.value;
}

/** How far the upper bound of a quantity lies from its value. */
export function factorOf(input: EstimateInput, name: QuantityName = 'energy'): number {
  const { value, upper } = METHODOLOGY.estimate(input).results.find((q) => q.name === name)!;
  return upper / value;
}

/** The failure that an input leads to. */
export const failureOf = (input: EstimateInput): MethodologyFailure =>
  thrownBy(MethodologyFailure, () => METHODOLOGY.estimate(input))!;

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const sizes = fc
  .tuple(number(0.05, 2000), number(0.001, 1))
  .map(([totalB, share]) => ({ totalB, activeB: totalB * share }));
const size = fc.oneof(
  fc.constantFrom(
    ...FACTOR_SET.models.map(({ id }) => ({ ref: id })),
    ...FACTOR_SET.model_classes.map(({ id }) => ({ ref: id })),
  ),
  sizes,
  number(0.05, 500).map((totalB) => ({ totalB })),
);

const served = fc.record(
  {
    precision: fc.constantFrom(...PRECISIONS),
    batch: number(1, 2000),
    gpus: fc.integer({ min: 1, max: 64 }),
  },
  { requiredKeys: [] },
);

function around(
  { inputTokens: input, outputTokens: output }: { inputTokens: number; outputTokens: number },
  below: number,
  above: number,
): TokenInterval {
  return {
    inputLower: Math.floor(input * below),
    inputUpper: Math.ceil(input * above) + 1,
    outputLower: Math.floor(output * below),
    outputUpper: Math.ceil(output * above) + 1,
  };
}

const usage = fc
  .record(
    {
      inputTokens: fc.integer({ min: 0, max: 200_000 }),
      cachedShare: number(0, 1),
      outputTokens: fc.integer({ min: 0, max: 100_000 }),
      source: fc.constantFrom('upstream' as const, 'counted' as const),
      statedJoules: number(0, 1e6).filter((joules) => joules === 0 || joules > 1e-9),
    },
    { requiredKeys: ['inputTokens', 'cachedShare', 'outputTokens', 'source'] },
  )
  .map(({ cachedShare, ...counts }) => ({
    ...counts,
    cachedInputTokens: Math.floor(counts.inputTokens * cachedShare),
  }))
  .chain((counts) =>
    fc
      .option(fc.constant(counts), { freq: 3 })
      .chain((plain) =>
        plain === null
          ? fc
              .tuple(number(0, 1), number(1, 2))
              .map(([below, above]) => ({ ...counts, tokenInterval: around(counts, below, above) }))
          : fc.constant(plain),
      ),
  );

const signal = fc.record({
  hour: fc.integer({ min: 10, max: 23 }).map((hour) => `2026-11-01T${hour}:00:00Z`),
  signal: fc.constant('location-based life cycle'),
  provider: fc.constant('example'),
  version: fc.constant('3'),
  gwpKgco2ePerKwh: number(0.001, 1.5),
});

/** Any request that has an estimate. */
export const requests: fc.Arbitrary<EstimateInput> = fc.record(
  {
    usage,
    route: fc.constantFrom(
      'chat.completions' as const,
      'completions' as const,
      'embeddings' as const,
    ),
    model: fc.tuple(size, served).map(([known, stated]) => ({
      id: 'some-model',
      footprint: { ...known, ...stated },
    })),
    zone: fc.constantFrom(...FACTOR_SET.grid.map(({ id }) => id)),
    site: fc.record(
      {
        operator: fc.constantFrom('example', ...FACTOR_SET.sites.map(({ id }) => id)),
        pue: number(1, 2),
        wue: number(0, 3),
      },
      { requiredKeys: ['operator'] },
    ),
    attempts: fc.integer({ min: 1, max: 5 }),
    upstreamS: fc.integer({ min: 0, max: 600_000 }).map((ms) => ms / 1000),
    latencyS: fc.integer({ min: 0, max: 600_000 }).map((ms) => ms / 1000),
    gridSignal: signal,
  },
  { requiredKeys: ['usage', 'route', 'model', 'zone', 'site', 'attempts'] },
);
