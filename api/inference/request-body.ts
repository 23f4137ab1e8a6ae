import type { FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';

/** The request is in the pipeline, answered or refused: its answer may take minutes, and nothing needs its body. */
export function letGo(request: FastifyRequest): void {
  request.body = undefined;
  request.intake.release();
}

/**
 * The body of a request, which stays counted until `letGo`, also when its client leaves: it may wait for a thread.
 * Without a content type and without a body there was nothing to be parsed.
 */
export function bodyOf(request: FastifyRequest): Buffer {
  const { rawBody } = (request.body ?? {}) as { rawBody?: Buffer };
  if (rawBody !== undefined) {
    request.intake.keep();
    return rawBody;
  }
  throw new Fault('invalid_content_type', {
    message: 'The body is missing. Send JSON, with the content type application/json.',
  });
}
