import type { Plan } from '#shared/kernel/plan.ts';
import type { StatedEnergy } from './stated-energy.ts';

/** The catalogue: which regions, endpoints and models there are. Read from YAML at the edge, plain values here. */
export interface Catalogue {
  version: 1;
  /** SHA-256 of the file's bytes, hex: tells two catalogues apart in logs and metrics. */
  digest: string;
  /** Of all prices, as ISO 4217 writes it; absent where there are none. */
  currency?: string;
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
  /** Whether it has `POST /responses`; to one that has not, such a request goes as a chat. It has not when absent. */
  responses?: boolean;
  /** The same of `POST /messages`, Anthropic's interface. */
  messages?: boolean;
  /** Whether its chats take the role `developer`; one that does not gets `system`. It does when absent. */
  developerRole?: boolean;
  /** Whether messages of the assistant may have `reasoning_content`, what it thought; they go without it when absent. */
  reasoningContent?: boolean;
  /** Silence that ends a call, in milliseconds, where `timeouts` names no other. */
  timeoutMs: number;
  timeouts?: Partial<Timeouts>;
  /** What the upstream is told beside the request. */
  headers?: EndpointHeaders;
  /** Where the upstream states the energy of a request, if it does. */
  energy?: StatedEnergy;
  /** Where the power of its accelerators is metered, if it is. Never beside `energy`. */
  meter?: Meter;
}

/** A Prometheus exporter of an endpoint's accelerators, or a Prometheus server's `/federate`. */
export interface Meter {
  url: string;
  /** Name of the environment variable that holds a bearer token. */
  tokenEnv?: string;
  /** Labels by which samples are known to be of this endpoint's accelerators. */
  labels: Readonly<Record<string, string>>;
  /** A counter for each accelerator. */
  energyMetric: string;
  energyUnit: 'J' | 'mJ' | 'Wh' | 'kWh';
  /** A gauge for each, for those that count no energy. */
  powerMetric: string;
  powerUnit: 'W' | 'mW' | 'kW';
}

/** How long one call may take, in milliseconds. */
export interface Timeouts {
  /** From the call to the headers of its answer; of an answer that is no stream most of the time is in here. */
  headersMs: number;
  /** From the call to the first byte of its answer's body. */
  firstByteMs: number;
  /** Between two pieces of the answer. */
  betweenBytesMs: number;
  /** From the call to the last byte. */
  totalMs: number;
}

export interface EndpointHeaders {
  /** In which header the request's id goes, as a UUID; `x-request-id` when absent, none when null. */
  requestId?: string | null;
  /** Whether the W3C trace of the request goes on. It does when absent. */
  traceparent?: boolean;
}

export type ModelKind = 'chat' | 'completion' | 'embedding';

export interface Model {
  id: string;
  /** Other names by which requests may ask for it: those that programs have built in. */
  aliases?: readonly string[];
  kinds: readonly ModelKind[];
  contextWindow: number;
  tokenizer?: string;
  /** The kinds of content that it takes; not known when absent. */
  modalities?: readonly string[];
  maxN: number;
  /** Tools that one request may bring; not bounded when absent. */
  maxTools?: number;
  /** Values of each embedding, where it is declared. */
  dimensions?: number;
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
  /** What its tokens cost, by the operator's price list. */
  prices?: readonly Price[];
  footprint: Footprint;
}

/**
 * Prices of one token, in whole millionths of a millionth of the currency, from a day (UTC) on until a younger one begins; of
 * one endpoint or region alone, where it names them.
 */
export interface Price {
  /** Epoch milliseconds. */
  from: number;
  input: number;
  cachedInput: number;
  output: number;
  endpoint?: string;
  region?: string;
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
