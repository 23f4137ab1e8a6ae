import {
  type Measurement,
  MethodologyFailure,
  type Quantity,
  QUANTITY_MAX,
  QUANTITY_MIN,
} from './measurement.ts';
import { toSignificant } from '#shared/kernel/decimal.ts';
import type { Deployment } from './deployment.ts';
import type { Recorder } from './derivation.ts';
import type { Bounds, EnergyBasis } from './docket-1-bounds.ts';
import { DOCKET_CONSTANTS as C, DOCKET_FORMULAS as F } from './docket-1-formulas.ts';
import { END_FORMULAS, REACHING } from './docket-1-end-formulas.ts';
import type { Formula } from './formula.ts';
import { type RequestFigures, type StatedBeyond, usageInput } from './request-figures.ts';

type End = keyof typeof END_FORMULAS;
const ENDS = ['lower', 'upper'] as const;

/** A figure with what it is at each end of the interval, before the uncertainty of the method is added. */
interface Reach {
  readonly value: number;
  readonly lower: number;
  readonly upper: number;
}

/** Seconds on the hardware; with the larger of the recorded and the modelled time where both are known. */
interface Time extends Reach {
  readonly larger: number | undefined;
}

/** In kWh; with the part of it that runs the machines and not the building. */
interface Energy extends Reach {
  readonly itKwh: number;
}

/** Tokens that are prefilled, and those of input and output. */
interface Counts {
  readonly prefilled: number;
  /** Of the input, from the prefix cache. */
  readonly cached: number;
  readonly input: number;
  readonly output: number;
}

type Rates = NonNullable<Deployment['rates']>;

/** The arithmetic of one request. With a recorder it takes notes, and computes nothing differently. */
export function measure(
  deployment: Deployment,
  request: RequestFigures,
  recorder: Recorder | undefined,
): Omit<Measurement, 'methodology'> {
  // What the usage record says of stated energy is known before any note is taken of that record.
  const beyond = statedBeyond(deployment, request, undefined);
  const usage = usageInput(request, beyond, recorder);
  const time = seconds(deployment, request, recorder);
  if (recorder !== undefined) statedBeyond(deployment, request, recorder);
  if (request.tokenInterval !== undefined) {
    recorder?.warn(
      'tokens_within_interval',
      'The tokens were counted with another vocabulary than the model’s own; each bound is taken at that end of their interval.',
    );
  }
  const { meteredJoules, statedJoules } = request;
  const believed = beyond === undefined ? statedJoules : undefined;
  const joules = meteredJoules ?? believed;
  const kwh = energy(deployment, request, joules, recorder);
  const bounds = deployment.bounds[joules === undefined ? modelledBasis(request) : 'measured'];
  if (recorder !== undefined) for (const bound of Object.values(bounds)) recorder.bound(bound);
  return {
    inputs: [usage, ...deployment.inputs],
    results: results(deployment, request, { kwh, time, bounds }, recorder),
    dataQuality:
      meteredJoules !== undefined ? 'T1' : believed !== undefined ? 'TS' : deployment.quality,
  };
}

/** The bound of physics that stated energy broke; undefined where it keeps all of them, or none is stated. */
function statedBeyond(
  deployment: Deployment,
  request: RequestFigures,
  recorder: Recorder | undefined,
): StatedBeyond | undefined {
  const { attempts, statedJoules } = request;
  if (statedJoules === undefined) return undefined;
  const { batch, gpus, gpuPowerW, rates } = deployment;
  const time = seconds(deployment, request, undefined);
  const joules = attempts * statedJoules;
  let least;
  if (rates !== undefined) {
    least = attempts * C.j_token.value * rates.active * tokensToPay(request);
    recorder?.step(tokensFormula(request), least);
  }
  const idle = (C.j_idle.value * gpuPowerW * gpus * time.value) / (C.j_shared.value * batch);
  recorder?.step(F.statedIdle, idle);
  const full = C.j_full.value * gpuPowerW * gpus * (time.larger ?? time.value);
  recorder?.step(time.larger === undefined ? F.statedFullOnly : F.statedFull, full);
  const beyond =
    least !== undefined && !(joules > 0 && joules >= least)
      ? 'token_energy'
      : !(joules > 0 && joules >= idle)
        ? 'idle_power'
        : joules > full
          ? 'full_power'
          : undefined;
  if (beyond !== undefined) {
    recorder?.warn(
      'stated_energy_not_used',
      `The upstream states energy that cannot be (${beyond}); the estimate is made without it.`,
    );
  }
  return beyond;
}

