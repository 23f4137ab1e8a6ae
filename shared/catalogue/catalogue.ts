import type { Plan } from '#shared/kernel/plan.ts';

/** The catalogue: which regions, endpoints and models there are. Read from YAML at the edge, plain values here. */
export interface Catalogue {
  version: 1;
  /** SHA-256 of the file's bytes, hex: tells two catalogues apart in logs and metrics. */
  digest: string;
  regions: readonly Region[];
  endpoints: readonly Endpoint[];
  models: readonly Model[];
}

export const REGION_STATUSES = ['normal', 'degraded', 'decommissioned'] as const;
export type RegionStatus = (typeof REGION_STATUSES)[number];

export interface Region {
  code: string;
  name: string;
  /** Grid zone of the factor set (ISO 3166-1 alpha-3, or WOR and EEE). */
  zone: string;
  operator: { name: string; pue?: number; wue?: number };
  /** Requests waiting or running before `region_saturated`. */
  capacity: number;
  status: RegionStatus;
  /** Plans that may use it; all when absent. */
  plans?: readonly Plan[];
  /** Organisations that may use it; all when absent. */
  organisations?: readonly string[];
}

export interface Endpoint {
  name: string;
  adapter: 'openai-compatible' | 'ai-sdk';
  /** For `ai-sdk`: which provider (`anthropic`, `google`). */
  provider?: string;
  baseUrl: string;
  /** Name of the environment variable that holds the credential. */
  apiKeyEnv?: string;
  regions: readonly string[];
  timeoutMs: number;
  /** The header or usage field in which the upstream reports measured energy in joules, if it does. */
  energy?: { header?: string; usageField?: string };
}

export type ModelKind = 'chat' | 'completion' | 'embedding';

export interface Model {
  id: string;
  kinds: readonly ModelKind[];
  contextWindow: number;
  tokenizer?: string;
  modalities: readonly string[];
  maxN: number;
  ownedBy: string;
  /** Epoch seconds. */
  created: number;
  /** Plans that may use it; all when absent. */
  plans?: readonly Plan[];
  /** Organisations that may use it; all when absent. */
  organisations?: readonly string[];
  /** Tiers that its route offers; all when absent. */
  tiers?: readonly Plan[];
  endpoints: readonly { name: string; model: string }[];
  footprint: Footprint;
}

/** Either a record of the factor set, or a declared size. */
export interface Footprint {
  ref?: string;
  activeB?: number;
  totalB?: number;
  precision?: 'bf16' | 'fp16' | 'fp8' | 'int8' | 'fp4' | 'int4';
  /** Concurrent requests per replica, where the operator knows it. */
  batch?: number;
  gpus?: number;
}
