import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ErrorCode } from '#shared/kernel/error-codes.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { Span } from '#shared/process/traces/traces.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What is known yet of a request that asks for a model. */
    inference: InferenceNote | null;
  }
}

interface InferenceNote {
  /** The name by which it asked for the model. */
  readonly requestedModel: string;
  readonly stream: boolean;
  readonly tags: readonly string[] | undefined;
  /** The id in the catalogue, once it is chosen. */
  model?: string;
  /** Once it is admitted: where it runs, as far as that is known, and the request whose answer it is given again. */
  admitted?: Admission;
  /** When the first of a stream was sent, in the milliseconds of `arrivedAt`. */
  firstAt?: number;
  /** The receipt that its answer has, as text. */
  receipt?: string;
}

interface Admission {
  region: () => string | undefined;
  replayOf: string | undefined;
}

/** What became of one request, without anything that was said in it; of its address the route alone. */
export interface Answered {
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
  /** As its caller wrote it, known to us or not. */
  requestedModel?: string;
  region?: string;
  stream?: boolean;
  /** The address of its caller: of its connection, or as trusted proxies tell it. */
  address?: string;
  /** Each `key=value`. */
  tags?: readonly string[];
  /** As its receipt counts them, where its answer has one. */
  inputTokens?: number;
  outputTokens?: number;
  /** Until the upstream call that was answered, and how many there were, also where none was. */
  queuedMs?: number;
  calls?: number;
  /** From its headers to the first of a stream. */
  firstMs?: number;
  /** There is a receipt, or will be one. */
  hasReceipt: boolean;
  /** The request whose answer it was given again. */
  replayOf?: string;
  /** It took nothing of the daily budget: nothing ran for it, or it was given an answer again. */
  isFree: boolean;
  /** From its headers to the end of its answer. */
  ms: number;
}

/** What the access log says: the rest its caller wrote, or is for the record of requests alone. */
export type AccessLine = Omit<
  Answered,
  | 'requestedModel'
  | 'queuedMs'
  | 'calls'
  | 'firstMs'
  | 'hasReceipt'
  | 'replayOf'
  | 'isFree'
  | 'tags'
  | 'address'
>;

export const CLIENT_LEFT = 499;

/** Told of an answer, with the span of its request where that is traced. */
export type OnAnswered = (answered: Answered, span: Span | null) => void;

/** Has `tell` told of each request that is routed, when its answer has ended or its client has left. */
export function tellOfAnswers(app: FastifyInstance, tell: OnAnswered): void {
  app.addHook('onRequest', (request, reply, next) => {
    const { raw } = reply;
    // A connection that is closed does not tell any more.
    const { ip: address } = request;
    raw.once('close', () => {
      const { id: requestId, method, routeOptions, fault, inference } = request;
      // Public routes have none.
      const credential = request.credential as Credential | null;
      const status = raw.writableFinished ? raw.statusCode : CLIENT_LEFT;
      tell(
        {
          requestId,
          method,
          route: routeOptions.url ?? null,
          status,
          ...(fault === null ? {} : { code: fault.code }),
          ...(credential === null ? {} : { orgId: credential.orgId, keyId: credential.keyId }),
          address,
          ...(inference === null ? {} : known(inference, request.arrivedAt)),
          ...(fault?.calls === undefined ? {} : { calls: fault.calls }),
          hasReceipt: hasReceipt(inference, fault, status),
          isFree: inference?.admitted === undefined || inference.admitted.replayOf !== undefined,
          ms: Math.round(performance.now() - request.arrivedAt),
        },
        request.span,
      );
    });
    next();
  });
}

/** The line of the access log. */
export function accessLineOf({
  requestedModel: _requestedModel,
  queuedMs: _queuedMs,
  calls: _calls,
  firstMs: _firstMs,
  hasReceipt: _hasReceipt,
  replayOf: _replayOf,
  isFree: _isFree,
  tags: _tags,
  address: _address,
  ...line
}: Answered): AccessLine {
  return line;
}

/** Notes what a request asks for, once it is read. */
export function noteAsked(
  request: FastifyRequest,
  requestedModel: string,
  { stream, tags }: Pick<InferenceNote, 'stream'> & { tags?: readonly string[] },
): void {
  request.inference = { requestedModel, stream, tags };
}

/** Notes the model that was chosen for it. */
export function noteRouted({ inference }: FastifyRequest, model: string): void {
  if (inference !== null) inference.model = model;
}

/** Notes that it runs, or waits for the answer of an identical one. */
export function noteAdmitted({ inference }: FastifyRequest, admitted: Admission): void {
  if (inference !== null) inference.admitted = admitted;
}

/** Notes that the first of its stream is sent. */
export function noteFirst({ inference }: FastifyRequest): void {
  if (inference !== null) inference.firstAt ??= performance.now();
}

/** Notes the receipt of an answer, where there is one yet. */
export function noteReceipt({ inference }: FastifyRequest, receipt: string | null): void {
  if (inference !== null && receipt !== null) inference.receipt = receipt;
}

/**
 * What ran has a receipt, an answer that broke off or that its client did not wait for too. One that failed has one where its
 * error says so.
 */
function hasReceipt(inference: InferenceNote | null, fault: Fault | null, status: number): boolean {
  const ran = inference?.admitted !== undefined;
  // What an upstream has refused has none, also where that is told in a stream.
  const wasRefused = fault?.type === 'validation_error';
  if (ran && !wasRefused && (status < 400 || status === CLIENT_LEFT)) return true;
  return fault !== null && (fault.hasReceipt || 'x-receipt-id' in fault.headers);
}

function known(
  { requestedModel, stream, tags, model, admitted, firstAt, receipt = '' }: InferenceNote,
  arrivedAt: number,
): Partial<Answered> {
  const facts: Partial<Answered> = { requestedModel, stream };
  if (tags !== undefined) facts.tags = tags;
  // Where an identical request was answered, its receipt alone says where it ran.
  const region = admitted?.region() ?? codeIn(receipt, '"region":"');
  if (region !== undefined) facts.region = region;
  if (firstAt !== undefined) facts.firstMs = Math.round(firstAt - arrivedAt);
  if (admitted?.replayOf !== undefined) facts.replayOf = admitted.replayOf;
  if (model !== undefined) facts.model = model;
  if (receipt === '') return facts;
  const [inputTokens, outputTokens] = [
    numberIn(receipt, '"inputTokens":'),
    numberIn(receipt, '"outputTokens":'),
  ];
  if (inputTokens !== undefined) facts.inputTokens = inputTokens;
  if (outputTokens !== undefined) facts.outputTokens = outputTokens;
  // Those of an answer that is given again are another request's.
  if (admitted?.replayOf !== undefined) return facts;
  const [queuedMs, calls] = [numberIn(receipt, '"queuedMs":'), numberIn(receipt, '"attempts":')];
  if (queuedMs !== undefined) facts.queuedMs = queuedMs;
  if (calls !== undefined) facts.calls = calls;
  return facts;
}

/** The code of a region on a receipt. */
function codeIn(receipt: string, member: string): string | undefined {
  const found = receipt.indexOf(member);
  if (found === -1) return undefined;
  const from = found + member.length;
  return receipt.slice(from, receipt.indexOf('"', from));
}

/** A count on a receipt, which is of our own making: parsing all of it would be ten times the work. */
function numberIn(receipt: string, member: string): number | undefined {
  const found = receipt.indexOf(member);
  if (found === -1) return undefined;
  const number = Number.parseInt(
    receipt.slice(found + member.length, found + member.length + 16),
    10,
  );
  return Number.isNaN(number) ? undefined : number;
}
