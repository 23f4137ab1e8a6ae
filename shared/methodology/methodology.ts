import type { Footprint } from '#shared/catalogue/catalogue.ts';
import type { Route, Usage } from '#shared/kernel/inference.ts';
import type { Measurement } from './measurement.ts';
import type { Derivation } from './derivation.ts';

/** Everything that an estimate depends on, besides the methodology itself. */
export interface EstimateInput {
  readonly usage: Usage;
  /** Energy of the accelerators for each attempt, in joules, as a meter counted it. What an upstream states is in `usage`. */
  readonly meteredJoules?: number;
  readonly route: Route;
  readonly model: { readonly id: string; readonly footprint: Footprint };
  /** Grid zone of the factor set. */
  readonly zone: string;
  readonly site: Site;
  /** Calls made to upstreams; each is taken to have used as much as the one that answered. */
  readonly attempts: number;
  /** Seconds from the upstream call that was answered to the last byte of its answer. */
  readonly upstreamS?: number;
  /** Seconds from the arrival of the request to its end, over all attempts: where the time of the call is not known. */
  readonly latencyS?: number;
  /** An hourly signal in place of the annual greenhouse gas factor of the zone. */
  readonly gridSignal?: GridSignal;
}

/** Where the hardware stands. PUE and WUE (L per kWh of IT energy) as the catalogue states them. */
export interface Site {
  readonly operator: string;
  readonly pue?: number;
  readonly wue?: number;
}

/** One hour of a zone's location-based, life-cycle intensity from a provider. */
export interface GridSignal {
  /** The hour's start, e.g. `2026-11-01T13:00:00Z`. */
  readonly hour: string;
  readonly signal: string;
  readonly provider: string;
  readonly version: string;
  readonly gwpKgco2ePerKwh: number;
}

/** A frozen methodology, ready to compute. */
export interface Methodology {
  readonly id: string;
  readonly version: string;
  /** base64url SHA-256 of the methodology document. */
  readonly digest: string;
  /** The estimate. Throws MethodologyFailure when there is none; never gives NaN or an infinity. */
  readonly estimate: (input: EstimateInput) => Measurement;
  /** The same estimate with every step, record and warning. */
  readonly explain: (input: EstimateInput) => Derivation;
}
