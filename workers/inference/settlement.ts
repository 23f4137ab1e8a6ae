import type { InferenceRecord, Outcome, Usage } from '../../shared/domain/inference.ts';
import { answerKey, begunKey, receiptsLane } from '../../shared/lanes/keys.ts';
import type { LaneEntry } from '../../shared/lanes/lane-consumer.ts';
import type { InferenceEntry, ReceiptEntry, WireFault } from '../../shared/lanes/messages.ts';
import { packAnswer, type StoredAnswer } from '../../shared/lanes/stored-answer.ts';
import { encodeMessage } from '../../shared/lanes/wire-format.ts';
import type { Replies } from './replies.ts';
import type { RunDeps } from './run-deps.ts';

/** A stored answer is kept until its receipt settles the claim, which then gives it its 24 hours. */
const UNSETTLED_ANSWER_S = 86_400;

export interface Spent {
  usage: Usage;
  /** Calls made to upstreams, failed ones included. */
  calls: number;
  /** Absent when the bytes that were sent are not known any more. */
  responseDigest?: string;
  /** The upstream's name for the model. */
  upstreamModel?: string;
}

/**
 * Ends one delivery: hands what happened to the receipts lane and takes the entry off its own, in one transaction.
 * A crash before it means that the entry is delivered again; a crash after it means that the receipt is on its way.
 */
export class Settlement {
  readonly #deps: RunDeps;
  readonly #lane: LaneEntry;
  readonly #entry: InferenceEntry;

  constructor(deps: RunDeps, lane: LaneEntry, entry: InferenceEntry) {
    this.#deps = deps;
    this.#lane = lane;
    this.#entry = entry;
  }

  /** A whole answer: it gets its receipt, and is kept for replays when the request is idempotent. */
  async complete(done: Spent & { stored: StoredAnswer }): Promise<void> {
    const { claim, shard } = this.#entry;
    if (claim !== undefined) {
      const packed = packAnswer(done.stored);
      this.#deps.outbox.command(shard, 'SET', answerKey(claim), packed, 'EX', UNSETTLED_ANSWER_S);
    }
    await this.#handOver('complete', done);
  }

  /** An answer that broke off. It is receipted, not kept: a retry with the same key runs again. */
  async incomplete(outcome: Extract<Outcome, 'partial' | 'truncated'>, done: Spent): Promise<void> {
    await this.#freeClaim({
      code: 'upstream_error',
      message: 'The first request with this key broke off.',
    });
    await this.#handOver(outcome, done);
  }

  /** No answer at all: an error reply, no receipt, and the idempotency key may be used again. */
  async failed(fault: WireFault, replies: Replies): Promise<void> {
    replies.error(fault);
    await this.#freeClaim(fault);
    this.#leaveLane();
    this.#deps.events.runFailed(this.#entry, fault);
    await this.#deps.outbox.flushed();
  }

  async #handOver(outcome: Outcome, done: Spent): Promise<void> {
    const entry = this.#entry;
    const handed: ReceiptEntry = {
      record: this.#recordOf(outcome, done),
      inbox: entry.inbox,
      attempt: this.#lane.attempt,
      receipt: entry.receipt,
    };
    if (entry.claim !== undefined && outcome === 'complete') handed.claim = entry.claim;
    this.#deps.outbox.command(
      entry.shard,
      'XADD',
      receiptsLane(entry.shard),
      '*',
      'e',
      encodeMessage(handed),
    );
    this.#leaveLane();
    this.#deps.events.runFinished(handed.record);
    await this.#deps.outbox.flushed();
  }

  #recordOf(
    outcome: Outcome,
    { usage, calls, responseDigest, upstreamModel }: Spent,
  ): InferenceRecord {
    const entry = this.#entry;
    const record: InferenceRecord = {
      requestId: entry.id,
      organisationId: entry.organisationId,
      keyId: entry.keyId,
      route: entry.route,
      model: entry.model,
      region: entry.region,
      tier: entry.tier,
      startedAt: entry.startedAt,
      endedAt: this.#deps.now(),
      usage,
      attempts: calls,
      salt: entry.salt,
      requestDigest: entry.requestDigest,
      outcome,
    };
    if (responseDigest !== undefined) record.responseDigest = responseDigest;
    if (upstreamModel !== undefined) record.upstreamModel = upstreamModel;
    return record;
  }

  #leaveLane(): void {
    const { shard, id, stream, bodyRef } = this.#entry;
    const { outbox } = this.#deps;
    if (stream) outbox.command(shard, 'DEL', begunKey(shard, id));
    if (bodyRef !== undefined) outbox.command(shard, 'DEL', bodyRef);
    outbox.done(shard, this.#lane.lane, this.#lane.id);
  }

  /** Frees the idempotency key and tells everyone who waited for this request. */
  async #freeClaim(fault: WireFault): Promise<void> {
    const { claim, id } = this.#entry;
    if (claim === undefined) return;
    for (const { inbox, requestId } of await this.#deps.freeClaim(claim, id)) {
      const head = { id: requestId, attempt: 1, seq: 1, kind: 'error', error: fault };
      this.#deps.outbox.send(inbox, encodeMessage(head));
    }
  }
}
