import { messageEnvelopeOf } from '#api/anthropic/error-envelope.ts';
import { envelopeOf } from '#api/plugins/error-envelope.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import { frameOf } from '#shared/kernel/event-stream.ts';
import type { PendingReceipt } from '#shared/receipts/pending.ts';
import type { Admitted } from './admit/admitted.ts';
import { ResponseEvents } from './response-events.ts';

/** Load balancers cut a connection after 60 s of silence, some after 30. */
const KEEPALIVE_MS = 15_000;
const KEEPALIVE = ': keepalive\n\n';
/** The headers of events, which nothing on their way is to hold back. */
export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

/** What one stream says in its interface, beside the payloads of its answer. */
export interface StreamDialect {
  /** Milliseconds of silence behind which a sign of life goes out. */
  readonly silenceMs: number;
  /** Behind the last payload of a whole answer. */
  readonly end: string;
  /** A sign of life. */
  alive(): string;
  /** Frames of the pipeline, whole ones, as the client gets them. */
  frames(text: string): string;
  /** The last payload of the pipeline as the client gets it. */
  last(payload: string): string;
  /**
   * A stream that breaks ends with this and without its end: a client that sees neither would take it for whole. `receipt`
   * announces the receipt that there will be of it.
   */
  failed(fault: Fault, receipt?: PendingReceipt): string;
}

const AS_IT_IS = { frames: (text: string) => text, last: (payload: string) => payload };

const CHUNKS: StreamDialect = {
  ...AS_IT_IS,
  silenceMs: KEEPALIVE_MS,
  end: 'data: [DONE]\n\n',
  alive: () => KEEPALIVE,
  failed: (fault) => frameOf(JSON.stringify(envelopeOf(fault)), 'chat.completions'),
};

const messages = (requestId: string): StreamDialect => ({
  ...AS_IT_IS,
  silenceMs: KEEPALIVE_MS,
  end: '',
  // Clients that watch over a stream count its events, and no comments.
  alive: () => frameOf(JSON.stringify({ type: 'ping' }), 'messages'),
  failed: (fault) => frameOf(JSON.stringify(messageEnvelopeOf(fault, requestId)), 'messages'),
});

export function streamDialectOf({ entry, names }: Admitted): StreamDialect {
  if (entry.route === 'responses') return new ResponseEvents(names);
  return entry.route === 'messages' ? messages(entry.id) : CHUNKS;
}
