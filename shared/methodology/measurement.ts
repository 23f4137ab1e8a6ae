/**
 * What a methodology returns: the numbers on a receipt, with what they were made from. Each quantity has one unit; they
 * stand in this order.
 */
export const QUANTITY_UNITS = {
  energy: 'kWh',
  gwp: 'kgCO2e',
  water: 'L',
  adpe: 'kgSbe',
  adpf: 'MJ',
} as const;
export type QuantityName = keyof typeof QUANTITY_UNITS;

/** Outside these no figure of one request can be, in any unit used here; a number there is a mistake. Zero is a figure. */
export const QUANTITY_MIN = 1e-30;
export const QUANTITY_MAX = 1e30;

export interface Quantity {
  name: QuantityName;
  unit: (typeof QUANTITY_UNITS)[QuantityName];
  /** The median, and a 5-95 % interval. */
  value: number;
  lower: number;
  upper: number;
}

/** A record that a receipt carries: flat, of text and whole numbers alone, its keys in canonical order. */
export type CarriedRecord = Readonly<Record<string, string | number>>;

/** An input record that the computation used, pinned by the digest of its canonical JSON. */
export interface MeasurementInput {
  kind: 'usage' | 'model' | 'grid' | 'site' | 'hardware';
  /** E.g. `llama-3.1-8b`, `FRA`, `eu-west`, `H100_SXM`. */
  id: string;
  /** base64url SHA-256 of the record's canonical JSON (RFC 8785). */
  digest: string;
  /**
   * The record itself where no published factor set has it (usage, catalogue entries, hourly grid signals): a
   * receipt has to carry it, or the measurement could not be recomputed. Decimals are text.
   */
  record?: CarriedRecord;
}

/** T1 metered · TS stated by the upstream of itself · T2 open weights, known hardware · T3 open weights · T4 guessed architecture · T5 class default. */
export const DATA_QUALITIES = ['T1', 'TS', 'T2', 'T3', 'T4', 'T5'] as const;
export type DataQuality = (typeof DATA_QUALITIES)[number];

export interface Measurement {
  methodology: { id: string; version: string; digest: string };
  inputs: readonly MeasurementInput[];
  results: readonly Quantity[];
  dataQuality: DataQuality;
}

/** Where an estimate can fail. */
export const FAILURE_STAGES = ['model', 'factors', 'computation', 'input', 'timeout'] as const;

/** The methodology could not give an estimate. The receipt is degraded and says so. */
export class MethodologyFailure extends Error {
  readonly stage: (typeof FAILURE_STAGES)[number];
  /** Stable, e.g. `model_size_unknown`. */
  readonly code: string;
  constructor(stage: MethodologyFailure['stage'], code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'MethodologyFailure';
    this.stage = stage;
    this.code = code;
  }
}
