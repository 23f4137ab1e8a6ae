import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { countedCode } from '#shared/kernel/error-codes.ts';
import type { Span, Traces } from '#shared/process/traces/traces.ts';
import { type AccessLine, CLIENT_LEFT } from './answered.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of a request that is traced. */
    span: Span | null;
  }
}

/** Begins a span for each request that is routed, within the trace of its caller. `isFree`: what asks for nothing is not traced. */
export function beginSpans(
  app: FastifyInstance,
  traces: Traces,
  isFree: (request: IncomingMessage) => boolean,
): void {
  app.addHook('onRequest', (request, _reply, next) => {
    if (!isFree(request.raw)) request.span = beginSpan(traces, request.raw);
    next();
  });
}

/** Begins the span of one request. What a caller says of its trace is read, and is no reason to refuse anything. */
export function beginSpan(
  traces: Traces,
  { method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
): Span {
  const { traceparent, tracestate } = headers;
  return traces.begin(method, {
    kind: 'server',
    parent: typeof traceparent === 'string' ? traceparent : undefined,
    tracestate: typeof tracestate === 'string' ? tracestate : undefined,
  });
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
