import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import type { Rate } from '#shared/kernel/plan.ts';
import type { ApiEvents } from '#api/events.ts';
import type { MemoryRates } from '#api/plugins/memory-rates.ts';
import { type BodyReader, ReaderHere } from './body-reader.ts';
import { admit, type AdmitDeps } from './admit/admit.ts';
import type { Admitted } from './admit/admitted.ts';
import { recall, type RecallDeps } from './admit/recall.ts';
import type { KeptResponses } from './kept/kept-responses.ts';
import type { LargeBodies } from './large-bodies.ts';
import { type Routed, routed, type RouteDeps } from './route.ts';
import { screened, type ScreenDeps } from './screen.ts';
import type { ReadDeps } from './read.ts';
import type { Read, ReadPromptDeps } from './read-prompt.ts';
import { replyStream, type StreamDeps } from './reply-stream.ts';
import { replyWhole } from './reply-whole.ts';

/** Bodies above this are read on a thread. */
const LARGE_BYTES = 64 * 1024;
/** Those up to this are not: to send one there and back takes 40 µs here, which is what it costs to read 4 KiB of plain words. */
const SMALL_BYTES = 4 * 1024;
/**
 * Bytes of those in between that are read here of one organisation; what is beyond goes to a thread and waits for itself.
 * The densest texts cost 0.12 µs a byte, so that none has more than a sixteenth of the event loop, and 31 ms of it at once.
 */
export const READ_HERE: Rate = { requestsPerSecond: 512 * 1024, burst: 256 * 1024 };

/** Dependencies of the three operations that reach a model. */
export interface InferenceDeps
  extends ReadDeps, ReadPromptDeps, RouteDeps, ScreenDeps, AdmitDeps, RecallDeps, StreamDeps {
  admissions: ScreenDeps['admissions'] & AdmitDeps['admissions'] & RecallDeps['admissions'];
  pendingReceipts: PendingReceipts;
  kept: Pick<KeptResponses, 'conversation' | 'hold' | 'keep' | 'has'>;
  events: ApiEvents;
  largeBodies: Pick<LargeBodies, 'enter' | 'warmSoon'>;
  /** Bytes of bodies that are read on the event loop, by organisation. */
  readHere: Pick<MemoryRates, 'take'>;
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
  const { length: bytes } = rawBody;
  const { orgId } = credential;
  const isLarge = (size: number): boolean =>
    size > LARGE_BYTES || (size > SMALL_BYTES && deps.readHere.take(orgId, size) > 0);
  deps.largeBodies.warmSoon();
  let desk = isLarge(bytes) ? await deps.largeBodies.enter(orgId) : null;
  let reader: BodyReader = desk ?? new ReaderHere(deps);
  let chosen: Routed;
  let keeps: boolean;
  let prompt: Read;
  try {
    // Its client may have left while it waited.
    if (desk !== null && reply.raw.destroyed) return null;
    const raw = { id, route, rawBody, headers, credential, now: deps.now() };
    const reading = reader.read(raw);
    let unrouted = reading instanceof Promise ? await reading : reading;
    // A body may drip in for minutes, and be judged for seconds: the key is looked up again when that is over.
    if (unrouted.fingerprint !== undefined) {
      const recalled = await recall(deps, unrouted, await request.authenticateAgain());
      if (recalled !== null) {
        letGo(request);
        return { ...recalled, mayBeKept: unrouted.keeps };
      }
    }
    const { previous } = unrouted.entry;
    if (previous !== undefined) {
      const turns = await conversationOf(deps, orgId, previous);
      if (desk === null && isLarge(turns.reduce((sum, { length }) => sum + length, bytes))) {
        desk = await deps.largeBodies.enter(orgId);
        reader = desk;
        await reader.read(raw);
      }
      const asked = await reader.goOn(turns);
      unrouted = { ...unrouted, asked: { ...asked, regionHeader: unrouted.asked.regionHeader } };
    }
    keeps = unrouted.keeps;
    chosen = routed(deps, unrouted, request.credential);
    const judging = reader.readPrompt(chosen.resolution.model);
    prompt = judging instanceof Promise ? await judging : judging;
  } finally {
    desk?.leave();
  }
  const allowed = await screened(deps, chosen, prompt, request.credential);
  try {
    const current = await request.authenticateAgain();
    const admitted = await admit(deps, allowed, prompt.forUpstream, current);
    return keeps ? withKeeping(deps, admitted, prompt.ownInput!, reply) : admitted;
  } finally {
    letGo(request);
  }
}

/** @throws Fault when it is not there */
async function conversationOf(
  { kept }: InferenceDeps,
  orgId: string,
  id: string,
): Promise<string[]> {
  const turns = await kept.conversation(orgId, id);
  if (turns === null) throw new Fault('previous_response_not_found');
  return turns;
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

/** The request is in the pipeline, or refused: its answer may take minutes, and nothing needs its body. */
function letGo(request: FastifyRequest): void {
  request.body = undefined;
  request.intake.release();
}

/** Without a content type and without a body there was nothing to be parsed. */
function bodyOf(request: FastifyRequest): Buffer {
  const { rawBody } = (request.body ?? {}) as { rawBody?: Buffer };
  if (rawBody !== undefined) return rawBody;
  throw new Fault('invalid_content_type', {
    message: 'The body is missing. Send JSON, with the content type application/json.',
  });
}
