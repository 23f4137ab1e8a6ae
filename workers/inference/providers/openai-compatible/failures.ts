import type { IncomingHttpHeaders } from 'node:http';
import { kindOfStatus, readErrorObject, type UpstreamFailure } from '../upstream-failure.ts';

/** An HTTP error answer as a failure. */
export function failureOfStatus(
  status: number,
  headers: IncomingHttpHeaders,
  body: string,
): UpstreamFailure {
  const error = readErrorObject(errorIn(body));
  return {
    kind: kindOfStatus(status),
    status,
    detail: `HTTP ${status}${error.message === undefined ? '' : `: ${error.message}`}`,
    ...error,
    ...retryAfter(headers),
  };
}

/** A socket or parser error as a failure. */
export function failureOfError(error: Error): UpstreamFailure {
  const code = (error as Error & { code?: string }).code ?? error.name;
  const timeout = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT';
  return { kind: timeout ? 'timeout' : 'connection', detail: `${code}: ${error.message}` };
}

function errorIn(body: string): unknown {
  try {
    return (JSON.parse(body) as { error?: unknown } | null)?.error;
  } catch {
    // Not JSON: a proxy's error page. Nothing of it is for the caller.
    return undefined;
  }
}

function retryAfter(headers: IncomingHttpHeaders): { retryAfterMs?: number } {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return { retryAfterMs: exact };
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? { retryAfterMs: seconds * 1_000 } : {};
}
