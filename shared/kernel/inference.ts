import type { Plan } from './plan.ts';

/** The operations that reach a model. */
export const ROUTES = ['chat.completions', 'completions', 'embeddings'] as const;
export type Route = (typeof ROUTES)[number];

/** The one who counted the tokens of a request: the upstream, or we with a tokenizer. */
export const USAGE_SOURCES = ['upstream', 'counted'] as const;

/** Token counts of one request, over all its choices. Zero is a value; only absent usage is counted by us. */
export interface Usage {
  inputTokens: number;
  /** The part of `inputTokens` that the upstream served from its prefix cache. */
  cachedInputTokens: number;
  outputTokens: number;
  source: (typeof USAGE_SOURCES)[number];
  /** Energy measured by the upstream, in joules, where it reports it. */
  measuredJoules?: number;
}

/** complete · partial: the client left · truncated: the upstream or its worker died · refused: blocked by screening. */
export const OUTCOMES = ['complete', 'partial', 'truncated', 'refused'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The outcome of one request: everything a receipt is made of. Travels on the receipts lane. */
export interface InferenceRecord {
  /** `req_…`; the receipt has the same ULID under `rcpt_`. */
  requestId: string;
  orgId: string;
  keyId: string;
  route: Route;
  /** The model's id in the catalogue. */
  model: string;
  /** The model as its upstream names it, once one has answered. */
  upstreamModel?: string;
  region: string;
  tier: Plan;
  /** Epoch milliseconds. */
  startedAt: number;
  endedAt: number;
  usage: Usage;
  /** Calls made to upstreams, failed ones included (their energy is counted too). */
  attempts: number;
  /** base64url of the 16 random bytes that salt both digests. */
  salt: string;
  /** base64url of SHA-256(salt bytes || raw request body). */
  requestDigest: string;
  /** base64url of SHA-256(salt bytes || answer bytes without the receipt); absent when refused. */
  responseDigest?: string;
  /**
   * Of a stream that did not come to its end: how many `data:` payloads were handed on. `responseDigest` is over exactly
   * these, and the output tokens are those in them.
   */
  relayedPayloads?: number;
  outcome: Outcome;
  /** For refused requests: which policy refused, e.g. `2026-11-01`, and its rule. */
  policy?: { version: string; rule: string };
}
