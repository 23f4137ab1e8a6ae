import { inSteps, isEstimated } from '#shared/kernel/budget-measures.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { type Failure, isUseKnown } from '#shared/kernel/inference.ts';
import {
  answerKey,
  begunKey,
  budgetKey,
  heldKey,
  holderName,
  leasesKey,
  leftLease,
  movedKey,
  pendingReceiptKey,
} from '#shared/lanes/keys.ts';
import {
  type InferenceEntry,
  type Reserve,
  type WireFault,
  wireFault,
} from '#shared/lanes/messages.ts';
import { type Ending, receiptEntryOf } from '#shared/lanes/receipt-entry.ts';
import { STORED_S } from '#shared/lanes/redis/claims.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { type Place, placeOfMoved } from '#shared/lanes/redis/hand-on.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { HolderWrite, Outbox } from '#shared/lanes/redis/outbox.ts';
import { packAnswer, type StoredAnswer } from '#shared/lanes/stored-answer.ts';
import type { InferenceEvents } from './events.ts';
import type { Elsewhere } from './elsewhere.ts';
import { numberOf, Replies, type RepliesDeps } from './replies.ts';

const ENTRY_LOST = wireFault(new Fault('worker_lost'));
const TOO_LARGE: WireFault = {
  code: 'upstream_error',
  message: 'The answer to the first request with this key is too large to be kept.',
};
const BROKE_OFF: WireFault = {
  code: 'upstream_error',
  message: 'The first request with this key broke off.',
};

/**
 * So long the receipt of a failed request is known to be on its way, a hundred bytes of Redis each; it is there within
 * seconds, unless PostgreSQL is away. An answer's is announced for a day, but few of those are late.
 */
const FAILED_PENDING_S = 3_600;

export interface SettlementDeps extends RepliesDeps {
  client: Pick<RedisClient, 'exists' | 'get' | 'set'>;
  outbox: Pick<Outbox, 'send' | 'asHolder' | 'channelTo'>;
  events: Pick<InferenceEvents, 'runFinished' | 'runFailed' | 'runMoved' | 'outcomeStale'>;
  elsewhere: Pick<Elsewhere, 'take'>;
  /** What follows of requests is to be in their traces. */
  isTraced?: boolean;
  /** Epoch milliseconds. */
  now: () => number;
}

/** What a request has used until its end, and what its client was sent. */
export type Spent = Omit<Ending, 'outcome' | 'endedAt' | 'failure' | 'policy'>;

/** Calls to upstreams of which nothing came, though they may have used something; and why, as its receipt says. */
export interface InVain {
  calls: number;
  failure: Failure;
}

/**
 * Ends one delivery: sends the last reply, hands what happened to the receipts lane and takes the entry off its own, in
 * one transaction. A crash before it means that the entry is delivered again; a crash after it, that the receipt is on
 * its way. When the entry has been delivered again already, this delivery writes nothing of all that.
 */
export class Settlement {
  readonly replies: Replies;
  readonly #deps: SettlementDeps;
  readonly #delivery: Delivery;
  readonly #entry: InferenceEntry;
  /** The number of this delivery over all regions. */
  readonly #number: number;

  constructor(deps: SettlementDeps, delivery: Delivery, entry: InferenceEntry) {
    this.replies = new Replies(deps, entry, delivery);
    this.#deps = deps;
    this.#delivery = delivery;
    this.#entry = entry;
    this.#number = numberOf(delivery, entry);
  }

  /**
   * A whole answer: the client gets it, and it is kept where the request is idempotent. One that its server did not finish
   * is the client's as well, as far as it goes, and its receipt says so.
   */
  async answered(text: string, isFinished: boolean, spent: Spent): Promise<void> {
    if (!isFinished) {
      const left = await this.replies.leave(text);
      const reply: Reply = (write) => this.replies.answer(write, text, left);
      return this.#incomplete('truncated', spent, reply);
    }
    const packed = await this.#pack({ frames: '', last: text });
    const ref = await this.replies.leave(text);
    await this.#complete(packed, spent, (write) => this.replies.answer(write, text, ref));
  }

  /** A stream that came to its end. `frames` is what was sent before `last`; null when that is too large to be kept. */
  async streamed(frames: string | null, last: string, spent: Spent): Promise<void> {
    const packed = frames === null ? undefined : await this.#pack({ frames, last });
    await this.#complete(packed, spent, (write) => this.replies.last(write, last));
  }