/** Output tokens, of embeddings those that are prefilled; what a prefix cache held unsaid may have cost nothing. */
function tokensToPay(request: RequestFigures): number {
  const { prefilled, output } = countsAt(request, 'lower') ?? countsOf(request);
  return request.route === 'embeddings' ? prefilled : output;
}

function tokensFormula({ route, tokenInterval }: RequestFigures): Formula {
  if (route === 'embeddings')
    return tokenInterval === undefined ? F.statedInput : F.statedInputLower;
  return tokenInterval === undefined ? F.statedTokens : F.statedTokensLower;
}

function modelledBasis({ outputTokens, tokenInterval }: RequestFigures): EnergyBasis {
  return outputTokens > 0 || (tokenInterval?.outputUpper ?? 0) > 0 ? 'decode' : 'prefill';
}

function energy(
  deployment: Deployment,
  request: RequestFigures,
  given: number | undefined,
  recorder: Recorder | undefined,
): Energy {
  const { rates, pue } = deployment;
  const { attempts } = request;
  const counts = countsOf(request);
  const ofGpus = (joules: number): number =>
    (joules / 3_600_000) * (1 + C.host.value) * (1 + C.idle.value);
  let joules;
  if (given !== undefined) {
    joules = attempts * given;
    recorder?.step(F.gpuMeasured, joules);
  } else {
    if (rates === undefined) throw sizeUnknown();
    joules = attempts * gpuEnergy(rates, counts, recorder);
    recorder?.step(F.gpuModelled, joules);
  }
  const itKwh = ofGpus(joules);
  recorder?.step(F.it, itKwh);
  const value = pue * itKwh;
  recorder?.step(F.energy, value);
  const at = (end: End): number => {
    const bounding = countsAt(request, end);
    if (bounding === undefined) return value;
    const formulas = END_FORMULAS[end];
    if (rates === undefined || given !== undefined) {
      recorder?.step(formulas.energyMeasured, value);
      return value;
    }
    const cache = cacheEnergy(rates, bounding);
    recorder?.step(rates.attentionKnown ? formulas.cache : formulas.cacheUnknown, cache);
    const gpu =
      attempts *
      (bounding.output * rates.decodePerToken +
        rates.prefillPerToken * bounding.prefilled +
        attentionEnergy(rates, bounding) +
        cache);
    recorder?.step(formulas.gpu, gpu);
    const kwh = pue * ofGpus(gpu);
    recorder?.step(formulas.energy, kwh);
    return kwh;
  };
  return { itKwh, value, lower: at('lower'), upper: at('upper') };
}

function countsOf({ inputTokens, cachedInputTokens, outputTokens }: RequestFigures): Counts {
  return {
    prefilled: inputTokens - cachedInputTokens,
    cached: cachedInputTokens,
    input: inputTokens,
    output: outputTokens,
  };
}

/** The counts at an end of their interval; undefined where they have none. */
function countsAt(
  { tokenInterval, cachedInputTokens: cached }: RequestFigures,
  end: End,
): Counts | undefined {
  if (tokenInterval === undefined) return undefined;
  const { inputLower, inputUpper, outputLower, outputUpper } = tokenInterval;
  const [input, output] = end === 'lower' ? [inputLower, outputLower] : [inputUpper, outputUpper];
  return {
    prefilled: input - Math.min(cached, input),
    cached: Math.min(cached, input),
    input,
    output,
  };
}

/** J of one attempt: prefill with its attention, decode, and reading the cache. */
function gpuEnergy(rates: Rates, counts: Counts, recorder: Recorder | undefined): number {
  const decode = counts.output * rates.decodePerToken;
  recorder?.step(F.decode, decode);
  const prefill = rates.prefillPerToken * counts.prefilled;
  recorder?.step(F.prefill, prefill);
  const cache = cacheEnergy(rates, counts);
  if (recorder !== undefined) noteCache(rates, counts, cache, recorder);
  return decode + prefill + attentionEnergy(rates, counts) + cache;
}

