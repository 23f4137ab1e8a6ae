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
}

const FIELDS: ReadonlySet<string> = new Set([
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
 * Reads inputs under the field names of the published vectors. `request_latency`, `tps` and `ttft` may be
 * absent or null; everything else is needed, and nothing else is known.
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
  };
}

type Fields = Readonly<Record<string, unknown>>;
type Limit = 'at least zero' | 'above zero';

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
  if (value < 0 || (limit === 'above zero' && value === 0)) throw invalid(name, `must be ${limit}`);
  return value;
}

function invalid(name: string, problem: string): MethodologyFailure {
  return new MethodologyFailure('input', `${name}_invalid`, `${name} ${problem}`);
}
