import type { Endpoint, ModelKind, Timeouts } from '#shared/catalogue/catalogue.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { AnswerHold } from '../answer-room.ts';
import type { Pace } from '../stream-pace.ts';
import type { UpstreamFailure } from './upstream-failure.ts';

/** One call to an upstream, in the shape of its route: Anthropic's of `messages`, OpenAI's of all others. */
export interface UpstreamRequest {
  requestId: string;
  route: Route;
  endpoint: Endpoint;
  /** The body as the upstream is to get it: its own model name, usage asked for. */
  body: string;
  stream: boolean;
  timeouts: Timeouts;
  traceparent?: string;
  /** Of a request for a message: what its `anthropic-beta` names. */
  betas?: string;
  /** Is asked while a whole answer is read; without it there is room for everything. */
  hold?: AnswerHold;
  /** Is asked while a stream is read; without it the stream is read as fast as it comes. */
  pace?: Pace;
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

/** What an upstream's list says of a model. */
export interface ListedModel {
  id: string;
  /** Absent where the list does not say. */
  contextWindow?: number;
  /** Empty when it is for nothing that is offered here; absent where the list does not say. */
  kinds?: readonly ModelKind[];
}

/** An upstream's models; `null` when something answers there, and lists none. */
export type ModelList = { models: readonly ListedModel[] | null } | { failure: UpstreamFailure };

export interface Provider {
  call(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall;
  /**
   * Asks an endpoint for the models that it has: no inference, which would cost, and no word on whether one would succeed.
   * Never rejects.
   */
  list(endpoint: Endpoint, timeoutMs: number): Promise<ModelList>;
  close(): Promise<void>;
}
