import { messageEnvelopeOf } from '#api/anthropic/error-envelope.ts';
import { envelopeOf } from '#api/plugins/error-envelope.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import { frameOf } from '#shared/kernel/event-stream.ts';
import type { Route } from '#shared/kernel/inference.ts';

/** What a stream says beside the payloads of its answer, in one interface. */
export interface StreamDialect {
  /** Sign of life while nothing else is said. */
  keepalive: string;
  /** Behind the last payload of a whole answer. */
  end: string;
  /** A stream that breaks ends with this and without its end: a client that sees neither would take it for whole. */
  errorFrame(fault: Fault, stream: { requestId: string; events: number }): string;
}

const KEEPALIVE = ': keepalive\n\n';

const CHUNKS: StreamDialect = {
  keepalive: KEEPALIVE,
  end: 'data: [DONE]\n\n',
  errorFrame: (fault) => frameOf(JSON.stringify(envelopeOf(fault)), 'chat.completions'),
};

const RESPONSES: StreamDialect = {
  keepalive: KEEPALIVE,
  // The last event says by its name that it is the last.
  end: '',
  // With the member `error`, by which SDKs know it, and named and numbered as all events are.
  errorFrame(fault, { events }) {
    const envelope = envelopeOf(fault);
    const { code, message, param } = envelope.error;
    const event = { type: 'error', sequence_number: events, code, message, param };
    return frameOf(JSON.stringify({ ...event, ...envelope }), 'responses');
  },
};

const MESSAGES: StreamDialect = {
  // Clients that watch over a stream count its events, and no comments.
  keepalive: frameOf(JSON.stringify({ type: 'ping' }), 'messages'),
  end: '',
  errorFrame: (fault, { requestId }) =>
    frameOf(JSON.stringify(messageEnvelopeOf(fault, requestId)), 'messages'),
};

export function streamDialectOf(route: Route): StreamDialect {
  if (route === 'responses') return RESPONSES;
  return route === 'messages' ? MESSAGES : CHUNKS;
}
