import { isDisguised } from '#shared/kernel/characters.ts';
import { MethodologyFailure } from './measurement.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import type { WorldFactor } from './docket-1-bounds.ts';
import type { FactorIndex } from './factor-index.ts';
import type { InputList } from './input-list.ts';
import type { EstimateInput, GridSignal } from './methodology.ts';

/** Impacts of one kWh of consumed electricity; water is what is consumed off site. */
export interface GridFactors {
  readonly gwp: number;
  readonly adpe: number;
  readonly adpf: number;
  readonly water: number;
  /** The figures that are not the zone's own. */
  readonly foreign: readonly WorldFactor[];
}

/** What the flags of a zone say of its figures: each names the uncertainty that a world average brings with it. */
const FOREIGN = {
  gwp_rounded_zero: 'gwp_of_world',
  adpe_world_default: 'adpe_of_world',
  adpf_world_default: 'adpf_of_world',
  water_world_default: 'water_of_world',
} as const satisfies Record<string, WorldFactor>;

/** No grid is above 5 kgCO2e per kWh: such a signal is in grams. */
const GWP_MAX = 5;
/** Words of a provider; anything longer is not one. */
const SIGNAL_TEXT_MAX = 200;

/**
 * The factors of a zone: annual, location-based, life cycle. An hourly signal replaces greenhouse gas alone.
 * Throws MethodologyFailure at stage `factors`: `zone_unknown`, `grid_signal_invalid`.
 */
export function gridFactors(
  input: Pick<EstimateInput, 'zone' | 'gridSignal'>,
  index: FactorIndex,
  inputs: InputList,
): GridFactors {
  const record = index.grid(input.zone);
  if (record === undefined) {
    throw new MethodologyFailure(
      'factors',
      'zone_unknown',
      `the factor set has no grid zone ${input.zone}`,
    );
  }
  inputs.fromSet('grid', record, () => [
    {
      symbol: 'F_gwp',
      column: 'gwp_kgco2e_per_kwh',
      name: 'greenhouse gas of electricity',
      value: record.gwp_kgco2e_per_kwh,
      unit: 'kgCO2e/kWh',
    },
    {
      symbol: 'F_adpe',
      column: 'adpe_kgsbe_per_kwh',
      name: 'abiotic depletion of electricity',
      value: record.adpe_kgsbe_per_kwh,
      unit: 'kgSbe/kWh',
    },
    {
      symbol: 'F_adpf',
      column: 'adpf_mj_per_kwh',
      name: 'fossil resources of electricity',
      value: record.adpf_mj_per_kwh,
      unit: 'MJ/kWh',
    },
    {
      symbol: 'F_water',
      column: 'water_l_per_kwh',
      name: 'water of electricity',
      value: record.water_l_per_kwh,
      unit: 'L/kWh',
    },
  ]);
  const signal = hourly(input, inputs);
  const foreign = Object.entries(FOREIGN)
    .filter(([flag]) => record.flags.includes(flag))
    .map(([, factor]) => factor)
    .filter((factor) => factor !== 'gwp_of_world' || signal === undefined);
  return {
    foreign,
    gwp: signal ?? record.gwp_kgco2e_per_kwh,
    adpe: record.adpe_kgsbe_per_kwh,
    adpf: record.adpf_mj_per_kwh,
    water: record.water_l_per_kwh,
  };
}

function hourly(
  { zone, gridSignal }: Pick<EstimateInput, 'zone' | 'gridSignal'>,
  inputs: InputList,
): number | undefined {
  if (gridSignal === undefined) return undefined;
  checkSignal(gridSignal);
  const { hour, signal, provider, version, gwpKgco2ePerKwh: value } = gridSignal;
  const record = {
    gwp_kgco2e_per_kwh: toExactDecimalString(value),
    hour,
    provider,
    signal,
    version,
    zone,
  };
  inputs.carried('grid', `${zone}@${hour}`, record, () => [
    {
      symbol: 'F_gwp',
      name: 'greenhouse gas of electricity in this hour',
      value,
      unit: 'kgCO2e/kWh',
    },
  ]);
  return value;
}

function checkSignal(signal: GridSignal): void {
  const { gwpKgco2ePerKwh: value, hour, ...words } = signal;
  const wellFormed =
    /^\d{4}-\d{2}-\d{2}T\d{2}:00:00Z$/.test(hour) &&
    [words.provider, words.signal, words.version].every(
      (word) => word.length > 0 && word.length <= SIGNAL_TEXT_MAX && !isDisguised(word),
    );
  if (!wellFormed || !Number.isFinite(value) || value < 0 || value > GWP_MAX) {
    throw new MethodologyFailure(
      'factors',
      'grid_signal_invalid',
      'the hourly grid signal is malformed',
    );
  }
}
