import type { ErrorCode } from '#shared/kernel/errors.ts';
import type { InferenceRecord, Route } from '#shared/kernel/inference.ts';
import type { Plan } from '#shared/kernel/plan.ts';

/** Head of an entry on an inference lane. The payload is the request body, our own fields removed. */
export interface InferenceEntry {
  id: string;
  orgId: string;
  keyId: string;
  shard: number;
  route: Route;
  model: string;
  region: string;
  tier: Plan;
  stream: boolean;
  /** The client asked for `stream_options.include_usage`. */
  includeUsage: boolean;
  /** Process id of the api process that holds the connection. */
  inbox: string;
  /** Epoch milliseconds when the api took the request, and when its answer is no longer wanted. */
  startedAt: number;
  deadlineAt: number;
  salt: string;
  requestDigest: string;
  /** `required`: a methodology failure is an error, not a degraded receipt. */
  receipt: 'best_effort' | 'required';
  /** Key of the idempotency claim that this request holds. */
  claim?: string;
  /** Key under which the body waits, when it was too large for the lane. */
  bodyRef?: string;
  /** W3C trace context. */
  traceparent?: string;
}

/** Head of an entry on the receipts lane: what happened, and whom to tell. */
export interface ReceiptEntry {
  record: InferenceRecord;
  inbox: string;
  attempt: number;
  receipt: 'best_effort' | 'required';
  claim?: string;
  /** Size of the answer that is kept under the claim, compressed. */
  storedBytes?: number;
}

interface ReplyHead {
  /** The request's id. */
  id: string;
  /** Which delivery of the entry speaks; the api drops chunks of an attempt it has abandoned. */
  attempt: number;
  /** Rises by one with each message of an attempt, so that a repeated flush is recognised. */
  seq: number;
}

/** A whole answer. The payload is its JSON text without trailing white space; `ref` names it when it was too large. */
type AnswerReply = ReplyHead & { kind: 'answer'; ref?: string };
/** Stream frames, ready to be written to the socket. */
type FramesReply = ReplyHead & { kind: 'frames' };
/** The JSON text of the chunk that will carry the receipt; the stream is complete after it. */
type LastReply = ReplyHead & { kind: 'last' };
/** The request failed, before or after its first byte. */
type ErrorReply = ReplyHead & { kind: 'error'; error: WireFault };
/** The signed receipt, as its exact bytes. */
type ReceiptReply = { id: string; attempt: number; kind: 'receipt' };
/** A receipt was required and could not be made. */
type ReceiptFailedReply = {
  id: string;
  attempt: number;
  kind: 'receipt_failed';
  error: WireFault;
};
/** The request that this one waited for has finished; its answer is stored under the claim. */
type SettledReply = { id: string; kind: 'settled' };

export type Reply =
  | AnswerReply
  | FramesReply
  | LastReply
  | ErrorReply
  | ReceiptReply
  | ReceiptFailedReply
  | SettledReply;

/** A `Fault` on the wire. */
export interface WireFault {
  code: ErrorCode;
  message: string;
  param?: string;
  retryAfterMs?: number;
}

/** What an api process tells an inference worker. */
export interface Cancellation {
  kind: 'cancel';
  id: string;
}
