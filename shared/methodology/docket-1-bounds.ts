import { exp, ln } from './arithmetic.ts';
import type { FactorSet } from './factor-set.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

/** One cause of uncertainty: the truth lies within value / factor and value * factor in nine cases of ten. */
export interface UncertaintyFactor {
  readonly id: string;
  readonly factor: number;
  readonly basis: string;
  readonly sources: readonly string[];
}

/** The factors that belong to the method; `grid_hour`, `water` and `depletion` are records of the factor set. */
export const DOCKET_UNCERTAINTY = {
  model_form: {
    id: 'model_form',
    factor: 1.6,
    basis: 'what the decode and prefill formulas leave unexplained in measured configurations',
    sources: ['S23'],
  },
  batch: {
    id: 'batch',
    factor: 2.1,
    basis: 'the batch is assumed to be 64 and may be 16 to 256',
    sources: ['S23'],
  },
  size: {
    id: 'size',
    factor: 2.3,
    basis: 'the size of a model whose developer does not publish it',
    sources: ['S1'],
  },
  host_idle: {
    id: 'host_idle',
    factor: 1.25,
    basis: 'host 0.25 to 0.45 and idle machines 0 to 0.25 over GPU energy',
    sources: ['S13'],
  },
  pue_known: { id: 'pue_known', factor: 1.05, basis: 'a stated annual PUE', sources: ['S11'] },
  pue_unknown: {
    id: 'pue_unknown',
    factor: 1.2,
    basis: 'the PUE of an operator that states none: 1.1 to 1.63',
    sources: ['S11'],
  },
  measured: {
    id: 'measured',
    factor: 1.1,
    basis: 'energy that was metered, or stated by the upstream, and shared out among requests',
    sources: ['S8'],
  },
  embodied: {
    id: 'embodied',
    factor: 2,
    basis: 'published embodied impacts, lifetimes and utilisation differ',
    sources: ['S10', 'S6'],
  },
} as const satisfies Record<string, UncertaintyFactor>;

/** The factors that a factor set must bring. */
const FROM_SET = ['grid_hour', 'water', 'depletion'] as const;
/** How far zones lie from the world, which stands in where a zone has no figure of its own. */
const OF_WORLD = ['gwp_of_world', 'adpe_of_world', 'adpf_of_world', 'water_of_world'] as const;
export type WorldFactor = (typeof OF_WORLD)[number];

const NEEDED = [...FROM_SET, ...OF_WORLD] as const;
export type SetUncertainty = Readonly<Record<(typeof NEEDED)[number], UncertaintyFactor>>;

/** Throws MalformedData when the set lacks a factor that docket-1 needs. */
export function uncertaintyOf(set: FactorSet): SetUncertainty {
  const found = NEEDED.map((id) => {
    const record = set.uncertainty.find((entry) => entry.id === id);
    if (record === undefined)
      throw new MalformedData('missing_field', 'uncertainty', `has no record ${id}`);
    return [id, record] as const;
  });
  return Object.fromEntries(found) as SetUncertainty;
}

/** Uncertain things about one deployment. */
export interface Doubts {
  /** Undefined where the size is published or declared. */
  readonly size: UncertaintyFactor | undefined;
  readonly batchAssumed: boolean;
  readonly pueKnown: boolean;
  /** True when the grid factor is an annual average. */
  readonly gridAnnual: boolean;
  /** Figures of the grid that are the world's. */
  readonly foreign: readonly WorldFactor[];
}

/** How the GPU energy of a request came about; decides which factors bear on it. */
export type EnergyBasis = 'decode' | 'prefill' | 'measured';

/** The shares of a result that have a factor of their own. */
type Share = 'energy' | 'gwp' | 'water' | 'adpe' | 'adpf' | 'embodied';

export interface Bound {
  readonly share: Share;
  readonly factors: readonly UncertaintyFactor[];
  /** exp(sqrt(sum of ln(factor)^2)). */
  readonly combined: number;
}

export type Bounds = Readonly<Record<Share, Bound>>;

/** Combines, for each share, the factors that bear on it. Independent causes add in log space as squares. */
export function boundsOf(doubts: Doubts, basis: EnergyBasis, set: SetUncertainty): Bounds {
  const known = DOCKET_UNCERTAINTY;
  const size = doubts.size === undefined ? [] : [doubts.size];
  const batch = doubts.batchAssumed ? [known.batch] : [];
  const gpu =
    basis === 'measured'
      ? [known.measured]
      : [known.model_form, ...(basis === 'decode' ? batch : []), ...size];
  const energy = [...gpu, known.host_idle, doubts.pueKnown ? known.pue_known : known.pue_unknown];
  const hour = doubts.gridAnnual ? [set.grid_hour] : [];
  const world = (id: WorldFactor): readonly UncertaintyFactor[] =>
    doubts.foreign.includes(id) ? [set[id]] : [];
  const bound = (share: Share, factors: readonly UncertaintyFactor[]): Bound => ({
    share,
    factors,
    combined: combine(factors.map(({ factor }) => factor)),
  });
  return {
    energy: bound('energy', energy),
    gwp: bound('gwp', [...energy, ...hour, ...world('gwp_of_world')]),
    // Water and depletion factors stay annual beside an hourly signal, which gives greenhouse gas alone.
    water: bound('water', [...energy, set.grid_hour, set.water, ...world('water_of_world')]),
    adpe: bound('adpe', [...energy, set.grid_hour, set.depletion, ...world('adpe_of_world')]),
    adpf: bound('adpf', [...energy, set.grid_hour, set.depletion, ...world('adpf_of_world')]),
    embodied: bound('embodied', [known.embodied, ...batch, ...size]),
  };
}

/** The 90 % factor of a product of independent factors: root of the sum of squared logarithms. */
function combine(factors: readonly number[]): number {
  let sum = 0;
  for (const factor of factors) {
    const log = ln(factor);
    sum += log * log;
  }
  return exp(Math.sqrt(sum));
}
