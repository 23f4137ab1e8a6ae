/**
 * What travels on lanes and into inboxes. The number of a delivery is called `attempt` here, in the keys of Redis and in
 * the table of stored answers, and a record counts its calls to upstreams as `attempts`, as receipts do: processes of two
 * releases read each other's messages, so these names stay.
 */

import { BUDGET_MEASURES, type BudgetMeasure } from '#shared/kernel/budget-measures.ts';
import type { ErrorCode } from '#shared/kernel/error-codes.ts';
import { Fault } from '#shared/kernel/errors.ts';
import {
  type Failure,
  FAILURES,
  type InferenceRecord,
  OUTCOMES,
  RECORD_FIELDS,
  type Route,
  ROUTES,
} from '#shared/kernel/inference.ts';
import { type Plan, PLANS } from '#shared/kernel/plan.ts';

/**
 * The format that this build writes, and those that it reads: of entries, replies, claims and what is sealed, which all have
 * this one number. One that the release before cannot read has the next number, and is written by a release after the one
 * that reads it. A member more of what the api hands to workers needs none: who takes it does not serve beside who sends it
 * unless it knows the member (see `KNOWN`).
 */
export const LANE_FORMAT = { writes: 1, reads: [1] } as const;

/** The part of a hard budget that a request holds while it runs. */
export interface Reserve {
  /** The budget's id. */
  budget: string;
  /** When the period began, in epoch milliseconds. */
  since: number;
  measure: BudgetMeasure;
  /** As much as the request may use, in steps of the measure. */
  amount: number;
}

/** Head of an entry on an inference lane. The payload is the request body, our own fields removed. */
export interface InferenceEntry {
  id: string;
  orgId: string;
  keyId: string;
  shard: number;
  route: Route;
  model: string;
  /** The alias by which the request asked for it; absent when that was the id. */
  requestedModel?: string;
  region: string;
  tier: Plan;
  stream: boolean;
  /** The client asked for `stream_options.include_usage`. */
  includeUsage: boolean;
  /** The client wants nothing of what the model thinks. */
  omitsThoughts?: true;
  /** The types of tools that a request for a message had and its chat has not, as its answer names them. */
  ignoredTools?: string;
  /** The payload is a request for a message as it came, for endpoints that take such; without it, the chat that it became. */
  asMessage?: true;
  /** It goes to endpoints alone that speak the interface of its route themselves. */
  onlyNative?: true;
  /** What such a request named in `anthropic-beta`. */
  betas?: string;
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
  /** The id of the response that it goes on from. */
  previous?: string;
  /** Its tags, each `key=value`. */
  tags?: readonly string[];
  /** Parts of budgets that it holds. */
  reserves?: Reserve[];
  /** W3C trace context. */
  traceparent?: string;
  /** Where the request may go when its region fails it, the best first; a pinned one has no such region. */
  elsewhere?: string[];
  /**
   * What the regions that have failed it had of it: deliveries, calls to upstreams, and why a receipt says that it failed,
   * should nothing else come of it. Without that no call may have used anything.
   */
  before?: { deliveries: number; calls: number; failure?: Failure };
}

/** An entry on the receipts lane, which has no payload: what happened, and whom to tell. */
export interface ReceiptEntry {
  record: InferenceRecord;
  inbox: string;
  /** Number of the delivery that ended the request, from 1. */
  attempt: number;
  receipt: 'best_effort' | 'required';
  /** Parts of budgets that its receipt settles: of what is estimated. */
  reserves?: Reserve[];
  claim?: string;
  /** Size of the answer that is kept under the claim, compressed. */
  storedBytes?: number;
  /** Of a request that is traced: the span that its receipt belongs to, as W3C trace context. */
  traceparent?: string;
}

const REQUEST_MEMBERS = {
  id: true,
  orgId: true,
  keyId: true,
  shard: true,
  route: true,
  model: true,
  requestedModel: true,
  region: true,
  tier: true,
  stream: true,
  includeUsage: true,
  omitsThoughts: true,
  ignoredTools: true,
  asMessage: true,
  onlyNative: true,
  betas: true,
  inbox: true,
  startedAt: true,
  deadlineAt: true,
  salt: true,
  requestDigest: true,
  receipt: true,
  claim: true,
  bodyRef: true,
  previous: true,
  tags: true,
  reserves: true,
  traceparent: true,
  elsewhere: true,
  before: true,
} as const satisfies Record<keyof InferenceEntry, true>;

const OUTCOME_MEMBERS = {
  record: true,
  inbox: true,
  attempt: true,
  receipt: true,
  reserves: true,
  claim: true,
  storedBytes: true,
  traceparent: true,
} as const satisfies Record<keyof ReceiptEntry, true>;

/** Members that have one of these values. */
const REQUEST_VALUES: Values = { route: ROUTES, tier: PLANS };
const RECORD_VALUES: Values = { ...REQUEST_VALUES, outcome: OUTCOMES, failure: FAILURES };

type Values = Readonly<Record<string, readonly string[]>>;

/** Of parts of budgets: a worker that takes one of a measure for another counts what is not so. */
const RESERVE_VALUES: Values = { measure: BUDGET_MEASURES };
const RESERVES_KNOWN = namesOf(RESERVE_VALUES).map((name) => `reserves.${name}`);

/**
 * What this build knows of a request and of its outcome: members, and the values of those that have few. One that a worker
 * has never heard of may change what is asked for or what is signed, so it is not passed over.
 */
