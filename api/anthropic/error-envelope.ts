import { type Static, Type } from 'typebox';
import { ERROR_TYPES } from '#shared/kernel/error-codes.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';

const TYPES = [
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
  'rate_limit_error',
  'api_error',
  'overloaded_error',
] as const;
type AnthropicType = (typeof TYPES)[number];

/** The body of every error answer of Anthropic's interface, with what other errors say of themselves beside its members. */
export const MessageErrorEnvelope = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({
      type: Type.Enum([...TYPES], { description: 'As Anthropic has it.' }),
      message: Type.String({ description: 'For people. May change.' }),
      code: Type.String({ description: 'Stable. Match on this.' }),
      param: Type.Union([Type.String(), Type.Null()], {
        description: 'The invalid parameter: `messages[2].content`. Null where it does not apply.',
      }),
      docket_type: Type.Enum([...ERROR_TYPES], {
        description: 'The `type` that the error has in the other interfaces.',
      }),
      details: Type.Optional(
        Type.Object(
          { error_code: Type.String(), unsupported: Type.Array(Type.String()) },
          { description: 'Of a refused `thread`, as Anthropic has it.' },
        ),
      ),
    }),
    request_id: Type.Union([Type.String(), Type.Null()]),
  },
  { title: 'MessageError' },
);

export type MessageErrorEnvelope = Static<typeof MessageErrorEnvelope>;

/** Whether an address belongs to Anthropic's interface: what is there, and what is not, also below a wrong base URL. */
export function isOfMessages(url: string): boolean {
  return /^(?:\/anthropic)?(?:\/v1)*\/messages(?:[/?]|$)/.test(url);
}

/** The status by which a route tells of a model that is not there: Anthropic's clients know that of what is not found. */
export function unknownModelStatus(route: Route): number | undefined {
  return route === 'messages' ? NOT_FOUND : undefined;
}

const NOT_FOUND = 404;

/** An error as clients of Anthropic's interface read it. */
export function messageEnvelopeOf(
  fault: Pick<Fault, 'code' | 'type' | 'status' | 'message' | 'param'>,
  requestId: string | null,
): MessageErrorEnvelope {
  const { code, type, status, param } = fault;
  return {
    type: 'error',
    error: {
      type: typeOf(status),
      message: code === 'prompt_too_long' ? `${TOO_LONG}${fault.message}` : fault.message,
      code,
      param,
      docket_type: type,
      ...(param === THREAD && { details: UNTHREADED }),
    },
    request_id: requestId,
  };
}

/** Names a conversation that Anthropic's servers keep. */
export const THREAD = 'thread';
/** Tool runners of Anthropic's SDKs send the whole conversation when they read this. */
const UNTHREADED = { error_code: 'thread_unsupported_request', unsupported: [THREAD] };

/** Agents shorten a conversation when they read this, in Anthropic's words. */
const TOO_LONG = 'prompt is too long: ';

const BY_STATUS: Readonly<Record<number, AnthropicType>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

function typeOf(status: number): AnthropicType {
  return BY_STATUS[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}
