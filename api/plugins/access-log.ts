import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ErrorCode } from '#shared/kernel/error-codes.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { Span } from '#shared/process/traces/traces.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the access log says of a request that reached a model, as far as it is known yet. */
    inference: InferenceNote | null;
  }
}

interface InferenceNote {
  /** The id in the catalogue; undefined where an identical request was answered. */
  model: string | undefined;
  stream: boolean;
  /** Where it ran, once that is known. */
  region: () => string | undefined;
  /** The receipt that its answer has, as text. */
  receipt?: string;
}

/** One answer, without anything that its caller wrote: of its address the route alone. */
export interface AccessLine {
  requestId: string;
  method: string;
  /** The pattern of the route; null where there is none. */
  route: string | null;
  /** 499 for a client that left before the end of its answer. */
  status: number;
  /** Of an error, also of one behind the beginning of a stream. */
  code?: ErrorCode;
  orgId?: string;
  keyId?: string;
  model?: string;
  region?: string;
  stream?: boolean;
  /** As its receipt counts them, where its answer has one. */
  inputTokens?: number;
  outputTokens?: number;
  /** From its headers to the end of its answer. */
  ms: number;
}

export const CLIENT_LEFT = 499;

/** Told of an answer, with the span of its request where that is traced. */
export type OnAnswered = (line: AccessLine, span: Span | null) => void;

/** Has a line written for each request that is routed, when its answer has ended or its client has left. */
export function logAccess(app: FastifyInstance, write: OnAnswered): void {
  app.addHook('onRequest', (request, reply, next) => {
    const { raw } = reply;
    raw.once('close', () => {
      const { id: requestId, method, routeOptions, fault, inference } = request;
      // Public routes have none.
      const credential = request.credential as Credential | null;
      const line: AccessLine = {
        requestId,
        method,
        route: routeOptions.url ?? null,
        status: raw.writableFinished ? raw.statusCode : CLIENT_LEFT,
        ...(fault === null ? {} : { code: fault.code }),
        ...(credential === null ? {} : { orgId: credential.orgId, keyId: credential.keyId }),
        ...(inference === null ? {} : told(inference)),
        ms: Math.round(performance.now() - request.arrivedAt),
      };
      write(line, request.span);
    });
    next();
  });
}

/** Notes the receipt of an answer, where there is one yet. */
export function noteReceipt({ inference }: FastifyRequest, receipt: string | null): void {
  if (inference !== null && receipt !== null) inference.receipt = receipt;
}

function told({ model, stream, region, receipt = '' }: InferenceNote): Partial<AccessLine> {
  const place = region();
  const [input, output] = [numberIn(receipt, 'inputTokens'), numberIn(receipt, 'outputTokens')];
  return {
    ...(model === undefined ? {} : { model }),
    ...(place === undefined ? {} : { region: place }),
    stream,
    ...(input === undefined ? {} : { inputTokens: input }),
    ...(output === undefined ? {} : { outputTokens: output }),
  };
}

/** A count on a receipt, which is of our own making: parsing all of it would be ten times the work. */
function numberIn(receipt: string, field: string): number | undefined {
  const found = new RegExp(`"${field}":(\\d+)`).exec(receipt);
  return found === null ? undefined : Number(found[1]);
}