  /** A stream that broke off: the client gets an error frame, and a receipt for what was sent until then. */
  async broke(fault: WireFault, spent: Spent): Promise<void> {
    const receipted: WireFault = { ...fault, hasReceipt: true };
    await this.#incomplete('truncated', spent, (write) => this.replies.error(write, receipted));
  }

  /** The client has left: no reply is sent, and what was used until then gets its receipt. */
  async left(spent: Spent): Promise<void> {
    await this.#incomplete('partial', spent, () => {});
  }

  /**
   * Has another region run the request after `calls` calls, the last of which that may have used anything failed so, where it may go to one that takes it; false when it stays. Its
   * claim, its lease and its deadline go with it, and nothing is charged again.
   */
  async movedOn(body: string, calls: number, failure?: Failure): Promise<boolean> {
    const entry = this.#entry;
    const before = { deliveries: this.#number, calls, ...(failure && { failure }) };
    const place = await this.#deps.elsewhere.take({
      delivery: this.#delivery,
      entry,
      body,
      before,
    });
    if (place === null) return false;
    this.#tellPlace(place);
    this.#deps.events.runMoved(entry, place.region);
    return true;
  }

  /** Says again where a request is that has come from another region: its worker there may have died before it did. */
  arrived(): void {
    const { before, region } = this.#entry;
    if (before !== undefined) this.#tellPlace({ region, entryId: this.#delivery.entryId });
  }

  #tellPlace(place: Place): void {
    const { id, inbox } = this.#entry;
    this.#deps.outbox.send(inbox, { id, attempt: this.#number, kind: 'moved', ...place });
  }

  /**
   * No answer at all: an error reply, and the idempotency key may be used again. There is a receipt where upstreams were
   * called for it, and is announced in the same transaction: who asks for it by the error's header may be faster than it is.
   */
  async failed(fault: WireFault, inVain?: InVain): Promise<void> {
    const write = this.#deps.outbox.asHolder(this.#delivery);
    if (inVain === undefined) {
      this.replies.error(write, fault);
      this.#freeClaim(write, fault);
    } else {
      const receipted: WireFault = { ...fault, hasReceipt: true };
      this.replies.error(write, { ...receipted, calls: inVain.calls });
      // Those who wait for an identical request are told of its receipt, and have made no calls of their own.
      this.#freeClaim(write, receipted);
      const { shard, orgId, id } = this.#entry;
      const key = pendingReceiptKey(shard, orgId, receiptIdOf(id));
      write.command('SET', key, '1', 'EX', FAILED_PENDING_S);
      const usage = { source: 'unknown', reason: 'not_counted' } as const;
      const ending = { ...inVain, usage, outcome: 'failed', endedAt: this.#deps.now() } as const;
      write.record(receiptEntryOf(this.#entry, this.#number, ending, this.#deps.isTraced));
    }
    this.#settleBudgets(write, () => 0);
    this.#leaveLane(write);
    if (!(await this.#isStale(write))) this.#deps.events.runFailed(this.#entry, fault);
  }

  /**
   * Makes an answer ready to be kept, which takes a while: before the last reply is queued, so that reply, stored answer
   * and hand-over are written together.
   */
  async #pack(stored: StoredAnswer): Promise<Buffer | undefined> {
    const { claim, id: requestId } = this.#entry;
    if (claim === undefined) return undefined;
    const name = { claim, requestId, delivery: this.#number };
    return packAnswer(this.#deps.seals, name, stored);
  }

  async #complete(packed: Buffer | undefined, spent: Spent, reply: Reply): Promise<void> {
    const { claim, id: requestId } = this.#entry;
    const write = this.#deps.outbox.asHolder(this.#delivery);
    reply(write);
    if (packed !== undefined && claim !== undefined) {
      const key = answerKey({ claim, requestId, delivery: this.#number });
      write.command('SET', key, packed, 'EX', STORED_S);
      // However long the receipt takes, the request must not be run again meanwhile.
      write.command('EXPIRE', claim, STORED_S);
    } else this.#freeClaim(write, TOO_LARGE);
    await this.#handOver(write, 'complete', spent, packed?.length);
  }

  /** What broke off is receipted, not kept: a retry with the same key runs again. */
  async #incomplete(outcome: 'partial' | 'truncated', spent: Spent, reply: Reply): Promise<void> {
    const write = this.#deps.outbox.asHolder(this.#delivery);
    reply(write);
    this.#freeClaim(write, BROKE_OFF);
    await this.#handOver(write, outcome, spent);
  }

  async #handOver(
    write: HolderWrite,
    outcome: Ending['outcome'],
    spent: Spent,
    storedBytes?: number,
  ): Promise<void> {
    const { claim } = this.#entry;
    // Where the clocks of two machines differ, the request took at least as long as what is known to have been within it.
    const { queuedMs = 0, upstreamMs = 0 } = spent;
    const least = this.#entry.startedAt + queuedMs + upstreamMs;
    const ending: Ending = { ...spent, outcome, endedAt: Math.max(least, this.#deps.now()) };
    const handed = receiptEntryOf(this.#entry, this.#number, ending, this.#deps.isTraced);
    const awaiting = this.#entry.reserves?.filter(({ measure }) => isEstimated(measure)) ?? [];
    if (awaiting.length > 0) handed.reserves = awaiting;
    if (claim !== undefined && storedBytes !== undefined) {
      handed.claim = claim;
      handed.storedBytes = storedBytes;
    }
    write.record(handed);
    this.#settleBudgets(write, (reserve) => usedOf(reserve, { ...spent, outcome }));
    this.#leaveLane(write);
    if (!(await this.#isStale(write))) this.#deps.events.runFinished(this.#entry, handed.record);
  }

  #leaveLane(write: HolderWrite): void {
    const { shard, id, stream, bodyRef, region, orgId, before, claim } = this.#entry;
    if (stream) write.command('DEL', begunKey(shard, id));
    if (stream && claim !== undefined)
      write.command('ZREM', leasesKey(shard, orgId), leftLease(id));
    if (bodyRef !== undefined) write.command('DEL', bodyRef);
    if (before !== undefined) write.command('DEL', movedKey(shard, id));
    write.command('ZREM', heldKey(shard, region, orgId), id);
    write.done();
  }

  /** What `used` does not know is settled by the receipt. */
  #settleBudgets(write: HolderWrite, used: (reserve: Reserve) => number | undefined): void {
    const { id, shard, orgId, reserves = [] } = this.#entry;
    for (const reserve of reserves) {
      const amount = used(reserve);
      if (amount === undefined) continue;
      write.settleBudget({
        counter: budgetKey(shard, orgId, reserve),
        holder: holderName(id, reserve),
        used: amount,
      });
    }
  }

  #freeClaim(write: HolderWrite, fault: WireFault): void {
    const { claim, id: requestId } = this.#entry;
    if (claim === undefined) return;
    write.free({ claim, requestId, delivery: this.#number }, fault);
  }

  /**
   * Whether the outcome of this delivery was refused. Where another one holds the entry, that one answers. Where none
   * does (Redis has lost it, or has done it all before its reply was lost), the client must not wait in vain, unless what
   * was done is that another region has the request.
   */
  async #isStale({ written }: HolderWrite): Promise<boolean> {
    const holding = await written;
    if (holding === 'held') return false;
    const { client, events, outbox } = this.#deps;
    events.outcomeStale(this.#delivery, this.#entry, holding);
    if (holding === 'taken') return true;
    const place = await placeOfMoved(client, this.#entry).catch(() => null);
    if (place === null || place.region === this.#entry.region)
      this.replies.error(outbox, ENTRY_LOST);
    else this.#tellPlace(place);
    return true;
  }
}

/**
 * What a request that has run used of a budget. Where that is not known, it may have used all that it held; a model without
 * a price costs nothing.
 */
function usedOf(
  reserve: Reserve,
  ended: Pick<Ending, 'outcome' | 'usage' | 'cost'>,
): number | undefined {
  const { measure, amount } = reserve;
  if (measure === 'requests') return 1;
  if (isEstimated(measure)) return undefined;
  const known = knownUseOf(measure, ended);
  return isUseKnown(ended) ? known : Math.max(amount, known);
}

function knownUseOf(
  measure: Reserve['measure'],
  { usage, cost }: Pick<Ending, 'usage' | 'cost'>,
): number {
  if (usage.source === 'unknown') return 0;
  if (measure === 'tokens') return usage.inputTokens + usage.outputTokens;
  return cost === undefined ? 0 : inSteps('money', Number(cost.slice(cost.indexOf(' '))));
}

/** Adds what the client is told to a write. */
type Reply = (write: HolderWrite) => void;
