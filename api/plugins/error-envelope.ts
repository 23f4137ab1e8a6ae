import type { Fault } from '#shared/kernel/errors.ts';
import { codeRow } from '#shared/kernel/errors.ts';

export interface ErrorEnvelope {
  error: { code: string; type: string; message: string; param: string | null };
}

/** The body of every error answer: always all four fields. */
export function envelopeOf(fault: Fault): ErrorEnvelope {
  return {
    error: { code: fault.code, type: fault.type, message: fault.message, param: fault.param },
  };
}

/** A wait that SDKs obey is sent with these statuses even when the fault names none. */
const DEFAULT_RETRY_MS: Readonly<Record<number, number>> = { 429: 1_000, 503: 5_000 };

/** Headers that go with an error: when, and whether, to try again. */
export function errorHeaders(fault: Fault): Record<string, string> {
  const { retry, status } = codeRow(fault.code);
  const headers: Record<string, string> = { ...fault.headers, 'x-should-retry': String(retry) };
  const waitMs = fault.retryAfterMs ?? DEFAULT_RETRY_MS[status];
  if (waitMs !== undefined) {
    headers['retry-after-ms'] = String(Math.max(1, Math.ceil(waitMs)));
    headers['retry-after'] = String(Math.max(1, Math.ceil(waitMs / 1_000)));
  }
  return headers;
}
