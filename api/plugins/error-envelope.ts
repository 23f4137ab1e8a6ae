import { type Static, Type } from 'typebox';
import { codeRow, ERROR_TYPES } from '#shared/kernel/error-codes.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import { isOfMessages, messageEnvelopeOf } from '#api/anthropic/error-envelope.ts';

/** The body of every error answer but those of Anthropic's interface: always all four fields. */
export const ErrorEnvelope = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'Stable. Match on this.' }),
      type: Type.Enum([...ERROR_TYPES]),
      message: Type.String({ description: 'For people. May change.' }),
      param: Type.Union([Type.String(), Type.Null()], {
        description: 'The invalid parameter: `messages[2].content`. Null where it does not apply.',
      }),
    }),
  },
  { title: 'Error' },
);

export function envelopeOf(fault: Fault): Static<typeof ErrorEnvelope> {
  return {
    error: { code: fault.code, type: fault.type, message: fault.message, param: fault.param },
  };
}

/** The body of an error answer, in the interface that its address belongs to. */
export function errorBody(
  fault: Fault,
  { id, url = '' }: { id: string; url?: string | undefined },
): string {
  return JSON.stringify(isOfMessages(url) ? messageEnvelopeOf(fault, id) : envelopeOf(fault));
}

/** The headers that name a request: Anthropic's clients know another than OpenAI's. */
export function idHeaders(id: string, isAnthropic: boolean): Record<string, string> {
  return { 'x-request-id': id, ...(isAnthropic ? { 'request-id': id } : {}) };
}

/** An answer that is made without Fastify. */
export interface MadeAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** The answer to a request that Fastify does not answer. */
export function errorAnswer(fault: Fault, requestId: string, url = ''): MadeAnswer {
  const body = errorBody(fault, { id: requestId, url });
  return {
    status: fault.status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      ...idHeaders(requestId, isOfMessages(url)),
      ...errorHeaders(fault),
    },
    body,
  };
}

/** Every 401 says how to authenticate (RFC 9110, 15.5.2). */
const CHALLENGE = { 'www-authenticate': 'Bearer realm="docket"' };

/** A wait as `retry-after` states it: never shorter than it is, and never none. */
export const wholeSeconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)));

/** Headers that go with an error: whether to try again, and when; no time where waiting helps nothing. */
export function errorHeaders(fault: Fault): Record<string, string> {
  const { retry, status, retryAfterMs } = codeRow(fault.code);
  const headers: Record<string, string> = {
    ...(status === 401 ? CHALLENGE : {}),
    ...fault.headers,
    'x-should-retry': String(retry),
  };
  const waitMs = fault.retryAfterMs;
  if (waitMs !== undefined && (retry || status === 429 || retryAfterMs !== undefined)) {
    headers['retry-after-ms'] = String(Math.max(1, Math.ceil(waitMs)));
    headers['retry-after'] = wholeSeconds(waitMs);
  }
  return headers;
}
