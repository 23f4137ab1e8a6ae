import type { IncomingHttpHeaders } from 'node:http';
import { errnoOf } from '../errno.ts';
import { failureOfErrorBody, type UpstreamFailure } from '../upstream-failure.ts';

/** An HTTP error answer as a failure. */
export function failureOfStatus(
  status: number,
  headers: IncomingHttpHeaders,
  body: string,
): UpstreamFailure {
  return { ...failureOfErrorBody(parsed(body), status), ...retryAfter(headers) };
}

/**
 * An event of the kind `error` in a stream: the answer will not be finished, and nothing in the event changes that. Some servers write the
 * kind where a field's name is (`error: {…}`), which is no event at all to others.
 */
export function failureOfErrorEvent(data: string): UpstreamFailure {
  return failureOfErrorBody(parsed(data));
}

/** A socket or parser error as a failure. */
export function failureOfError(error: Error): UpstreamFailure {
  const code = errnoOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || error.name === 'TimeoutError')
    return { kind: 'timeout', detail: 'it did not begin to answer in time' };
  if (code === 'UND_ERR_BODY_TIMEOUT')
    return { kind: 'timeout', detail: 'it fell silent in the middle of its answer' };
  const failure: UpstreamFailure = { kind: 'connection', detail: 'the connection failed' };
  return code === undefined ? failure : { ...failure, errno: code };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    // Not JSON: a proxy's error page. Nothing of it is for the caller.
    return undefined;
  }
}

function retryAfter(headers: IncomingHttpHeaders): { retryAfterMs?: number } {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return { retryAfterMs: exact };
  const asked = headers['retry-after'];
  if (asked === undefined) return {};
  const seconds = Number(asked);
  // A moment is meant by the server's clock.
  const ms = Number.isNaN(seconds)
    ? Date.parse(asked) - (headers.date === undefined ? Date.now() : Date.parse(headers.date))
    : seconds * 1_000;
  return Number.isFinite(ms) && ms >= 0 ? { retryAfterMs: ms } : {};
}
