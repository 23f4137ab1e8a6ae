import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { ApiEvents } from '#api/events.ts';
import { guard, type GuardDeps } from './guard.ts';
import { prepare, type PrepareDeps } from './prepare.ts';
import { replyStream } from './reply-stream.ts';
import { replyWhole, type ReplyDeps } from './reply-whole.ts';

/** Dependencies of the three operations that reach a model. */
export interface InferenceDeps extends PrepareDeps, GuardDeps, ReplyDeps {
  events: ApiEvents;
}

/**
 * One request from its bytes to its answer: `prepare` reads it, `guard` screens it, `replyWhole` and `replyStream` have
 * it admitted and send what comes back.
 * @throws Fault for what is refused, and for what fails before the first byte of a whole answer
 */
export async function handle(
  deps: InferenceDeps,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const prepared = prepare(deps, route, {
    id: request.id,
    rawBody: bodyOf(request),
    headers: request.headers,
    credential: request.credential,
    now: deps.now(),
  });
  await guard(deps, prepared);
  return prepared.entry.stream
    ? replyStream(deps, prepared, reply)
    : replyWhole(deps, prepared, reply);
}

/** Without a content type and without a body there was nothing to be parsed. */
function bodyOf(request: FastifyRequest): Buffer {
  const { rawBody } = (request.body ?? {}) as { rawBody?: Buffer };
  if (rawBody !== undefined) return rawBody;
  throw new Fault('invalid_content_type', {
    message: 'The body is missing. Send JSON, with the content type application/json.',
  });
}
