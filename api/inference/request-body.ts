import type { FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';

/**
 * Does what needs a body, and lets go of it: its answer may take minutes. Of a request that is refused the body stays, since
 * its length is what the refusal costs its caller.
 */
export async function withBody<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T> {
  try {
    const done = await work();
    request.body = undefined;
    return done;
  } finally {
    request.intake.release();
  }
}

/**
 * The body of a request, which stays counted until `withBody` ends, also when its client leaves: it may wait for a thread.
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
