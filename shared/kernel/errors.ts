/** `error.type` of the specification. */
export type ErrorType =
  | 'auth_error'
  | 'validation_error'
  | 'rate_limit_error'
  | 'inference_error'
  | 'region_unavailable'
  | 'policy_error'
  | 'methodology_error'
  | 'internal_error';

interface CodeRow {
  type: ErrorType;
  status: number;
  /** The specification's retry column; sent as `x-should-retry`. */
  retry: boolean;
}

const row = (type: ErrorType, status: number, retry: boolean): CodeRow => ({ type, status, retry });

/** One row per stable code. The pattern codes `invalid_<param>` and `<resource>_not_found` are resolved by `codeRow`. */
const CODES = {
  invalid_api_key: row('auth_error', 401, false),
  revoked_api_key: row('auth_error', 401, false),
  expired_api_key: row('auth_error', 401, false),
  insufficient_scope: row('auth_error', 403, false),
  prompt_too_long: row('validation_error', 400, false),
  idempotency_key_reused: row('validation_error', 400, false),
  request_too_large: row('validation_error', 413, false),
  invalid_content_type: row('validation_error', 415, false),
  method_not_allowed: row('validation_error', 405, false),
  request_timeout: row('validation_error', 408, true),
  headers_too_large: row('validation_error', 431, false),
  recalculation_pending: row('validation_error', 409, false),
  not_degraded: row('validation_error', 409, false),
  key_state_conflict: row('validation_error', 409, false),
  proof_not_ready: row('validation_error', 404, false),
  export_not_ready: row('validation_error', 409, true),
  export_failed: row('validation_error', 409, false),
  export_expired: row('validation_error', 410, false),
  range_not_satisfiable: row('validation_error', 416, false),
  requests_per_second_exceeded: row('rate_limit_error', 429, true),
  daily_budget_exceeded: row('rate_limit_error', 429, false),
  concurrent_streams_exceeded: row('rate_limit_error', 429, true),
  concurrent_exports_exceeded: row('rate_limit_error', 429, true),
  upstream_error: row('inference_error', 502, true),
  upstream_timeout: row('inference_error', 502, true),
  upstream_rate_limited: row('inference_error', 502, true),
  worker_lost: row('inference_error', 502, true),
  dual_use_screen_block: row('policy_error', 403, false),
  acceptable_use_violation: row('policy_error', 403, false),
  customer_suspended: row('policy_error', 403, false),
  region_degraded: row('region_unavailable', 503, true),
  region_saturated: row('region_unavailable', 503, true),
  region_decommissioned: row('region_unavailable', 503, false),
  receipt_generation_failed: row('methodology_error', 500, true),
  internal_error: row('internal_error', 500, true),
  dispatch_unavailable: row('internal_error', 500, true),
} as const satisfies Record<string, CodeRow>;

/** The codes that have a row of their own. */
export type StableCode = keyof typeof CODES;
export const STABLE_CODES = Object.keys(CODES) as readonly StableCode[];

export type ErrorCode = StableCode | `invalid_${string}` | `${string}_not_found`;

const INVALID = row('validation_error', 400, false);
const NOT_FOUND = row('validation_error', 404, false);

/** Type, HTTP status and retry advice of a code. */
export function codeRow(code: ErrorCode): CodeRow {
  if (Object.hasOwn(CODES, code)) return CODES[code as keyof typeof CODES];
  return code.endsWith('_not_found') ? NOT_FOUND : INVALID;
}

export interface FaultDetails {
  /** Names the invalid parameter: `messages[2].content`. */
  param?: string;
  /** How long the caller should wait, in milliseconds; sent as `retry-after` and `retry-after-ms`. */
  retryAfterMs?: number;
  /** For the log only; never leaves the service. */
  cause?: unknown;
  /** Further answer headers that belong to this refusal (limits). */
  headers?: Readonly<Record<string, string>>;
}

/**
 * The one error that is meant for a caller: a stable code, and a message that is safe to show.
 * Anything else that is thrown is answered as a bare `internal_error`.
 */
export class Fault extends Error {
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly retryAfterMs: number | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, details: FaultDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'Fault';
    this.code = code;
    this.param = details.param ?? null;
    this.retryAfterMs = details.retryAfterMs;
    this.headers = details.headers ?? {};
  }

  get type(): ErrorType {
    return codeRow(this.code).type;
  }

  get status(): number {
    return codeRow(this.code).status;
  }
}

/** A 404 for something that does not exist or is not the caller's. */
export function notFound(resource: string, id?: string): Fault {
  return new Fault(
    `${resource}_not_found`,
    `No such ${resource.replaceAll('_', ' ')}.`,
    id === undefined ? {} : { param: 'id' },
  );
}

/** A 400 by the contract's pattern: `invalid_<param>`, with the dotted path as `error.param`. */
export function invalidParam(param: string, message: string, path: string = param): Fault {
  return new Fault(`invalid_${param}`, message, { param: path });
}
