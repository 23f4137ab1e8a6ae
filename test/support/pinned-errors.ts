import type { ErrorType } from '#shared/kernel/error-codes.ts';

/** What a client can rely on of a code: its status, its type, and whether trying again may help. */
export interface PinnedError {
  status: number;
  type: ErrorType;
  retry: boolean;
  /** It says when to ask again, though libraries are told not to. */
  later?: true;
}

/**
 * Every code as the specification and the contract have it, written out here and not read from the product: a test that
 * compared the product with its own table would pass with anything in the table. A new code is added here by hand.
 */
export const PINNED_ERRORS: Readonly<Record<string, PinnedError>> = {
  invalid_api_key: { status: 401, type: 'auth_error', retry: false },
  revoked_api_key: { status: 401, type: 'auth_error', retry: false },
  expired_api_key: { status: 401, type: 'auth_error', retry: false },
  insufficient_scope: { status: 403, type: 'auth_error', retry: false },
  prompt_too_long: { status: 400, type: 'validation_error', retry: false },
  unsupported_modality: { status: 400, type: 'validation_error', retry: false },
  idempotency_key_reused: { status: 400, type: 'validation_error', retry: false },
  request_too_large: { status: 413, type: 'validation_error', retry: false },
  invalid_content_type: { status: 415, type: 'validation_error', retry: false },
  invalid_content_encoding: { status: 415, type: 'validation_error', retry: false },
  method_not_allowed: { status: 405, type: 'validation_error', retry: false },
  request_timeout: { status: 408, type: 'validation_error', retry: false },
  headers_too_large: { status: 431, type: 'validation_error', retry: false },
  receipt_pending: { status: 409, type: 'validation_error', retry: false, later: true },
  recalculation_pending: { status: 409, type: 'validation_error', retry: false },
  not_degraded: { status: 409, type: 'validation_error', retry: false },
  key_state_conflict: { status: 409, type: 'validation_error', retry: false },
  proof_not_ready: { status: 404, type: 'validation_error', retry: false, later: true },
  export_not_ready: { status: 409, type: 'validation_error', retry: false },
  export_failed: { status: 409, type: 'validation_error', retry: false },
  export_expired: { status: 410, type: 'validation_error', retry: false },
  previous_response_not_found: { status: 400, type: 'validation_error', retry: false },
  range_not_satisfiable: { status: 416, type: 'validation_error', retry: false },
  requests_per_second_exceeded: { status: 429, type: 'rate_limit_error', retry: true },
  daily_budget_exceeded: { status: 429, type: 'rate_limit_error', retry: false },
  budget_exceeded: { status: 429, type: 'rate_limit_error', retry: false },
  concurrent_streams_exceeded: { status: 429, type: 'rate_limit_error', retry: true },
  concurrent_exports_exceeded: { status: 429, type: 'rate_limit_error', retry: true },
  upstream_error: { status: 502, type: 'inference_error', retry: true },
  upstream_timeout: { status: 502, type: 'inference_error', retry: true },
  upstream_rate_limited: { status: 502, type: 'inference_error', retry: true },
  worker_lost: { status: 502, type: 'inference_error', retry: true },
  dual_use_screen_block: { status: 403, type: 'policy_error', retry: false },
  acceptable_use_violation: { status: 403, type: 'policy_error', retry: false },
  customer_suspended: { status: 403, type: 'policy_error', retry: false },
  region_degraded: { status: 503, type: 'region_unavailable', retry: true },
  region_saturated: { status: 503, type: 'region_unavailable', retry: true },
  region_decommissioned: { status: 503, type: 'region_unavailable', retry: false },
  receipt_generation_failed: { status: 500, type: 'methodology_error', retry: true },
  internal_error: { status: 500, type: 'internal_error', retry: true },
  store_unavailable: { status: 503, type: 'internal_error', retry: true },
  dispatch_unavailable: { status: 503, type: 'internal_error', retry: true },
  invalid_json: { status: 400, type: 'validation_error', retry: false },
  invalid_model: { status: 400, type: 'validation_error', retry: false },
  invalid_region: { status: 400, type: 'validation_error', retry: false },
  invalid_tier: { status: 400, type: 'validation_error', retry: false },
  invalid_temperature: { status: 400, type: 'validation_error', retry: false },
  invalid_top_p: { status: 400, type: 'validation_error', retry: false },
  invalid_messages: { status: 400, type: 'validation_error', retry: false },
  invalid_prompt: { status: 400, type: 'validation_error', retry: false },
  invalid_input: { status: 400, type: 'validation_error', retry: false },
  invalid_n: { status: 400, type: 'validation_error', retry: false },
  invalid_idempotency_key: { status: 400, type: 'validation_error', retry: false },
  invalid_name: { status: 400, type: 'validation_error', retry: false },
  invalid_scope: { status: 400, type: 'validation_error', retry: false },
  invalid_expiry: { status: 400, type: 'validation_error', retry: false },
  invalid_key: { status: 400, type: 'validation_error', retry: false },
  invalid_reason: { status: 400, type: 'validation_error', retry: false },
  invalid_limit: { status: 400, type: 'validation_error', retry: false },
  invalid_after: { status: 400, type: 'validation_error', retry: false },
  invalid_first_index: { status: 400, type: 'validation_error', retry: false },
  invalid_last_index: { status: 400, type: 'validation_error', retry: false },
  invalid_from: { status: 400, type: 'validation_error', retry: false },
  invalid_to: { status: 400, type: 'validation_error', retry: false },
  invalid_group_by: { status: 400, type: 'validation_error', retry: false },
  invalid_url: { status: 400, type: 'validation_error', retry: false },
  invalid_request: { status: 400, type: 'validation_error', retry: false },
  route_not_found: { status: 404, type: 'validation_error', retry: false },
  model_not_found: { status: 404, type: 'validation_error', retry: false },
  receipt_not_found: { status: 404, type: 'validation_error', retry: false },
  key_not_found: { status: 404, type: 'validation_error', retry: false },
  export_not_found: { status: 404, type: 'validation_error', retry: false },
  checkpoint_not_found: { status: 404, type: 'validation_error', retry: false },
  tile_not_found: { status: 404, type: 'validation_error', retry: false },
  consistency_proof_not_found: { status: 404, type: 'validation_error', retry: false },
  anchor_proof_not_found: { status: 404, type: 'validation_error', retry: false },
  derivation_not_found: { status: 404, type: 'validation_error', retry: false },
  context_not_found: { status: 404, type: 'validation_error', retry: false },
  methodology_not_found: { status: 404, type: 'validation_error', retry: false },
};

/** A code of a pattern that has no line of its own: `invalid_<param>` and `<resource>_not_found`. */
export function pinnedError(code: string): PinnedError {
  const pinned = PINNED_ERRORS[code];
  if (pinned !== undefined) return pinned;
  if (/^invalid_\w+$/.test(code)) return { status: 400, type: 'validation_error', retry: false };
  if (/^\w+_not_found$/.test(code)) return { status: 404, type: 'validation_error', retry: false };
  throw new Error(`${code} is not pinned: write it into test/support/pinned-errors.ts`);
}
