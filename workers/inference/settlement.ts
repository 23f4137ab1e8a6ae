import type { InferenceRecord, Outcome, Usage } from '#shared/kernel/inference.ts';
import { STORED_S } from '#shared/lanes/redis/claims.ts';
import { answerKey, begunKey, receiptsLane } from '#shared/lanes/keys.ts';
import type { LaneEntry } from '#shared/lanes/redis/lane-consumer.ts';
import type { InferenceEntry, ReceiptEntry, WireFault } from '#shared/lanes/messages.ts';
import { packAnswer, type StoredAnswer } from '#shared/lanes/stored-answer.ts';
import { encodeMessage } from '#shared/lanes/wire-format.ts';
import type { Replies } from './replies.ts';
import type { RunDeps } from './run-deps.ts';

const TOO_LARGE: WireFault = {
  code: 'upstream_error',
  message: 'The answer to the first request with this key is too large to be kept.',
};

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

  /**
   * Makes an answer ready to be kept for replays; to be called before its last reply is queued, so that reply, keeping
   * and hand-over go out together. Undefined when the request is not idempotent, or the answer is too large (null).
   */
  async pack(stored: StoredAnswer | null): Promise<Buffer | undefined> {
    return this.#entry.claim === undefined || stored === null ? undefined : packAnswer(stored);
  }

  /** A whole answer: it gets its receipt, and is kept when the request is idempotent. */
  async complete(done: Spent & { packed: Buffer | undefined }): Promise<void> {
    const { packed } = done;
    const { claim, shard, id: requestId } = this.#entry;
    if (packed === undefined) await this.#freeClaim(TOO_LARGE);
    else if (claim !== undefined) {
      const key = answerKey({ claim, requestId, attempt: this.#lane.attempt });
      this.#deps.outbox.command(shard, 'SET', key, packed, 'EX', STORED_S);
      // However long the receipt takes, nobody may run the request again meanwhile.
      this.#deps.outbox.command(shard, 'EXPIRE', claim, STORED_S);
    }
    await this.#handOver('complete', done, packed?.length);
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

  async #handOver(outcome: Outcome, done: Spent, storedBytes?: number): Promise<void> {
    const entry = this.#entry;
    const handed: ReceiptEntry = {
      record: this.#recordOf(outcome, done),
      inbox: entry.inbox,
      attempt: this.#lane.attempt,
      receipt: entry.receipt,
    };
    if (entry.claim !== undefined && storedBytes !== undefined) {
      handed.claim = entry.claim;
      handed.storedBytes = storedBytes;
    }
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
      orgId: entry.orgId,
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
    const name = { claim, requestId: id, attempt: this.#lane.attempt };
    for (const { inbox, requestId } of await this.#deps.freeClaim(name)) {
      const head = { id: requestId, attempt: 1, seq: 1, kind: 'error', error: fault };
      this.#deps.outbox.send(inbox, encodeMessage(head));
    }
  }
}
