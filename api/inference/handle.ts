import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import type { ApiEvents } from '#api/events.ts';
import { noteAdmitted, noteAsked, noteRouted } from '#api/plugins/answered.ts';
import { admit, type AdmitDeps } from './admit/admit.ts';
import type { Admitted } from './admit/admitted.ts';
import { recall, type RecallDeps } from './admit/recall.ts';
import type { KeptResponses } from './kept/kept-responses.ts';
import { bodyOf, withBody } from './request-body.ts';
import { type Routed, routed, type RouteDeps } from './route.ts';
import { screened, type ScreenDeps } from './screen.ts';
import type { Read } from './read-prompt.ts';
import { RequestReader, type RequestReaderDeps } from './request-reader.ts';
import { replyStream, type StreamDeps } from './reply-stream.ts';
import { replyWhole } from './reply-whole.ts';

/** Dependencies of the operations that reach a model. */
export interface InferenceDeps
  extends RequestReaderDeps, RouteDeps, ScreenDeps, AdmitDeps, RecallDeps, StreamDeps {
  admissions: ScreenDeps['admissions'] & AdmitDeps['admissions'] & RecallDeps['admissions'];
  pendingReceipts: PendingReceipts;
  kept: Pick<KeptResponses, 'before' | 'hold' | 'keep' | 'has'>;
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
  const admitted = await withBody(request, () => run(deps, route, request, reply));
  if (admitted === null) return reply.hijack();
  const { run: own, names, exchange } = admitted;
  const replayOf = own === null ? names.requestId : undefined;
  noteRouted(request, names.model);
  noteAdmitted(request, { region: () => exchange.region, replayOf });
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
  const { id, credential } = request;
  const came = { id, route, rawBody: bodyOf(request), headers: traced(request), credential };
  const reader = new RequestReader(deps, came, () => reply.raw.destroyed);
  let chosen: Routed;
  let keeps: boolean;
  let prompt: Read;
  try {
    const unrouted = await reader.read();
    if (unrouted === null) return null;
    noteAsked(request, unrouted.asked.model, unrouted.entry);
    keeps = unrouted.keeps;
    if (unrouted.fingerprint !== undefined) {
      const recalled = await recall(deps, unrouted, await request.authenticateAgain());
      if (recalled !== null) return { ...recalled, mayBeKept: keeps };
    }
    const { entry, references } = unrouted;
    const isWhole = entry.previous === undefined && references === undefined;
    const whole = isWhole ? unrouted : await reader.goOn(unrouted);
    if (whole === null) return null;
    chosen = routed(deps, whole, request.credential);
    noteRouted(request, chosen.entry.model);
    prompt = await reader.readPrompt(chosen.resolution.model, chosen.entry);
  } finally {
    reader.leave();
  }
  const sized = withSize(chosen, prompt, request.credential);
  const allowed = await screened(deps, sized, prompt, request.credential);
  // A body may drip in for minutes, and be judged for seconds: the key is looked up again when that is over.
  const current = await request.authenticateAgain();
  const admitted = await admit(deps, allowed, prompt.forUpstream, current);
  return keeps ? withKeeping(deps, admitted, prompt.ownInput!, reply) : admitted;
}

/** The headers of a request. One that is traced is the parent of what follows of it; of another that is its caller's span. */
function traced({ headers, span }: FastifyRequest): FastifyRequest['headers'] {
  return span === null ? headers : { ...headers, traceparent: span.traceparent };
}

/** A request with the size of its body, which is counted where a budget is held against it. */
function withSize(chosen: Routed, { forUpstream }: Read, { budgets }: Credential): Routed {
  if (budgets.length === 0) return chosen;
  return { ...chosen, extent: { ...chosen.extent, bodyBytes: Buffer.byteLength(forUpstream) } };
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
