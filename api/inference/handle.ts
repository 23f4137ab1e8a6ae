import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import type { ApiEvents } from '#api/events.ts';
import { admit, type AdmitDeps } from './admit/admit.ts';
import type { Admitted } from './admit/admitted.ts';
import { recall, type RecallDeps } from './admit/recall.ts';
import { enterReader, type ReadingDeps } from './enter-reader.ts';
import type { KeptResponses } from './kept/kept-responses.ts';
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
  kept: Pick<KeptResponses, 'conversation' | 'hold' | 'keep' | 'has'>;
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
 * client has left. Of the body only an input outlives this whose response is to be kept: while the answer is awaited, the
 * pipeline has it.
 */
async function run(
  deps: InferenceDeps,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Admitted | null> {
  const { id, headers, credential } = request;
  const rawBody = bodyOf(request);
  const { orgId } = credential;
  const entering = enterReader(deps, rawBody.length, orgId);
  const isOnThread = entering instanceof Promise;
  let reader: Awaited<typeof entering> | undefined = isOnThread ? await entering : entering;
  let chosen: Routed;
  let keeps: boolean;
  let prompt: Read;
  try {
    // Its client may have left while it waited.
    if (isOnThread && reply.raw.destroyed) return null;
    const raw = { id, route, rawBody, headers, credential, now: deps.now() };
    const reading = reader.read(raw);
    let unrouted = reading instanceof Promise ? await reading : reading;
    if (unrouted.fingerprint !== undefined) {
      const recalled = await recall(deps, unrouted, await request.authenticateAgain());
      if (recalled !== null) {
        letGo(request);
        return { ...recalled, mayBeKept: unrouted.keeps };
      }
    }
    const { previous } = unrouted.entry;
    if (previous !== undefined) {
      // A thread is not held while PostgreSQL is asked.
      if (isOnThread) {
        reader.leave();
        reader = undefined;
      }
      const asked = await deps.kept.conversation(
        { orgId, id: previous, use: 'go on' },
        async (turns) => {
          if (turns === null) throw new Fault('previous_response_not_found');
          if (reply.raw.destroyed) return null;
          const bytes = turns.reduce((sum, { length }) => sum + length, rawBody.length);
          // With its conversation it may be one for a thread.
          const again = enterReader(deps, bytes, orgId);
          if (again instanceof Promise || reader === undefined) {
            reader?.leave();
            reader = undefined;
            reader = await again;
            if (reply.raw.destroyed) return null;
            await reader.read(raw);
          }
          return reader.goOn(turns);
        },
      );
      if (asked === null) return null;
      unrouted = { ...unrouted, asked: { ...asked, regionHeader: unrouted.asked.regionHeader } };
    }
    keeps = unrouted.keeps;
    chosen = routed(deps, unrouted, request.credential);
    const judging = reader!.readPrompt(chosen.resolution.model);
    prompt = judging instanceof Promise ? await judging : judging;
  } finally {
    reader?.leave();
  }
  const allowed = await screened(deps, chosen, prompt, request.credential);
  try {
    // A body may drip in for minutes, and be judged for seconds: the key is looked up again when that is over.
    const current = await request.authenticateAgain();
    const admitted = await admit(deps, allowed, prompt.forUpstream, current);
    return keeps ? withKeeping(deps, admitted, prompt.ownInput!, reply) : admitted;
  } finally {
    letGo(request);
  }
}

/** A request whose response is to be kept: its input waits here for that, as long as there is a client for it. */
function withKeeping(
  { kept }: InferenceDeps,
  admitted: Admitted,
  input: string,
  { raw }: FastifyReply,
): Admitted {
  if (admitted.run === null) return { ...admitted, mayBeKept: true };
  const { orgId, id, previous = null } = admitted.run;
  const keeping = { orgId, id: answerIdOf('responses', id)!, previous, input };
  const release = raw.destroyed ? undefined : kept.hold(keeping);
  if (release === undefined) return admitted;
  raw.once('close', release);
  return { ...admitted, keeping };
}
