import type { ErrorCode } from '#shared/kernel/errors.ts';
import type { UpstreamFailure } from './providers/upstream-error.ts';
import type { WireFault } from '#shared/lanes/messages.ts';

/** Upstream codes for a prompt above the context window. */
const TOO_LONG = new Set(['context_length_exceeded', 'prompt_too_long', 'string_above_max_length']);
const PARAM = /^[a-z][a-z0-9_]*/;

const BY_KIND: Record<Exclude<UpstreamFailure['kind'], 'rejected'>, [ErrorCode, string]> = {
  rate_limited: [
    'upstream_rate_limited',
    'The upstream provider is limiting requests. Try again shortly.',
  ],
  unavailable: ['upstream_error', 'The upstream provider failed. Try again shortly.'],
  misconfigured: [
    'upstream_error',
    'The upstream provider refused the gateway. Try again shortly.',
  ],
  timeout: ['upstream_timeout', 'The upstream provider did not answer in time.'],
  connection: [
    'upstream_error',
    'The connection to the upstream provider failed. Try again shortly.',
  ],
  malformed: ['upstream_error', 'The upstream provider sent an answer that cannot be read.'],
  cut_off: ['region_degraded', 'The region is in incident mode. Try again shortly.'],
  aborted: ['upstream_error', 'The request was cancelled.'],
};

/** What the caller is told about an upstream's failure. A refused request keeps the upstream's reason; nothing else does. */
export function faultOf(failure: UpstreamFailure): WireFault {
  if (failure.kind === 'rejected') return rejection(failure);
  const [code, message] = BY_KIND[failure.kind];
  const fault: WireFault = { code, message };
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