/** Tokens of context that the fits of decode and prefill do not hold. */
function beyondFit(context: number): number {
  return context - Math.min(context, C.context_min.value);
}

/** Each prefilled token is held against those before it; what the prefill fit holds of that is not counted again. */
function attentionEnergy({ attentionPerPair }: Rates, { input, cached }: Counts): number {
  const start = beyondFit(input);
  const before = beyondFit(cached);
  return (attentionPerPair * (start - before) * (start + before)) / 4_000_000_000;
}

function noteAttention(rates: Rates, counts: Counts, recorder: Recorder): void {
  if (!rates.attentionKnown) return recorder.given('E_att', 0, 'J');
  recorder.step(F.contextCached, beyondFit(counts.cached));
  recorder.step(F.contextStart, beyondFit(counts.input));
  recorder.step(F.attention, attentionEnergy(rates, counts));
}

/** Each output token reads what lies before it; what the decode fit holds of that is not counted again. */
function cacheEnergy({ cachePerPair }: Rates, { input, output }: Counts): number {
  const start = beyondFit(input);
  const end = beyondFit(input + output);
  return (cachePerPair * (end - start) * (end + start)) / 2;
}

function noteCache(
  rates: Rates,
  { input, output }: Counts,
  cache: number,
  recorder: Recorder,
): void {
  if (rates.attentionKnown) {
    recorder.step(F.contextEnd, beyondFit(input + output));
    recorder.step(F.cache, cache);
    return;
  }
  recorder.given('E_kv', 0, 'J');
  if (beyondFit(input + output) > 0) {
    recorder.warn(
      'context_energy_unknown',
      'The context is long and the layout of attention is not known: its operations and reading the key/value cache are not counted.',
    );
  }
}

function sizeUnknown(): MethodologyFailure {
  return new MethodologyFailure(
    'model',
    'model_size_unknown',
    'the catalogue states no size of this model',
  );
}

/** The smaller of the recorded and the modelled time, reaching to the larger. Waiting is no use of hardware. */
function seconds(
  deployment: Deployment,
  request: RequestFigures,
  recorder: Recorder | undefined,
): Time {
  const recorded = recordedTime(request, recorder);
  const { rates } = deployment;
  const ranged = request.tokenInterval !== undefined;
  if (rates === undefined) {
    if (recorded === undefined) throw sizeUnknown();
    recorder?.step(F.onlyRecorded, recorded);
    if (ranged) for (const end of ENDS) recorder?.step(END_FORMULAS[end].timeRecorded, recorded);
    return { value: recorded, lower: recorded, upper: recorded, larger: undefined };
  }
  if (recorder !== undefined) noteAttention(rates, countsOf(request), recorder);
  const time = (counts: Counts): number => modelledTime(deployment, rates, request, counts);
  const modelled = time(countsOf(request));
  recorder?.step(F.modelled, modelled);
  const value = recorded === undefined ? modelled : Math.min(recorded, modelled);
  recorder?.step(recorded === undefined ? F.onlyModelled : F.smaller, value);
  const at = (end: End): number => {
    const counts = countsAt(request, end);
    const bounding = counts === undefined ? modelled : time(counts);
    const result = recorded === undefined ? bounding : reach(recorded, bounding, end);
    const formulas = END_FORMULAS[end];
    if (counts !== undefined) {
      const { attention, attentionUnknown } = formulas;
      const formula = rates.attentionKnown ? attention : attentionUnknown;
      recorder?.step(formula, attentionEnergy(rates, counts));
      recorder?.step(formulas.modelled, bounding);
      recorder?.step(recorded === undefined ? formulas.timeModelled : formulas.time, result);
    } else if (recorded !== undefined && end === 'upper') recorder?.step(REACHING.time, result);
    return result;
  };
  const larger = recorded === undefined ? undefined : recorded + modelled - value;
  return { value, lower: at('lower'), upper: at('upper'), larger };
}

/** The smaller of two times, or the larger: their sum without the smaller, as the formula has it. */
function reach(recorded: number, modelled: number, end: End): number {
  const smaller = Math.min(recorded, modelled);
  return end === 'lower' ? smaller : recorded + modelled - smaller;
}

function modelledTime(
  { batch, gpus, gpuPowerW }: Deployment,
  rates: Rates,
  { attempts }: RequestFigures,
  counts: Counts,
): number {
  const joules = rates.prefillPerToken * counts.prefilled + attentionEnergy(rates, counts);
  const prefill = (batch * joules) / (gpus * gpuPowerW);
  return attempts * (counts.output * rates.secondsPerToken + prefill);
}

