/**
 * The versioned factor set as it is shipped: every figure that a methodology takes from the outside world.
 * Names are those of the JSON file, so that a record here and a record in a lineage document are the same
 * thing; the unit comes last in the name. `parseFactorSet` is the only way to get one.
 */
export interface FactorSet {
  readonly schema: 'docket-factor-set/1';
  readonly version: string;
  /** Year and month. */
  readonly compiled: string;
  readonly description: string;
  readonly licence_note: string;
  readonly attributions: readonly string[];
  readonly sources: readonly Source[];
  readonly flags: readonly { readonly code: string; readonly meaning: string }[];
  /** What the columns of `grid`, `sites` and `models` mean. */
  readonly fields: readonly Field[];
  readonly grid: readonly GridRecord[];
  readonly sites: readonly SiteRecord[];
  readonly unknown_site: UnknownSiteRecord;
  readonly models: readonly ModelRecord[];
  readonly model_classes: readonly ModelClassRecord[];
  readonly hardware: readonly HardwareRecord[];
  /** Published elsewhere, kept for comparison; no methodology reads them. */
  readonly alternatives: Alternatives;
  readonly uncertainty: readonly UncertaintyRecord[];
  readonly anchors: readonly AnchorRecord[];
}

export interface Source {
  readonly id: string;
  readonly citation: string;
  readonly licence: string;
}

interface Field {
  readonly name: string;
  readonly unit: string;
  readonly meaning: string;
  readonly year: string;
  readonly sources: readonly string[];
}

/** A closed interval, min <= max. */
export interface Range {
  readonly min: number;
  readonly max: number;
}
export type ValueOrRange = number | Range;

/** One grid zone; the figures are per kWh of electricity consumed. */
export interface GridRecord {
  /** ISO 3166-1 alpha-3, or `WOR` (world) and `EEE` (Europe). */
  readonly id: string;
  readonly name?: string;
  readonly gwp_kgco2e_per_kwh: number;
  readonly adpe_kgsbe_per_kwh: number;
  readonly adpf_mj_per_kwh: number;
  readonly water_l_per_kwh: number;
  readonly sources: readonly string[];
  readonly flags: readonly string[];
}

export interface SiteRecord {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly pue: ValueOrRange;
  readonly wue_l_per_kwh?: ValueOrRange;
  readonly year: string;
  readonly sources: readonly string[];
  readonly note?: string;
}

export interface UnknownSiteRecord {
  readonly id: string;
  readonly name: string;
  readonly pue: Range;
  readonly wue_l_per_kwh: Range;
  readonly basis: string;
  readonly year: string;
  readonly sources: readonly string[];
}

export const PRECISIONS = ['bf16', 'fp16', 'fp8', 'int8', 'fp4', 'int4'] as const;
export type Precision = (typeof PRECISIONS)[number];

export interface ModelRecord {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly developer: string;
  readonly architecture: 'dense' | 'moe';
  /** Billions of parameters used per token, and held in memory. */
  readonly active_b: ValueOrRange;
  readonly total_b: ValueOrRange;
  readonly confidence: 'published' | 'guess';
  /** The precision in which the weights are published, where it is not 16 bits. */
  readonly released_precision?: Precision;
  readonly kv?: KvLayout;
  readonly sources: readonly string[];
  readonly flags: readonly string[];
  readonly note?: string;
}

/** What a token leaves in the key/value cache. `bytes_per_token` follows from the other fields, and is checked. */
export type KvLayout =
  | {
      readonly layout: 'grouped';
      readonly layers: number;
      readonly kv_heads: number;
      readonly head_dim: number;
      readonly value_bytes: number;
      readonly bytes_per_token: number;
      readonly sources: readonly string[];
    }
  | {
      readonly layout: 'latent';
      readonly layers: number;
      readonly latent_dim: number;
      readonly value_bytes: number;
      readonly bytes_per_token: number;
      readonly sources: readonly string[];
    };

/** A size for models of which only the class is known. */
export interface ModelClassRecord {
  /** `class:…` */
  readonly id: string;
  readonly name: string;
  readonly total_b_above: number;
  readonly total_b_up_to?: number;
  readonly active_b: number;
  readonly total_b: number;
  /** 90 % factor of the size within the class. */
  readonly size_factor: number;
  readonly members: number;
  readonly basis: string;
}

interface EmbodiedImpacts {
  readonly gwp_kgco2e: number;
  readonly adpe_kgsbe: number;
  readonly pe_mj: number;
  readonly sources: readonly string[];
}

export interface HardwareRecord {
  readonly id: string;
  readonly name: string;
  readonly gpus_per_server: number;
  readonly gpu_memory_gb: number;
  readonly gpu_tdp_w: number;
  readonly gpu_embodied: EmbodiedImpacts;
  /** The server without its GPUs. */
  readonly server_embodied: EmbodiedImpacts;
  readonly lifetime_s: number;
  readonly sources: readonly string[];
  readonly flags: readonly string[];
}

interface AlternativeImpacts {
  readonly id: string;
  readonly gwp_kgco2e: number;
  readonly adpe_kgsbe?: number;
  readonly pe_mj?: number;
  readonly adpf_mj?: number;
  readonly sources: readonly string[];
  readonly note?: string;
}

interface Alternatives {
  readonly note: string;
  readonly gpus: readonly AlternativeImpacts[];
  readonly servers: readonly AlternativeImpacts[];
}

/** A 90 % factor: the truth lies between value / factor and value * factor in nine cases of ten. */
interface UncertaintyRecord {
  readonly id: string;
  readonly factor: number;
  readonly basis: string;
  readonly sources: readonly string[];
}

/** A figure that others have published for a whole request, to hold a result against. */
export interface AnchorRecord {
  readonly id: string;
  readonly what: string;
  readonly scope: string;
  readonly energy_wh?: number;
  readonly energy_wh_low?: number;
  readonly energy_wh_high?: number;
  readonly j_per_token?: number;
  readonly gwp_g?: number;
  readonly water_ml?: number;
  readonly adpe_mg?: number;
  readonly year: number;
  readonly sources: readonly string[];
  readonly note?: string;
}

/** Lower and upper end of a value or range. */
export function ends(value: ValueOrRange): Range {
  return typeof value === 'number' ? { min: value, max: value } : value;
}
