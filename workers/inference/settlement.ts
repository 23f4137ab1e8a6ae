import { answerKey, begunKey, heldKey, receiptsLane } from '#shared/lanes/keys.ts';
import type { InferenceEntry, WireFault } from '#shared/lanes/messages.ts';
import { type Ending, receiptEntryOf } from '#shared/lanes/receipt-entry.ts';
import { type Claims, STORED_S } from '#shared/lanes/redis/claims.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { Outbox } from '#shared/lanes/redis/outbox.ts';
import { packAnswer, type StoredAnswer } from '#shared/lanes/stored-answer.ts';
import { encodeMessage } from '#shared/lanes/wire-format.ts';
import type { InferenceEvents } from './events.ts';
import { Replies, type RepliesDeps } from './replies.ts';

const TOO_LARGE: WireFault = {
  code: 'upstream_error',
  message: 'The answer to the first request with this key is too large to be kept.',
};
const BROKE_OFF: WireFault = {
  code: 'upstream_error',
  message: 'The first request with this key broke off.',
};

export interface SettlementDeps extends RepliesDeps {
  outbox: Pick<Outbox, 'send' | 'command' | 'done' | 'flushed'>;
  claims: Pick<Claims, 'free'>;
  events: Pick<InferenceEvents, 'runFinished' | 'runFailed'>;
  /** Epoch milliseconds. */
  now: () => number;
}

/** What a request has used until its end, and what its client was sent. */
export type Spent = Pick<Ending, 'usage' | 'calls' | 'responseDigest' | 'upstreamModel'>;

/**
 * Ends one delivery: sends the last reply, hands what happened to the receipts lane and takes the entry off its own, in
 * one transaction. A crash before it means that the entry is delivered again; a crash after it, that the receipt is on
 * its way.
 */
export class Settlement {
  readonly replies: Replies;
  readonly #deps: SettlementDeps;
  readonly #delivery: Delivery;
  readonly #entry: InferenceEntry;

  constructor(deps: SettlementDeps, delivery: Delivery, entry: InferenceEntry) {
    this.replies = new Replies(deps, entry, delivery.number);
    this.#deps = deps;
    this.#delivery = delivery;
    this.#entry = entry;
  }

  /** A whole answer: the client gets it, and it is kept where the request is idempotent. */
  async answered(text: string, spent: Spent): Promise<void> {
    const packed = await this.#pack({ frames: '', last: text });
    await this.replies.answer(text);
    await this.#complete(packed, spent);
  }

  /** A stream that came to its end. `frames` is what was sent before `last`; null when that is too large to be kept. */
  async streamed(frames: string | null, last: string, spent: Spent): Promise<void> {
    const packed = frames === null ? undefined : await this.#pack({ frames, last });
    this.replies.last(last);
    await this.#complete(packed, spent);
  }

  /** A stream that broke off: the client gets an error frame, and a receipt for what was sent until then. */
  async broke(fault: WireFault, spent: Spent): Promise<void> {
    this.replies.error(fault);
    await this.#incomplete('truncated', spent);
  }

  /** The client has left: no reply is sent, and what was used until then gets its receipt. */
  async left(spent: Spent): Promise<void> {
    await this.#incomplete('partial', spent);
  }

  /** No answer at all: an error reply, no receipt, and the idempotency key may be used again. */
  async failed(fault: WireFault): Promise<void> {
    this.replies.error(fault);
    await this.#freeClaim(fault);
    this.#leaveLane();
    this.#deps.events.runFailed(this.#entry, fault);
    await this.#deps.outbox.flushed();
  }

  /**
   * Makes an answer ready to be kept, which takes a while: before the last reply is queued, so that reply, stored answer
   * and hand-over are written together.
   */
  async #pack(stored: StoredAnswer): Promise<Buffer | undefined> {
    const { claim, id: requestId } = this.#entry;
    if (claim === undefined) return undefined;
    const name = { claim, requestId, delivery: this.#delivery.number };
    return packAnswer(this.#deps.seals, name, stored);
  }

  async #complete(packed: Buffer | undefined, spent: Spent): Promise<void> {
    const { claim, shard, id: requestId } = this.#entry;
    if (packed === undefined) await this.#freeClaim(TOO_LARGE);
    else if (claim !== undefined) {
      const key = answerKey({ claim, requestId, delivery: this.#delivery.number });
      this.#deps.outbox.command(shard, 'SET', key, packed, 'EX', STORED_S);
      // However long the receipt takes, the request must not be run again meanwhile.
      this.#deps.outbox.command(shard, 'EXPIRE', claim, STORED_S);
    }
    await this.#handOver('complete', spent, packed?.length);
  }

  /** What broke off is receipted, not kept: a retry with the same key runs again. */
  async #incomplete(outcome: 'partial' | 'truncated', spent: Spent): Promise<void> {
    await this.#freeClaim(BROKE_OFF);
    await this.#handOver(outcome, spent);
  }

  async #handOver(outcome: Ending['outcome'], spent: Spent, storedBytes?: number): Promise<void> {
    const { claim, shard } = this.#entry;
    const ending: Ending = { ...spent, outcome, endedAt: this.#deps.now() };
    const handed = receiptEntryOf(this.#entry, this.#delivery.number, ending);
    if (claim !== undefined && storedBytes !== undefined) {
      handed.claim = claim;
      handed.storedBytes = storedBytes;
    }
    const lane = receiptsLane(shard);
    this.#deps.outbox.command(shard, 'XADD', lane, '*', 'e', encodeMessage(handed));
    this.#leaveLane();
    this.#deps.events.runFinished(handed.record);
    await this.#deps.outbox.flushed();
  }

  #leaveLane(): void {
    const { shard, id, stream, bodyRef, region, orgId } = this.#entry;
    const { outbox } = this.#deps;
    if (stream) outbox.command(shard, 'DEL', begunKey(shard, id));
    if (bodyRef !== undefined) outbox.command(shard, 'DEL', bodyRef);
    outbox.command(shard, 'ZREM', heldKey(shard, region, orgId), id);
    outbox.done(this.#delivery);
  }

  /** The idempotency key may be used again; the requests that wait for this one fail with the same fault. */
  async #freeClaim(fault: WireFault): Promise<void> {
    const { claim, id: requestId } = this.#entry;
    if (claim === undefined) return;
    await this.#deps.claims.free({ claim, requestId, delivery: this.#delivery.number }, fault);
  }
}
