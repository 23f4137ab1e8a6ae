import { MethodologyFailure } from './measurement.ts';
import { exp, powerOfTwoFrom } from './arithmetic.ts';
import { ECOLOGITS_CONSTANTS } from './ecologits-formulas.ts';
import { type EcologitsInputs, parseEcologitsInputs } from './ecologits-inputs.ts';
import { ends, type ValueOrRange } from './factor-set.ts';

/** Results under the reference's names: totals first, then the usage and the embodied share of each. */
export interface EcologitsResults {
  readonly energy_kwh: ValueOrRange;
  readonly gwp_kgco2eq: ValueOrRange;
  readonly adpe_kgsbeq: ValueOrRange;
  readonly pe_mj: ValueOrRange;
  readonly wcf_l: ValueOrRange;
  readonly usage_gwp: ValueOrRange;
  readonly usage_adpe: ValueOrRange;
  readonly usage_pe: ValueOrRange;
  readonly embodied_gwp: ValueOrRange;
  readonly embodied_adpe: ValueOrRange;
  readonly embodied_pe: ValueOrRange;
}

type Scalars = { readonly [Name in keyof EcologitsResults]: number };

/** Which inputs were ranges decides which results are. */
type Spread = 'parameters' | 'pue' | 'wue';

/** What a range of each input makes a range of. Parameters reach everything, water on site only the water. */
const REACH: Readonly<Record<keyof EcologitsResults, readonly Spread[]>> = {
  energy_kwh: ['parameters', 'pue'],
  gwp_kgco2eq: ['parameters', 'pue'],
  adpe_kgsbeq: ['parameters', 'pue'],
  pe_mj: ['parameters', 'pue'],
  wcf_l: ['parameters', 'pue', 'wue'],
  usage_gwp: ['parameters', 'pue'],
  usage_adpe: ['parameters', 'pue'],
  usage_pe: ['parameters', 'pue'],
  embodied_gwp: ['parameters'],
  embodied_adpe: ['parameters'],
  embodied_pe: ['parameters'],
};

/**
 * The profile `ecologits-0.11.2`: the impacts of one request as EcoLogits 0.11.2 gives them.
 * `input` has the field names of the reference's published vectors and of its optional parameters. A range of a parameter count evaluates
 * (min, min) and (max, max), a range of PUE or WUE multiplies bound by bound; neither is a confidence interval.
 * Throws MethodologyFailure: stage `input` for a bad field, `computation` for a result that is not finite.
 */
export function estimateEcologits(input: unknown): EcologitsResults {
  const inputs = parseEcologitsInputs(input);
  const spread = spreadOf(inputs);
  const low = atBound(inputs, 'min');
  if (spread.length === 0) return low;
  const high = atBound(inputs, 'max');
  const names = Object.keys(REACH) as (keyof EcologitsResults)[];
  return Object.fromEntries(
    names.map((name) => {
      const ranged = REACH[name].some((cause) => spread.includes(cause));
      return [name, ranged ? { min: low[name], max: high[name] } : low[name]];
    }),
  ) as unknown as EcologitsResults;
}

function spreadOf(inputs: EcologitsInputs): readonly Spread[] {
  const spread: Spread[] = [];
  if (typeof inputs.active !== 'number' || typeof inputs.total !== 'number') {
    spread.push('parameters');
  }
  if (typeof inputs.pue !== 'number') spread.push('pue');
  if (typeof inputs.wue !== 'number') spread.push('wue');
  return spread;
}

/** One pass of the reference's graph, in its order of operations. */
function atBound(inputs: EcologitsInputs, bound: 'min' | 'max'): Scalars {
  const active = ends(inputs.active)[bound];
  const pue = ends(inputs.pue)[bound];
  const wue = ends(inputs.wue)[bound];
  const tokens = inputs.outputTokens;
  const { B, Q, alpha, beta, gamma, a, b, c, memory, slots, power, lifetime, ...made } =
    inputs.constants;

  const gpuKwh = tokens * ((alpha * exp(beta * B) * active + gamma) / 1000);
  const secondsPerToken = inputs.tps === null ? a * active + b * B + c : 1 / inputs.tps;
  const modelledS = tokens * secondsPerToken + inputs.ttft;
  const seconds = inputs.requestLatencyS < modelledS ? inputs.requestLatencyS : modelledS;
  const weightsGb = (ECOLOGITS_CONSTANTS.overhead.value * ends(inputs.total)[bound] * Q) / 8;
  const gpus = powerOfTwoFrom(Math.ceil(weightsGb / memory));
  const servers = gpus / slots;
  const serverKwh = (seconds / 3600) * power * servers * (1 / B);
  const itKwh = serverKwh + gpus * gpuKwh;
  const kwh = pue * itKwh;

  const usage = { gwp: kwh * inputs.mix.gwp, adpe: kwh * inputs.mix.adpe, pe: kwh * inputs.mix.pe };
  const share = (server: number, gpu: number): number =>
    (seconds * (servers * server + gpus * gpu)) / (lifetime * B);
  const embodied = {
    gwp: share(made.server_gwp, made.gpu_gwp),
    adpe: share(made.server_adpe, made.gpu_adpe),
    pe: share(made.server_pe, made.gpu_pe),
  };
  return finite({
    energy_kwh: kwh,
    gwp_kgco2eq: usage.gwp + embodied.gwp,
    adpe_kgsbeq: usage.adpe + embodied.adpe,
    pe_mj: usage.pe + embodied.pe,
    wcf_l: itKwh * (wue + pue * inputs.mix.wue),
    usage_gwp: usage.gwp,
    usage_adpe: usage.adpe,
    usage_pe: usage.pe,
    embodied_gwp: embodied.gwp,
    embodied_adpe: embodied.adpe,
    embodied_pe: embodied.pe,
  });
}

/** Finite inputs can still overflow; a number that is none must not leave here. */
function finite(results: Scalars): Scalars {
  for (const [name, value] of Object.entries(results)) {
    if (!Number.isFinite(value)) {
      throw new MethodologyFailure('computation', 'result_not_finite', `${name} is not finite`);
    }
  }
  return results;
}