/** What was recorded of the time; `latencyS` holds the waiting too, and all attempts. */
function recordedTime(
  { upstreamS, latencyS, attempts }: RequestFigures,
  recorder: Recorder | undefined,
): number | undefined {
  if (upstreamS !== undefined) {
    const time = attempts * upstreamS;
    recorder?.step(F.recorded, time);
    return time;
  }
  if (latencyS !== undefined) {
    recorder?.warn(
      'time_with_waiting',
      'The time of the upstream call is not known. The time from the arrival of the request to its end stands in for it; it holds waiting too.',
    );
    return latencyS;
  }
  recorder?.warn(
    'time_modelled',
    'The time on the hardware was not measured; it is modelled from the tokens.',
  );
  return undefined;
}

/** The share of making the hardware that `time` seconds on it stand for. */
function embodied(
  { made, lifetimeS, batch }: Deployment,
  time: number,
  recorder: Recorder | undefined,
): Deployment['made'] {
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

type ResultName = Quantity['name'];

/** Bounds of a sum are the sums of the bounds: batch and size move both shares the same way. */
function results(
  deployment: Deployment,
  request: RequestFigures,
  { kwh, time, bounds }: { kwh: Energy; time: Time; bounds: Bounds },
  recorder: Recorder | undefined,
): readonly Quantity[] {
  const { grid, made, pue, waterPerKwh, lifetimeS, batch } = deployment;
  const ranged = request.tokenInterval !== undefined;
  const widened = (name: keyof Bounds, value: number, end: End): number =>
    end === 'lower' ? value / bounds[name].combined : value * bounds[name].combined;
  const finished = (
    name: ResultName,
    unit: Quantity['unit'],
    value: number,
    at: (end: End) => number,
  ): Quantity => {
    const [lower = 0, upper = 0] = ENDS.map((end) => {
      const bound = at(end);
      recorder?.step(boundFormula(name, end, ranged, reaches(deployment, request)), bound);
      return bound;
    });
    return quantity(name, unit, value, lower, upper);
  };
  const used = {
    gwp: kwh.value * grid.gwp,
    adpe: kwh.value * grid.adpe,
    adpf: kwh.value * grid.adpf,
  };
  recorder?.step(F.usageGwp, used.gwp);
  recorder?.step(F.usageAdpe, used.adpe);
  recorder?.step(F.usageAdpf, used.adpf);
  const water = kwh.itKwh * waterPerKwh;
  recorder?.step(F.water, water);
  const share = embodied(deployment, time.value, recorder);
  const sum = (name: 'gwp' | 'adpe' | 'adpf', unit: Quantity['unit']): Quantity => {
    const value = used[name] + share[name];
    recorder?.step(F[name], value);
    return finished(
      name,
      unit,
      value,
      (end) =>
        widened(name, kwh[end] * grid[name], end) +
        widened('embodied', (time[end] * made[name]) / (lifetimeS * batch), end),
    );
  };
  const waterAt = (end: End): number => (ranged ? (kwh[end] / pue) * waterPerKwh : water);
  return [
    finished('energy', 'kWh', kwh.value, (end) => widened('energy', kwh[end], end)),
    sum('gwp', 'kgCO2e'),
    finished('water', 'L', water, (end) => widened('water', waterAt(end), end)),
    sum('adpe', 'kgSbe'),
    sum('adpf', 'MJ'),
  ];
}

/** Whether two times are known, the larger of which bounds the embodied share. */
function reaches({ rates }: Deployment, { upstreamS, latencyS }: RequestFigures): boolean {
  return rates !== undefined && (upstreamS ?? latencyS) !== undefined;
}

function boundFormula(name: ResultName, end: End, ranged: boolean, reaching: boolean): Formula {
  if (ranged) return END_FORMULAS[end].results[name];
  if (end === 'lower') return F[`${name}Lower`];
  return reaching && name !== 'energy' && name !== 'water' ? REACHING[name] : F[`${name}Upper`];
}

/** A result as a receipt states it. Throws MethodologyFailure `result_out_of_range`. */
function quantity(
  name: Quantity['name'],
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