export const KNOWN = {
  request: [...Object.keys(REQUEST_MEMBERS), ...namesOf(REQUEST_VALUES), ...RESERVES_KNOWN],
  outcome: [
    ...Object.keys(OUTCOME_MEMBERS),
    ...RESERVES_KNOWN,
    ...[...Object.keys(RECORD_FIELDS), ...namesOf(RECORD_VALUES)].map((name) => `record.${name}`),
  ],
} as const;

function namesOf(values: Values): string[] {
  return Object.entries(values).flatMap(([member, known]) =>
    known.map((value) => `${member}=${value}`),
  );
}

/** The first of a request that this build does not know. */
export function unknownInRequest(entry: InferenceEntry): string | undefined {
  return (
    unknownMember(entry, REQUEST_MEMBERS) ??
    unknownValue(entry, REQUEST_VALUES) ??
    unknownReserve(entry)
  );
}

/** The same of what became of one. */
export function unknownInOutcome(entry: ReceiptEntry): string | undefined {
  const { record } = entry;
  const unknown = unknownMember(record, RECORD_FIELDS) ?? unknownValue(record, RECORD_VALUES);
  if (unknown !== undefined) return `record.${unknown}`;
  return unknownMember(entry, OUTCOME_MEMBERS) ?? unknownReserve(entry);
}

function unknownReserve({ reserves = [] }: Pick<InferenceEntry, 'reserves'>): string | undefined {
  for (const reserve of reserves) {
    const unknown = unknownValue(reserve, RESERVE_VALUES);
    if (unknown !== undefined) return `reserves.${unknown}`;
  }
  return undefined;
}

function unknownMember(message: object, known: object): string | undefined {
  for (const member in message) if (!Object.hasOwn(known, member)) return member;
  return undefined;
}

function unknownValue(message: object, values: Values): string | undefined {
  for (const member in values) {
    const value: unknown = Reflect.get(message, member);
    if (typeof value === 'string' && !values[member]!.includes(value)) return `${member}=${value}`;
  }
  return undefined;
}

interface ReplyHead {
  /** The request's id. */
  id: string;
  /** Number of the delivery that speaks, from 1; the api drops what comes of one that it has abandoned. */
  attempt: number;
  /**
   * Rises by one with each message of a delivery, so that one that comes twice is recognised, and one that comes before
   * others. A question without frames has the number of the message before it.
   */
  seq: number;
  /** The region that speaks, where it is not the one that the request was admitted to. */
  region?: string;
}

/** A whole answer. The payload is its JSON text without trailing white space; `ref` names it when it was too large. */
type AnswerReply = ReplyHead & { kind: 'answer'; ref?: string };
/** Stream frames, ready to be written to the socket. */
export type FramesReply = ReplyHead & {
  kind: 'frames';
  /** Whom to tell when the client has taken these and all before them, and which count to tell. */
  acknowledge?: { to: string; chars: number };
};
/** The JSON text of the chunk that will carry the receipt; the stream is complete after it. */
export type LastReply = ReplyHead & { kind: 'last' };
/** The request failed, before or after its first byte. */
export type ErrorReply = ReplyHead & { kind: 'error'; error: WireFault };
/** The signed receipt, as its exact bytes. */
type ReceiptReply = { id: string; attempt: number; kind: 'receipt' };
/** The receipt of this request, as its exact bytes; it is of the answer that another delivery gave. */
type ReceiptOfAnotherReply = { id: string; attempt: number; kind: 'receipt_of_another' };
/** A receipt was required and could not be made. */
type ReceiptFailedReply = {
  id: string;
  attempt: number;
  kind: 'receipt_failed';
  error: WireFault;
};
/** The request has gone to another region; nothing of it was answered before. */
type MovedReply = { id: string; attempt: number; kind: 'moved'; region: string; entryId: string };
/** The request that this one waited for has finished; its answer is stored under the claim. */
type SettledReply = { id: string; kind: 'settled' };

export type Reply =
  | AnswerReply
  | FramesReply
  | LastReply
  | ErrorReply
  | ReceiptReply
  | ReceiptOfAnotherReply
  | ReceiptFailedReply
  | MovedReply
  | SettledReply;

/** A `Fault` on the wire. */
export interface WireFault {
  code: ErrorCode;
  message: string;
  param?: string;
  retryAfterMs?: number;
  /** The request has a receipt all the same. */
  hasReceipt?: true;
  /** Calls to upstreams that were made for it, where its receipt counts them. */
  calls?: number;
  /** The items of a response that broke off, as far as they came. */
  output?: readonly unknown[];
}

/** The parts of a refusal that the api process with the caller's connection needs. */
export function wireFault({ code, message, param, retryAfterMs, hasReceipt }: Fault): WireFault {
  const fault: WireFault = { code, message };
  if (param !== null) fault.param = param;
  if (retryAfterMs !== undefined) fault.retryAfterMs = retryAfterMs;
  if (hasReceipt) fault.hasReceipt = true;
  return fault;
}

/** The refusal that was put on the wire. */
export function faultOfWire({ code, ...details }: WireFault): Fault {
  return new Fault(code, details);
}

/** Sent by an api process to an inference worker: the client of this request has gone. */
export interface Cancellation {
  kind: 'cancel';
  id: string;
}

/** Sent by an api process to an inference worker: the client has so many characters of the stream, or wants no more of it. */
export interface Taken {
  kind: 'taken';
  id: string;
  chars: number;
}

/** Written by a process into its own inbox, so that the inbox exists before others write to it. */
export interface Greeting {
  kind: 'hello';
}

/** Head of a stored answer. The payload is the frames of a stream; `last` the text that carries the receipt. */
export interface StoredAnswerHead {
  last: string;
}
