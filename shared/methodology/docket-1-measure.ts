import {
  type Measurement,
  MethodologyFailure,
  type Quantity,
  QUANTITY_MAX,
  QUANTITY_MIN,
  type QuantityName,
} from './measurement.ts';
import { toSignificant } from '#shared/kernel/decimal.ts';
import type { Deployment } from './deployment.ts';
import type { Recorder } from './derivation.ts';
import type { Bounds } from './docket-1-bounds.ts';
import { DOCKET_CONSTANTS as C, DOCKET_FORMULAS as F } from './docket-1-formulas.ts';
import { type RequestFigures, usageInput } from './request-figures.ts';

/** The arithmetic of one request in version 1.0. With a recorder it takes notes, and computes nothing differently. */
export function measure(
  deployment: Deployment,
  request: RequestFigures,
  recorder: Recorder | undefined,
): Omit<Measurement, 'methodology'> {
  const usage = usageInput(request, 'T', recorder);
  const gpuJ = gpuEnergy(deployment, request, recorder);
  const itKwh = (gpuJ / 3_600_000) * (1 + C.host.value) * (1 + C.idle.value);
  recorder?.step(F.it, itKwh);
  const kwh = deployment.pue * itKwh;
  recorder?.step(F.energy, kwh);
  const { grid } = deployment;
  const used = { gwp: kwh * grid.gwp, adpe: kwh * grid.adpe, adpf: kwh * grid.adpf };
  recorder?.step(F.usageGwp, used.gwp);
  recorder?.step(F.usageAdpe, used.adpe);
  recorder?.step(F.usageAdpf, used.adpf);
  const water = itKwh * deployment.waterPerKwh;
  recorder?.step(F.water, water);
  const made = embodied(deployment, seconds(deployment, request, recorder), recorder);
  const bounds = deployment.bounds[basisOf(request)];
  if (recorder !== undefined) for (const bound of Object.values(bounds)) recorder.bound(bound);
  return {
    inputs: [usage, ...deployment.inputs],
    results: results({ kwh, water, used, made }, bounds, recorder),
    dataQuality: request.measuredJoules === undefined ? deployment.quality : 'T1',
  };
}

function basisOf({ measuredJoules, outputTokens }: RequestFigures): keyof Deployment['bounds'] {
  if (measuredJoules !== undefined) return 'measured';
  return outputTokens > 0 ? 'decode' : 'prefill';
}

/** What the upstream measured, else what the model needs for prefill, decode and reading its cache. */
function gpuEnergy(
  { rates }: Deployment,
  request: RequestFigures,
  recorder: Recorder | undefined,
): number {
  const { inputTokens, cachedInputTokens, outputTokens, attempts, measuredJoules } = request;
  if (measuredJoules !== undefined) {
    const energy = attempts * measuredJoules;
    recorder?.step(F.gpuMeasured, energy);
    return energy;
  }
  if (rates === undefined) throw sizeUnknown();
  const decode = outputTokens * rates.decodePerToken;
  recorder?.step(F.decode, decode);
  const prefill = rates.prefillPerToken * (inputTokens - cachedInputTokens);
  recorder?.step(F.prefill, prefill);
  const cache = cacheEnergy(rates, request, recorder);
  const energy = attempts * (decode + prefill + cache);
  recorder?.step(F.gpuModelled, energy);
  return energy;
}

function cacheEnergy(
  rates: NonNullable<Deployment['rates']>,
  { inputTokens: input, outputTokens: output }: RequestFigures,
  recorder: Recorder | undefined,
): number {
  const long = output > 0 && input + output > C.context_min.value;
  if (long && rates.cacheKnown) {
    const energy = rates.cachePerPair * (output * input + (output * output) / 2);
    recorder?.step(F.cache, energy);
    return energy;
  }
  if (long) {
    recorder?.warn(
      'context_energy_unknown',
      'The context is long and the layout of the key/value cache is not known: reading it is not counted.',
    );
  }
  recorder?.given('E_kv', 0, 'J');
  return 0;
}

function seconds(
  { rates }: Deployment,
  { outputTokens, attempts, latencyS }: RequestFigures,
  recorder: Recorder | undefined,
): number {
  if (latencyS !== undefined) {
    recorder?.given('T', latencyS, 's');
    return latencyS;
  }
  if (rates === undefined) throw sizeUnknown();
  const modelled = attempts * outputTokens * rates.secondsPerToken;
  recorder?.step(F.seconds, modelled);
  recorder?.warn(
    'time_modelled',
    'The time on the hardware was not measured; it is modelled from the output tokens.',
  );
  return modelled;
}

export function sizeUnknown(): MethodologyFailure {
  return new MethodologyFailure(
    'model',
    'model_size_unknown',
    'the catalogue states no size of this model',
  );
}

export interface Impacts {
  readonly gwp: number;
  readonly adpe: number;
  readonly adpf: number;
}

/** The share of making the hardware that `time` seconds on it stand for. */
export function embodied(
  { made, lifetimeS, batch }: Deployment,
  time: number,
  recorder: Recorder | undefined,
): Impacts {
  const divisor = lifetimeS * batch;
  const result = {
    gwp: (time * made.gwp) / divisor,
    adpe: (time * made.adpe) / divisor,
    adpf: (time * made.adpf) / divisor,
  };
  recorder?.step(F.embodiedGwp, result.gwp);
  recorder?.step(F.embodiedAdpe, result.adpe);
  recorder?.step(F.embodiedAdpf, result.adpf);
  return result;
}

/** Bounds of a sum are the sums of the bounds: batch and size move both shares the same way. */
function results(
  { kwh, water, used, made }: { kwh: number; water: number; used: Impacts; made: Impacts },
  bounds: Bounds,
  recorder: Recorder | undefined,
): readonly Quantity[] {
  const whole = (name: 'energy' | 'water', unit: Quantity['unit'], value: number): Quantity => {
    const factor = bounds[name].combined;
    const lower = value / factor;
    const upper = value * factor;
    recorder?.step(F[`${name}Lower`], lower);
    recorder?.step(F[`${name}Upper`], upper);
    return quantity(name, unit, value, lower, upper);
  };
  const sum = (name: keyof Impacts, unit: Quantity['unit']): Quantity => {
    const factor = bounds[name].combined;
    const ofMade = bounds.embodied.combined;
    const value = used[name] + made[name];
    const lower = used[name] / factor + made[name] / ofMade;
    const upper = used[name] * factor + made[name] * ofMade;
    recorder?.step(F[name], value);
    recorder?.step(F[`${name}Lower`], lower);
    recorder?.step(F[`${name}Upper`], upper);
    return quantity(name, unit, value, lower, upper);
  };
  return [
    whole('energy', 'kWh', kwh),
    sum('gwp', 'kgCO2e'),
    whole('water', 'L', water),
    sum('adpe', 'kgSbe'),
    sum('adpf', 'MJ'),
  ];
}

/** A result as a receipt states it. Throws MethodologyFailure `result_out_of_range`. */
export function quantity(
  name: QuantityName,
  unit: Quantity['unit'],
  value: number,
  lower: number,
  upper: number,
): Quantity {
  if (!(lower === 0 || lower >= QUANTITY_MIN) || !(upper <= QUANTITY_MAX)) {
    throw new MethodologyFailure(
      'computation',
      'result_out_of_range',
      `${name} is no figure of one request`,
    );
  }
  return {
    name,
    unit,
    value: toSignificant(value),
    lower: toSignificant(lower),
    upper: toSignificant(upper),
  };
}
