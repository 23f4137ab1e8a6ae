import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { ApiEvents } from '#api/events.ts';
import { nextTurn } from '#shared/kernel/turns.ts';
import { parseJsonBodyInTurns } from '#api/openai/parse-json.ts';
import { guard, type GuardDeps, type Read, readPrompt } from './guard.ts';
import { prepare, type PrepareDeps, type Prepared } from './prepare.ts';
import { replyStream } from './reply-stream.ts';
import { replyWhole, type ReplyDeps } from './reply-whole.ts';
import type { Turnstile } from './turnstile.ts';

/** Bodies above this are read one at a time per organisation and in turns; below it, in a few milliseconds at most. */
const LARGE_BYTES = 32 * 1024;

/** Dependencies of the three operations that reach a model. */
export interface InferenceDeps extends PrepareDeps, GuardDeps, ReplyDeps {
  events: ApiEvents;
  turnstile: Turnstile;
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
  const rawBody = bodyOf(request);
  const { orgId } = request.credential;
  const isLarge = rawBody.length > LARGE_BYTES;
  if (isLarge) await deps.turnstile.enter(orgId);
  let prepared: Prepared;
  let read: Read;
  try {
    // Its client may have left while it waited.
    if (isLarge && reply.raw.destroyed) return reply.hijack();
    prepared = prepare(deps, route, {
      id: request.id,
      rawBody,
      ...(isLarge ? { json: await parseJsonBodyInTurns(rawBody) } : {}),
      headers: request.headers,
      credential: request.credential,
      now: deps.now(),
      letGo: () => {
        request.body = undefined;
        request.intake.release();
      },
    });
    if (isLarge) await nextTurn();
    const reading = readPrompt(deps, prepared);
    read = reading instanceof Promise ? await reading : reading;
  } finally {
    if (isLarge) deps.turnstile.leave(orgId);
  }
  await guard(deps, prepared, read);
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
