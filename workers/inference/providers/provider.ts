import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { UpstreamFailure } from './upstream-failure.ts';

/** One call to an upstream, in OpenAI's shape. */
export interface UpstreamRequest {
  requestId: string;
  route: Route;
  endpoint: Endpoint;
  /** The body as the upstream is to get it: its own model name, usage asked for. */
  body: string;
  stream: boolean;
  /** Until the first byte, and between two pieces of the answer, in milliseconds. */
  timeoutMs: number;
  traceparent?: string;
}

/**
 * Hears what an upstream answers. Either `onAnswer` (not streamed) or any number of `onPayload` then `onEnd` (streamed),
 * or `onFailure` at any point, which ends the call. Nothing is called after the end.
 */
export interface UpstreamSink {
  /** A whole answer: JSON text of an object. `joules` when the upstream reported measured energy in a header. */
  onAnswer(text: string, joules?: number): void;
  /** One stream payload: JSON text, without framing; never `[DONE]`. */
  onPayload(text: string): void;
  /** The stream ended. `clean` is false when the connection closed without `[DONE]`. */
  onEnd(clean: boolean, joules?: number): void;
  onFailure(failure: UpstreamFailure): void;
}

export interface UpstreamCall {
  /** Stops the call and closes its connection, so that the upstream stops computing; the sink hears `aborted`. */
  abort(): void;
}

export interface Provider {
  call(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall;
  /**
   * Whether an endpoint answers at all and takes our credential, without asking it for an inference, which would cost.
   * Never rejects.
   */
  probe(endpoint: Endpoint, timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}
