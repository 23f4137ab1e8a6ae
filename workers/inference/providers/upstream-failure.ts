import { Fault } from '#shared/kernel/errors.ts';
import { type WireFault, wireFault } from '#shared/lanes/messages.ts';

/**
 * Why a call failed. `rejected` is the caller's fault (a 4xx about the request); the others are the upstream's.
 * `cut_off`: no call was made, because every circuit is open.
 */
export interface UpstreamFailure {
  kind:
    | 'rejected'
    | 'rate_limited'
    | 'unavailable'
    | 'misconfigured'
    | 'timeout'
    | 'connection'
    | 'malformed'
    | 'too_large'
    | 'cut_off'
    | 'aborted';
  /** For the log; may hold the upstream's own words. */
  detail: string;
  status?: number;
  /** What a rejecting upstream said to the caller, bounded. */
  message?: string;
  code?: string;
  param?: string;
  retryAfterMs?: number;
}

/** What a caller may read of an upstream's refusal. */
const MESSAGE_CHARS_MAX = 500;
const NAME_CHARS_MAX = 64;

/** What an HTTP status says about who is at fault. */
export function kindOfStatus(status: number): UpstreamFailure['kind'] {
  if (status === 429) return 'rate_limited';
  if (status === 401 || status === 403 || status === 404) return 'misconfigured';
  if (status === 408 || status === 409 || status === 425) return 'unavailable';
  return status >= 400 && status < 500 ? 'rejected' : 'unavailable';
}

/** The parts of an OpenAI-shaped error object that a caller may see; untrusted input. */
export function readErrorObject(
  error: unknown,
): Pick<UpstreamFailure, 'message' | 'code' | 'param'> {
  if (typeof error === 'string') return { message: error.slice(0, MESSAGE_CHARS_MAX) };
  if (typeof error !== 'object' || error === null) return {};
  const { message, code, param } = error as Record<string, unknown>;
  const read: Pick<UpstreamFailure, 'message' | 'code' | 'param'> = {};
  if (typeof message === 'string') read.message = message.slice(0, MESSAGE_CHARS_MAX);
  if (typeof code === 'string') read.code = code.slice(0, NAME_CHARS_MAX);
  if (typeof param === 'string') read.param = param.slice(0, NAME_CHARS_MAX);
  return read;
}

/** An error object that came inside an HTTP 200, as a stream frame or as the whole answer. */
export function failureOfErrorObject(error: unknown): UpstreamFailure {
  const read = readErrorObject(error);
  const status = statusIn(error);
  return {
    kind: status === undefined ? 'unavailable' : kindOfStatus(status),
    detail: `error object in an answer${read.message === undefined ? '' : `: ${read.message}`}`,
    ...(status === undefined ? {} : { status }),
    ...read,
  };
}

function statusIn(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { status, code } = error as Record<string, unknown>;
  const value = typeof status === 'number' ? status : Number(code);
  return Number.isInteger(value) && value >= 400 && value < 600 ? value : undefined;
}

/** Upstream codes for a prompt above the context window. */
const TOO_LONG = new Set(['context_length_exceeded', 'prompt_too_long', 'string_above_max_length']);
const PARAM = /^[a-z][a-z0-9_]*/;

const upstreamError = (message: string): Fault => new Fault('upstream_error', { message });

const BY_KIND: Record<Exclude<UpstreamFailure['kind'], 'rejected'>, Fault> = {
  rate_limited: new Fault('upstream_rate_limited'),
  unavailable: new Fault('upstream_error'),
  misconfigured: upstreamError('The upstream provider refused the gateway. Try again shortly.'),
  timeout: new Fault('upstream_timeout'),
  connection: upstreamError('The connection to the upstream provider failed. Try again shortly.'),
  malformed: upstreamError('The upstream provider sent an answer that cannot be read.'),
  too_large: upstreamError(
    'The answer of the upstream provider is too large. Ask for less at once.',
  ),
  cut_off: new Fault('region_degraded', { values: { where: 'The region' } }),
  aborted: upstreamError('The request was cancelled.'),
};

/** What the caller is told about an upstream's failure. A refused request keeps the upstream's reason; nothing else does. */
export function faultOf(failure: UpstreamFailure): WireFault {
  if (failure.kind === 'rejected') return rejection(failure);
  const fault = wireFault(BY_KIND[failure.kind]);
  if (failure.retryAfterMs !== undefined) fault.retryAfterMs = failure.retryAfterMs;
  return fault;
}

function rejection(failure: UpstreamFailure): WireFault {
  const message = failure.message ?? 'The upstream provider refused the request as malformed.';
  if (failure.code !== undefined && TOO_LONG.has(failure.code)) {
    return { code: 'prompt_too_long', message, param: failure.param ?? 'messages' };
  }
  const name = PARAM.exec(failure.param ?? '')?.[0];
  if (name === undefined) return { code: 'invalid_request', message };
  return { code: `invalid_${name}`, message, param: failure.param! };
}
