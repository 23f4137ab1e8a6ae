import { Fault } from '#shared/kernel/errors.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { inferenceLane } from '#shared/lanes/keys.ts';
import {
  type ErrorReply,
  faultOfWire,
  type FramesReply,
  type InferenceEntry,
  type LastReply,
  type Reply,
} from '#shared/lanes/messages.ts';
import type { Place } from '#shared/lanes/redis/hand-on.ts';
import { startSaltedDigest } from '#shared/receipts/digest.ts';
import { receiptedEvent } from '#shared/receipts/response-events.ts';
import type { UnroutedEntry } from '../read.ts';

export interface LanePlace {
  region: string;
  lane: string;
  entryId: string;
}

/** What has become of a request, as far as its api process has heard. */
export interface ExchangeState {
  /**
   * `waiting` for the first word of it; `streaming`: the client has had something of it; `answered`: whole, or to its last
   * payload; `joined`: the answer is that of an identical request; `ended`: nothing more is expected.
   */
  is: 'waiting' | 'streaming' | 'answered' | 'joined' | 'ended';
  /** The request: as it was admitted, once it is. */
  entry: Readonly<UnroutedEntry>;
  /** Where the request is, once it is admitted to run. */
  place: Readonly<LanePlace> | undefined;
  /** The region whose answer it is, as far as that is known. */
  region: string | undefined;
  /** Whether it holds a lease, which a stream does from its admission on. */
  isLeased: boolean;
  /** The request of the claim that this one waits for. */
  waitsFor: string | undefined;
  /** Number of the delivery that is listened to, and of the last message of it that was taken. */
  delivery: number;
  seq: number;
  /** The end of a delivery that came before the frames in front of it, which go another way. */
  ahead: Readonly<{ reply: LastReply | ErrorReply; payload: string }> | undefined;
  /** The delivery whose frames the client has had. */
  sentOf: number | undefined;
  /** What each delivery has answered, whole or as the last payload of a stream: the receipt may be of any of them. */
  answers: ReadonlyMap<number, string>;
  receipt: Readonly<{ delivery: number; text: string }> | undefined;
  /** It was not known to have ended when it was last looked at. */
  wasSeenOpen: boolean;
}

export type ExchangeEvent =
  /** The request is on a lane. */
  | { kind: 'admitted'; entry: InferenceEntry; entryId: string }
  /** The answer is that of an identical request: the one that is named runs, or (null) it is stored already. */
  | { kind: 'joined'; requestId: string | null }
  | { kind: 'reply'; reply: Reply; payload: string }
  /** An answer that was too large for its message; null when it is no longer there. */
  | { kind: 'fetched'; delivery: number; text: string | null }
  /** The receipt is late; `isEnded`: the pipeline has written how the request ended. */
  | { kind: 'late'; isEnded: boolean }
  /** It has gone to another region: that is where it is looked for from now on. */
  | { kind: 'moved'; place: Place }
  /** The pipeline has been silent for too long. */
  | { kind: 'silent' }
  | { kind: 'failed'; fault: Fault }
  /** The client has gone. */
  | { kind: 'left' }
  /** Nothing more is wanted: the request was not admitted, or its answer comes from elsewhere. */
  | { kind: 'closed' };

/** What is to be done about it, in this order. */
export type Act =
  | { do: 'send'; frames: string; reply: FramesReply }
  | { do: 'fetch'; delivery: number; ref: string }
  /** Unless it is waited for already. */
  | { do: 'wait for the receipt' }
  | { do: 'stop waiting for the pipeline' }
  | { do: 'cancel' }
  | { do: 'note that the client left' }
  | { do: 'answer'; payload: string; receipt: string | null }
  | { do: 'answer from the store' }
  | { do: 'refuse'; fault: Fault };

export type Step = readonly [state: ExchangeState, acts: readonly Act[]];

const NO_ACTS: readonly Act[] = [];

export function begun(entry: Readonly<UnroutedEntry>): ExchangeState {
  return {
    is: 'waiting',
    entry,
    place: undefined,
    region: undefined,
    isLeased: false,
    waitsFor: undefined,
    delivery: 1,
    seq: 0,
    ahead: undefined,
    sentOf: undefined,
    answers: new Map(),
    receipt: undefined,
    wasSeenOpen: false,
  };
}

/**
 * What an event makes of an exchange: answer and receipt are joined, what belongs to an abandoned delivery or comes twice is
 * dropped, and one of `answer` and `refuse` ends it; of a claim that is settled `answer from the store`, which stays open until it is sent.
 */
