import type { Catalogue, Model, Region } from '#shared/catalogue/catalogue.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { type Measurement, MethodologyFailure } from './measurement.ts';
import type { EstimateInput } from './methodology.ts';

/** A measurement, or why there is none. */
export type Estimate =
  | { measurement: Measurement }
  | { degradation: { stage: MethodologyFailure['stage']; code: string } };

/**
 * What a methodology is asked about a request, with its model and region as the catalogue has them.
 * @throws MethodologyFailure `model_unknown`, `region_unknown` when the catalogue has them no longer; `usage_unknown`
 *   when the tokens are not known
 */
export function estimateInput(catalogue: Catalogue, record: InferenceRecord): EstimateInput {
  const model = catalogue.models.find(({ id }) => id === record.model);
  const region = catalogue.regions.find(({ code }) => code === record.region);
  if (model === undefined)
    throw new MethodologyFailure('model', 'model_unknown', 'the catalogue has no such model');
  if (region === undefined)
    throw new MethodologyFailure('factors', 'region_unknown', 'the catalogue has no such region');
  const { usage, route, attempts } = record;
  if (usage.source === 'unknown')
    throw new MethodologyFailure(
      'input',
      'usage_unknown',
      'the tokens of the request are not known',
    );
  return { ...inputOf({ model, region, usage, route, attempts }), ...timeOf(record) };
}

/** What is the same for all requests of a model in a region, and what one of them has used. */
export function inputOf({
  model,
  region,
  ...used
}: Pick<EstimateInput, 'usage' | 'route' | 'attempts'> & {
  model: Model;
  region: Region;
}): EstimateInput {
  const { name, pue, wue } = region.operator;
  return {
    ...used,
    model: { id: model.id, footprint: model.footprint },
    zone: region.zone,
    site: {
      operator: name,
      ...(pue === undefined ? {} : { pue }),
      ...(wue === undefined ? {} : { wue }),
    },
  };
}

/**
 * The time of the upstream call; where it was not taken, that from arrival to end. A clock that was set back between two
 * readings must not cost the estimate.
 */
function timeOf(record: InferenceRecord): Pick<EstimateInput, 'upstreamS' | 'latencyS'> {
  const { upstreamMs, startedAt, endedAt } = record;
  if (upstreamMs !== undefined) return { upstreamS: Math.max(0, upstreamMs) / 1_000 };
  return { latencyS: Math.max(0, endedAt - startedAt) / 1_000 };
}

/** Runs an estimate. A methodology that fails degrades a receipt; it never loses it. */
export function attemptEstimate(estimate: () => Measurement): Estimate {
  try {
    return { measurement: estimate() };
  } catch (error) {
    if (error instanceof MethodologyFailure) {
      return { degradation: { stage: error.stage, code: error.code } };
    }
    // A bug in the methodology must not cost the caller its receipt either.
    return { degradation: { stage: 'computation', code: 'unexpected_error' } };
  }
}
