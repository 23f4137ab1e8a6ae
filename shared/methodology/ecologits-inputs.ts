import { ECOLOGITS_CONSTANTS } from './ecologits-formulas.ts';
import { MethodologyFailure } from './measurement.ts';
import type { ValueOrRange } from './factor-set.ts';

/** The inputs of one request, checked, with the reference's defaults filled in. */
export interface EcologitsInputs {
  /** Billions of parameters. */
  readonly active: ValueOrRange;
  readonly total: ValueOrRange;
  readonly outputTokens: number;
  /** Infinite when it was not measured, so that the modelled time wins. */
  readonly requestLatencyS: number;
  readonly tps: number | null;
  readonly ttft: number;
  /** Impacts per kWh of electricity; `wue` is the water consumed off site. */
  readonly mix: {
    readonly adpe: number;
    readonly pe: number;
    readonly gwp: number;
    readonly wue: number;
  };
  readonly pue: ValueOrRange;
  readonly wue: ValueOrRange;
  /** The values of the document's constants for this request, by symbol: overridden, or the reference's defaults. */
  readonly constants: Readonly<Record<EcologitsConstant, number>>;
}

type Limit = 'at least zero' | 'above zero' | 'finite';

/** The reference's optional parameters, under its names: which constant each of them replaces. */
const OVERRIDES = {
  batch_size: { symbol: 'B', limit: 'above zero' },
  model_quantization_bits: { symbol: 'Q', limit: 'above zero' },
  gpu_energy_alpha: { symbol: 'alpha', limit: 'at least zero' },
  // A larger batch shares the reading of the weights, so this one is negative.
  gpu_energy_beta: { symbol: 'beta', limit: 'finite' },
  gpu_energy_gamma: { symbol: 'gamma', limit: 'at least zero' },
  latency_alpha: { symbol: 'a', limit: 'at least zero' },
  latency_beta: { symbol: 'b', limit: 'at least zero' },
  latency_gamma: { symbol: 'c', limit: 'at least zero' },
  gpu_memory: { symbol: 'memory', limit: 'above zero' },
  gpu_embodied_gwp: { symbol: 'gpu_gwp', limit: 'at least zero' },
  gpu_embodied_adpe: { symbol: 'gpu_adpe', limit: 'at least zero' },
  gpu_embodied_pe: { symbol: 'gpu_pe', limit: 'at least zero' },
  server_gpu_count: { symbol: 'slots', limit: 'above zero' },
  server_power: { symbol: 'power', limit: 'at least zero' },
  server_embodied_gwp: { symbol: 'server_gwp', limit: 'at least zero' },
  server_embodied_adpe: { symbol: 'server_adpe', limit: 'at least zero' },
  server_embodied_pe: { symbol: 'server_pe', limit: 'at least zero' },
  server_lifetime: { symbol: 'lifetime', limit: 'above zero' },
} as const satisfies Record<string, { symbol: keyof typeof ECOLOGITS_CONSTANTS; limit: Limit }>;

/** A constant that a request may replace. The reference has 1.2 for the memory over the weights in its code. */
type EcologitsConstant = (typeof OVERRIDES)[keyof typeof OVERRIDES]['symbol'];

const FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(OVERRIDES),
  'if_electricity_mix_adpe',
  'if_electricity_mix_pe',
  'if_electricity_mix_gwp',
  'if_electricity_mix_wue',
  'datacenter_pue',
  'datacenter_wue',
  'output_token_count',
  'request_latency',
  'model_active_parameter_count',
  'model_total_parameter_count',
  'tps',
  'ttft',
]);

/**
 * Reads inputs under the field names of the published vectors. `request_latency`, `tps`, `ttft` and
 * the reference's optional parameters (`OVERRIDES`) may be absent or null; everything else is needed, and nothing else is
 * known.
 * Throws MethodologyFailure at stage `input`, code `<field>_missing`, `<field>_invalid` or `field_unknown`.
 */
export function parseEcologitsInputs(input: unknown): EcologitsInputs {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new MethodologyFailure('input', 'inputs_invalid', 'the inputs must be an object');
  }
  const fields = input as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    if (!FIELDS.has(name)) {
      throw new MethodologyFailure('input', 'field_unknown', `${name} is not a known field`);
    }
  }
  return {
    active: spread(fields, 'model_active_parameter_count'),
    // The reference takes a logarithm of the GPU count, which does not exist for a model without weights.
    total: spread(fields, 'model_total_parameter_count', 'above zero'),
    outputTokens: needed(fields, 'output_token_count'),
    requestLatencyS: optional(fields, 'request_latency') ?? Infinity,
    // The reference divides by it.
    tps: optional(fields, 'tps', 'above zero') ?? null,
    ttft: optional(fields, 'ttft') ?? 0,
    mix: {
      adpe: needed(fields, 'if_electricity_mix_adpe'),
      pe: needed(fields, 'if_electricity_mix_pe'),
      gwp: needed(fields, 'if_electricity_mix_gwp'),
      wue: needed(fields, 'if_electricity_mix_wue'),
    },
    pue: spread(fields, 'datacenter_pue'),
    wue: spread(fields, 'datacenter_wue'),
    constants: constantsOf(fields),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function constantsOf(fields: Fields): EcologitsInputs['constants'] {
  const values = Object.entries(OVERRIDES).map(([name, { symbol, limit }]) => [
    symbol,
    optional(fields, name, limit) ?? ECOLOGITS_CONSTANTS[symbol].value,
  ]);
  return Object.fromEntries(values) as EcologitsInputs['constants'];
}

function needed(fields: Fields, name: string): number {
  return quantity(fields[name], name, 'at least zero');
}

function optional(
  fields: Fields,
  name: string,
  limit: Limit = 'at least zero',
): number | undefined {
  const value = fields[name];
  return value === undefined || value === null ? undefined : quantity(value, name, limit);
}

function spread(fields: Fields, name: string, limit: Limit = 'at least zero'): ValueOrRange {
  const value = fields[name];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return quantity(value, name, limit);
  }
  const { min, max, ...rest } = value as Record<string, unknown>;
  const range = { min: quantity(min, name, limit), max: quantity(max, name, limit) };
  if (range.min > range.max) throw invalid(name, 'has a min above its max');
  if (Object.keys(rest).length > 0) throw invalid(name, 'has more than min and max');
  return range;
}

function quantity(value: unknown, name: string, limit: Limit): number {
  if (value === undefined) {
    throw new MethodologyFailure('input', `${name}_missing`, `${name} is missing`);
  }
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw invalid(name, 'must be a finite number');
  }
  if (limit === 'finite') return value;
  if (value < 0 || (limit === 'above zero' && value === 0)) throw invalid(name, `must be ${limit}`);
  return value;
}

function invalid(name: string, problem: string): MethodologyFailure {
  return new MethodologyFailure('input', `${name}_invalid`, `${name} ${problem}`);
}
