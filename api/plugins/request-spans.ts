import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { countedCode } from '#shared/kernel/error-codes.ts';
import type { Rate } from '#shared/kernel/plan.ts';
import type { Span, Traces } from '#shared/process/traces/traces.ts';
import { type AccessLine, CLIENT_LEFT } from './answered.ts';
import { MemoryRates } from './memory-rates.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of a request that is traced. */
    span: Span | null;
  }
}

/**
 * Requests of one caller that a process traces. It has room for 2,048 spans of a second, of which a request leaves four in a
 * worker: one caller takes a quarter, also where it says that all of its traces are to be recorded.
 */
const TRACED: Rate = { requestsPerSecond: 128, burst: 256 };

/** Begins the spans of requests, each within the trace of its caller. */
export class RequestSpans {
  readonly #traces: Traces;
  readonly #callerOf: (request: IncomingMessage) => string;
  readonly #traced: MemoryRates;

  /** `callerOf`: whose bound a request counts for. `now` in monotonic milliseconds. */
  constructor(traces: Traces, callerOf: (request: IncomingMessage) => string, now?: () => number) {
    this.#traces = traces;
    this.#callerOf = callerOf;
    this.#traced = new MemoryRates(TRACED, now);
  }

  /** For each request that is routed. `isFree`: what asks for nothing is not traced. */
  beginAll(app: FastifyInstance, isFree: (request: IncomingMessage) => boolean): void {
    app.addHook('onRequest', (request, _reply, next) => {
      if (!isFree(request.raw)) request.span = this.begin(request.raw);
      next();
    });
  }

  /** For one request. What a caller says of its trace is read, and is no reason to refuse anything. */
  begin(request: IncomingMessage): Span {
    const { method = '', headers } = request;
    const { traceparent, tracestate } = headers;
    return this.#traces.begin(method, {
      kind: 'server',
      parent: typeof traceparent === 'string' ? traceparent : undefined,
      tracestate: typeof tracestate === 'string' ? tracestate : undefined,
      isUnrecorded: this.#traced.take(this.#callerOf(request)) > 0,
    });
  }
}

/** Ends it with what the access log says of the answer, so that the two agree. */
export function endSpan(span: Span, line: AccessLine): void {
  const { requestId, method, route, status, code } = line;
  const isLeft = status === CLIENT_LEFT;
  span.end({
    name: route === null ? method : `${method} ${route}`,
    errorType: isLeft ? 'client_left' : code && countedCode(code),
    // An error behind the beginning of a stream is the service's, with the status of an answer.
    isCallers: status >= 400 && status < 500,
    attributes: {
      'http.request.method': method,
      'http.route': route ?? undefined,
      'http.response.status_code': isLeft ? undefined : status,
      'docket.request_id': requestId,
      'docket.org_id': line.orgId,
      'docket.key_id': line.keyId,
      'docket.model': line.model,
      'docket.region': line.region,
      'docket.stream': line.stream,
    },
  });
}