export function afterEvent(state: ExchangeState, event: ExchangeEvent): Step {
  // Where a request went is known after its caller was told that it failed, too.
  if (event.kind === 'admitted') return admitted(state, event);
  if (event.kind === 'moved') return moved(state, event.place);
  if (state.is === 'ended') return [state, NO_ACTS];
  switch (event.kind) {
    case 'joined':
      return joined(state, event.requestId);
    case 'reply':
      return afterReply(state, event.reply, event.payload);
    case 'fetched':
      if (event.text !== null) return answered(state, event.delivery, event.text);
      return event.delivery === state.delivery ? refused(state, ANSWER_LOST) : [state, NO_ACTS];
    case 'late':
      return afterLateReceipt(state, event.isEnded);
    case 'silent':
      return [ended(state), [{ do: 'cancel' }, { do: 'refuse', fault: GAVE_UP }]];
    case 'failed':
      return refused(state, event.fault);
    case 'left':
      // A request with an Idempotency-Key runs on: its client may come back for the answer.
      return [
        ended(state),
        state.entry.claim === undefined ? [{ do: 'note that the client left' }] : NO_ACTS,
      ];
    case 'closed':
      break;
  }
  return [ended(state), NO_ACTS];
}

function admitted(
  state: ExchangeState,
  { entry, entryId }: { entry: InferenceEntry; entryId: string },
): Step {
  const { shard, region, stream } = entry;
  const place = { region, lane: inferenceLane(shard, region), entryId };
  return [{ ...state, entry, place, region, isLeased: stream }, NO_ACTS];
}

function joined(state: ExchangeState, requestId: string | null): Step {
  const next: ExchangeState = { ...state, is: 'joined', isLeased: state.entry.stream };
  return requestId === null ? stored(next) : [{ ...next, waitsFor: requestId }, NO_ACTS];
}

/** Nothing of the pipeline is awaited any more; what is sent keeps its lease until it is closed. */
function stored(state: ExchangeState): Step {
  return [{ ...state, waitsFor: undefined }, [{ do: 'stop waiting for the pipeline' }]];
}

function moved(state: ExchangeState, { region, entryId }: Place): Step {
  if (state.place === undefined) return [state, NO_ACTS];
  const place = { region, lane: inferenceLane(state.entry.shard, region), entryId };
  return [{ ...state, place, region }, NO_ACTS];
}

function afterReply(state: ExchangeState, reply: Reply, payload: string): Step {
  if (reply.kind === 'settled') {
    const [next, acts] = stored(state);
    return [next, [...acts, { do: 'answer from the store' }]];
  }
  if (reply.attempt < state.delivery) {
    // What an abandoned delivery says is dropped, but the request's receipt may be of its answer.
    return reply.kind === 'receipt' ? joinedWith(state, reply.attempt, payload) : [state, NO_ACTS];
  }
  const isOfAnswer = reply.kind === 'frames' || reply.kind === 'last' || reply.kind === 'answer';
  if (isOfAnswer && state.sentOf !== undefined && state.sentOf !== reply.attempt) {
    // A second delivery begins from the start; what the client has already seen cannot be taken back.
    const [next, acts] = refused(state, RESTARTED);
    return [next, state.entry.claim === undefined ? [{ do: 'cancel' }, ...acts] : acts];
  }
  const seqBefore = reply.attempt > state.delivery ? 0 : state.seq;
  const seq = 'seq' in reply ? reply.seq : seqBefore;
  const isQuestion = reply.kind === 'frames' && payload === '';
  if (isQuestion && seq === seqBefore) return [state, [{ do: 'send', frames: '', reply }]];
  if ('seq' in reply && seq <= seqBefore) return [state, NO_ACTS];
  if (seq > seqBefore + 1) return afterGap(state, reply, payload);
  const region = 'region' in reply && reply.region !== undefined ? reply.region : state.region;
  const next = { ...state, delivery: reply.attempt, seq, region };
  switch (reply.kind) {
    case 'moved':
      return moved(next, reply);
    case 'frames': {
      const is = state.is === 'answered' ? 'answered' : 'streaming';
      const streaming: ExchangeState = { ...next, is, sentOf: reply.attempt };
      return withEnd(streaming, { do: 'send', frames: payload, reply });
    }
    case 'answer':
      if (reply.ref === undefined) return answered(next, reply.attempt, payload);
      return [
        { ...next, is: 'answered' },
        [{ do: 'fetch', delivery: reply.attempt, ref: reply.ref }],
      ];
    case 'last':
      return answered(next, reply.attempt, payload);
    case 'receipt':
      return joinedWith(next, reply.attempt, payload);
    case 'receipt_of_another':
      return afterReceiptOfAnother(next, reply.attempt, payload);
    case 'error':
      // Its delivery has answered already: it has not heard that its outcome was written.
      if (state.answers.has(reply.attempt)) return [next, NO_ACTS];
      break;
    case 'receipt_failed':
      break;
  }
  return refused(next, faultOfWire(reply.error));
}

/**
 * What ends a stream may overtake its frames, and waits for them. Frames that are missing in front of others come no more:
 * what a client has of a stream has no holes.
 */
