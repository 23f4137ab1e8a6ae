import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '#shared/kernel/inference.ts';
import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import type { ApiEvents } from '#api/events.ts';
import { admit, type AdmitDeps } from './admit/admit.ts';
import type { Admitted } from './admit/admitted.ts';
import { recall, type RecallDeps } from './admit/recall.ts';
import { enterReader, type ReadingDeps } from './enter-reader.ts';
import { bodyOf, letGo } from './request-body.ts';
import { type Routed, routed, type RouteDeps } from './route.ts';
import { screened, type ScreenDeps } from './screen.ts';
import type { Read } from './read-prompt.ts';
import { replyStream, type StreamDeps } from './reply-stream.ts';
import { replyWhole } from './reply-whole.ts';

/** Dependencies of the operations that reach a model. */
export interface InferenceDeps
  extends ReadingDeps, RouteDeps, ScreenDeps, AdmitDeps, RecallDeps, StreamDeps {
  admissions: ScreenDeps['admissions'] & AdmitDeps['admissions'] & RecallDeps['admissions'];
  pendingReceipts: PendingReceipts;
  events: ApiEvents;
}

/**
 * One request from its bytes to its answer. Each step takes what the one before it has returned, and changes nothing of it:
 * `read` parses the request, `recall` finds what an identical one has come to, `routed` chooses model and regions,
 * `readPrompt` and `screened` judge its texts, `admit` hands it to the pipeline, `replyWhole` and `replyStream` send what
 * comes back.
 * @throws Fault for what is refused, and for what fails before the first byte of a whole answer
 */
export async function handle(
  deps: InferenceDeps,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const admitted = await run(deps, route, request, reply);
  if (admitted === null) return reply.hijack();
  return admitted.entry.stream
    ? replyStream(deps, admitted, reply)
    : replyWhole(deps, admitted, reply);
}

/**
 * From a request's bytes to its place in the pipeline, or to an identical request that was there before it; null when its
 * client has left. Nothing of the body outlives this: while the answer is awaited, the pipeline has it.
 */
async function run(
  deps: InferenceDeps,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Admitted | null> {
  const { id, headers, credential } = request;
  const rawBody = bodyOf(request);
  const entering = enterReader(deps, rawBody.length, credential.orgId);
  const reader = entering instanceof Promise ? await entering : entering;
  let chosen: Routed;
  let prompt: Read;
  try {
    // Its client may have left while it waited.
    if (entering instanceof Promise && reply.raw.destroyed) return null;
    const reading = reader.read({ id, route, rawBody, headers, credential, now: deps.now() });
    const unrouted = reading instanceof Promise ? await reading : reading;
    if (unrouted.fingerprint !== undefined) {
      const recalled = await recall(deps, unrouted, await request.authenticateAgain());
      if (recalled !== null) {
        letGo(request);
        return recalled;
      }
    }
    chosen = routed(deps, unrouted, request.credential);
    const judging = reader.readPrompt(chosen.resolution.model);
    prompt = judging instanceof Promise ? await judging : judging;
  } finally {
    reader.leave();
  }
  const allowed = await screened(deps, chosen, prompt, request.credential);
  try {
    // A body may drip in for minutes, and be judged for seconds: the key is looked up again when that is over.
    return await admit(deps, allowed, prompt.forUpstream, await request.authenticateAgain());
  } finally {
    letGo(request);
  }
}