function afterGap(state: ExchangeState, reply: Reply, payload: string): Step {
  if (reply.kind === 'last' || reply.kind === 'error') {
    const { ahead } = state;
    // Behind an end comes what is said where it is not known whether that was written: the end is what counts.
    const isBehind = ahead?.reply.attempt === reply.attempt && ahead.reply.seq < reply.seq;
    return [isBehind ? state : { ...state, ahead: { reply, payload } }, NO_ACTS];
  }
  const [next, acts] = refused(state, PART_LOST);
  return [next, state.entry.claim === undefined ? [{ do: 'cancel' }, ...acts] : acts];
}

/** Goes on with the end of a stream that has come already, once all in front of it is there. */
function withEnd(state: ExchangeState, act: Act): Step {
  const { ahead } = state;
  if (ahead?.reply.attempt !== state.delivery || ahead.reply.seq !== state.seq + 1)
    return [state, [act]];
  const [next, acts] = afterReply({ ...state, ahead: undefined }, ahead.reply, ahead.payload);
  return [next, [act, ...acts]];
}

function answered(state: ExchangeState, delivery: number, payload: string): Step {
  const answers = new Map(state.answers).set(delivery, payload);
  const [next, acts] = whenJoined({ ...state, is: 'answered', answers });
  return [next, next.is === 'ended' ? acts : [{ do: 'wait for the receipt' }]];
}

function joinedWith(state: ExchangeState, delivery: number, text: string): Step {
  return whenJoined({ ...state, receipt: { delivery, text } });
}

/** Answer and receipt belong together only when the same delivery made them. */
function whenJoined(state: ExchangeState): Step {
  const { receipt, answers } = state;
  const payload = receipt && answers.get(receipt.delivery);
  return payload === undefined ? [state, NO_ACTS] : finished(state, payload, receipt!.text);
}

/**
 * What goes out without its receipt must be what the receipt will be of. So nothing does while the worker may be dead that
 * answered, and another about to. Where that has been seen, the other's answer is on its way once the request has ended.
 */
function afterLateReceipt(state: ExchangeState, isEnded: boolean): Step {
  if (!isEnded || state.wasSeenOpen) {
    return [{ ...state, wasSeenOpen: !isEnded }, [{ do: 'wait for the receipt' }]];
  }
  // The receipt will be of the last answer that was heard of.
  return finished(state, state.answers.get(Math.max(...state.answers.keys()))!, null);
}

/**
 * The receipt is not of what this delivery has answered: what the client gets is the answer that it is of. Of a
 * receipt that could not be opened on its way it is not known which that is: it comes by itself, or is late.
 */
function afterReceiptOfAnother(before: ExchangeState, delivery: number, receipt: string): Step {
  const answers = new Map(before.answers);
  answers.delete(delivery);
  const state = { ...before, answers };
  if (receipt === '' && answers.size > 0) return whenJoined(state);
  for (const payload of answers.values())
    if (isOf(receipt, payload, state.entry)) return finished(state, payload, receipt);
  if (state.entry.claim === undefined || state.sentOf !== undefined) {
    return refused(state, RECEIPT_OF_ANOTHER);
  }
  return [ended(state), [{ do: 'answer from the store' }]];
}

/** Whether a receipt is of an answer of which the client has seen nothing yet. */
function isOf(
  receipt: string,
  payload: string,
  { salt, route, stream }: Pick<UnroutedEntry, 'salt' | 'route' | 'stream'>,
): boolean {
  const receipted = route === 'responses' && stream ? receiptedEvent(payload) : payload;
  const digest = startSaltedDigest(salt)
    .update(receipted ?? '')
    .end();
  return receipt.includes(multihashOf(digest, 'responseDigest'));
}

function finished(state: ExchangeState, payload: string, receipt: string | null): Step {
  return [ended(state), [{ do: 'answer', payload, receipt }]];
}

function refused(state: ExchangeState, fault: Fault): Step {
  return [ended(state), [{ do: 'refuse', fault }]];
}

function ended(state: ExchangeState): ExchangeState {
  return { ...state, is: 'ended' };
}

const GAVE_UP = new Fault('upstream_timeout', { message: 'The request was not finished in time.' });
const RESTARTED = new Fault('worker_lost', {
  message: 'The process that ran this request was lost after the stream had begun. Try again.',
});
const RECEIPT_OF_ANOTHER = new Fault('worker_lost', {
  hasReceipt: true,
  message:
    'The request ran twice, and its receipt is of the answer that did not arrive. Try again.',
});
const PART_LOST = new Fault('worker_lost', {
  message: 'A part of the stream was lost on its way. Try again.',
});
const ANSWER_LOST = new Fault('dispatch_unavailable', {
  hasReceipt: true,
  message: 'The answer was lost. Try again.',
});
