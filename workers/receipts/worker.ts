import { multihashOf } from '#shared/kernel/multihash.ts';
import type { WireFault, ReceiptEntry } from '#shared/lanes/messages.ts';
import { shardOfLane } from '#shared/lanes/keys.ts';
import type { LaneEntry } from '#shared/lanes/redis/lane-consumer.ts';
import type { Waiter } from '#shared/lanes/redis/claims.ts';
import type { Outbox } from '#shared/lanes/redis/outbox.ts';
import type { Slots } from '#shared/lanes/slots.ts';
import { decodeMessage, encodeMessage } from '#shared/lanes/wire-format.ts';
import { type ReceiptStore, UnstorableReceipt } from '#shared/receipts/port-receipt-store.ts';
import type { StoredAnswerName } from '#shared/lanes/port-stored-answers.ts';
import type { ReceiptsEvents } from './events.ts';
import { type IssueDeps, type Issued, issueReceipt } from './issue.ts';

export interface ReceiptsDeps extends IssueDeps {
  store: ReceiptStore;
  outbox: Outbox;
  events: ReceiptsEvents;
  /** Moves an answer that is too large for Redis to where it stays; says where the answer is. */
  placeAnswer: (name: StoredAnswerName, bytes: number) => Promise<'redis' | 'postgres'>;
  settleClaim: (
    name: StoredAnswerName,
    receipt: string,
    kept: 'redis' | 'postgres',
  ) => Promise<Waiter[]>;
  freeClaim: (name: StoredAnswerName) => Promise<Waiter[]>;
}

interface Pending {
  lane: LaneEntry;
  handed: ReceiptEntry;
  issued: Issued;
}

/** PostgreSQL away: the lane keeps what is owed, and the batch in hand is tried again at this pace. */
const COMMIT_RETRY_MS = 250;

const FAILED: WireFault = {
  code: 'receipt_generation_failed',
  message:
    'The receipt for this request could not be made. The inference itself may have succeeded.',
};

/**
 * Turns outcomes into receipts, a batch at a time: sign all, commit all in one statement, and only then tell anybody.
 * A batch may come twice; what was committed the first time is sent again, not made anew.
 */
export class ReceiptsWorker {
  readonly #deps: ReceiptsDeps;
  readonly #slots: Slots;
  #stopping = false;

  constructor(deps: ReceiptsDeps, slots: Slots) {
    this.#deps = deps;
    this.#slots = slots;
  }

  /** Takes a batch off the lane. Its slot is free again once everybody has been told. */
  take(entries: LaneEntry[]): void {
    void this.#take(entries).finally(() => this.#slots.release());
  }

  /** Gives up waiting for PostgreSQL: what is in hand stays on the lane for the next worker. */
  stop(): void {
    this.#stopping = true;
  }

  async #take(entries: LaneEntry[]): Promise<void> {
    const batch: Pending[] = [];
    for (const lane of entries) {
      const pending = this.#issue(lane);
      if (pending !== null) batch.push(pending);
    }
    if (batch.length > 0 && (await this.#commit(batch))) await this.#tell(batch);
  }

  #issue(lane: LaneEntry): Pending | null {
    try {
      const { head: handed } = decodeMessage<ReceiptEntry>(lane.text);
      try {
        const issued = issueReceipt(this.#deps, handed.record);
        return { lane, handed, issued };
      } catch (error) {
        this.#giveUp(lane, handed, error);
      }
    } catch (error) {
      this.#deps.events.receiptImpossible(lane, null, error);
      this.#setAside(lane);
    }
    return null;
  }

  /** Commits the batch, for as long as it takes. Returns false when this process stops first. */
  async #commit(batch: Pending[]): Promise<boolean> {
    for (;;) {
      try {
        const startedAt = performance.now();
        await this.#commitOnce(batch);
        this.#deps.events.batchCommitted(batch.length, performance.now() - startedAt);
        return true;
      } catch (error) {
        this.#deps.events.commitFailed(batch.length, error);
        if (error instanceof UnstorableReceipt && (await this.#commitEach(batch))) return true;
        if (this.#stopping) return false;
        await new Promise((resolve) => setTimeout(resolve, COMMIT_RETRY_MS));
      }
    }
  }

  /** Rows that the database will never take are set aside one by one; the others must not wait for them. */
  async #commitEach(batch: Pending[]): Promise<boolean> {
    for (const pending of batch.slice()) {
      try {
        await this.#commitOnce([pending]);
      } catch (error) {
        if (!(error instanceof UnstorableReceipt)) return false;
        this.#giveUp(pending.lane, pending.handed, error);
        batch.splice(batch.indexOf(pending), 1);
      }
    }
    return true;
  }

  async #commitOnce(batch: Pending[]): Promise<void> {
    const { store } = this.#deps;
    const rows = batch.map(({ issued }) => issued.row);
    if (await store.commit(rows)) return;
    const stored = await store.read(rows.map(({ receiptId }) => receiptId));
    for (const pending of batch) {
      const { issued } = pending;
      const text = stored.get(issued.row.receiptId);
      if (text !== undefined) pending.issued = { ...issued, row: { ...issued.row, text } };
    }
  }

  /** A claim is settled before its entry is acknowledged: what is lost in between is done again. */
  async #tell(batch: Pending[]): Promise<void> {
    const settling: Promise<void>[] = [];
    for (const pending of batch) {
      if (pending.handed.claim === undefined) this.#release(pending);
      else settling.push(this.#settle(pending).then(() => this.#release(pending)));
    }
    await Promise.all(settling);
    await this.#deps.outbox.flushed();
  }

  #release({ lane, handed, issued }: Pending): void {
    if (isRefused(handed, issued)) this.#reply(handed, 'receipt_failed', '', { error: FAILED });
    else this.#reply(handed, 'receipt', issued.row.text);
    this.#deps.outbox.done(shardOfLane(lane.lane), lane.lane, lane.id);
    this.#deps.events.receiptIssued(issued);
  }

  async #settle({ handed, issued }: Pending): Promise<void> {
    if (isRefused(handed, issued)) return this.#free(handed);
    // When two deliveries answered, the receipt is of one of the answers, and only that one may be replayed with it.
    const digest = multihashOf(handed.record.responseDigest ?? '', 'responseDigest');
    if (!issued.row.text.includes(digest)) return;
    const name = nameOf(handed);
    const kept = await this.#deps.placeAnswer(name, handed.storedBytes ?? 0);
    for (const { inbox, requestId } of await this.#deps.settleClaim(name, issued.row.text, kept)) {
      this.#deps.outbox.send(inbox, encodeMessage({ id: requestId, kind: 'settled' }));
    }
  }

  /** The request failed for its caller, so the key may be used again; those who wait for it fail like it. */
  async #free(handed: ReceiptEntry): Promise<void> {
    if (handed.claim === undefined) return;
    for (const { inbox, requestId } of await this.#deps.freeClaim(nameOf(handed))) {
      const head = { id: requestId, attempt: 1, seq: 1, kind: 'error', error: FAILED };
      this.#deps.outbox.send(inbox, encodeMessage(head));
    }
  }

  #reply(
    { record, inbox, attempt }: ReceiptEntry,
    kind: string,
    payload: string,
    rest: object = {},
  ): void {
    this.#deps.outbox.send(
      inbox,
      encodeMessage({ id: record.requestId, attempt, kind, ...rest }, payload),
    );
  }

  /** No receipt can be made or stored of this, now or later. */
  #giveUp(lane: LaneEntry, handed: ReceiptEntry, error: unknown): void {
    const { events } = this.#deps;
    events.receiptImpossible(lane, handed.record.requestId, error);
    this.#reply(handed, 'receipt_failed', '', { error: FAILED });
    void this.#free(handed)
      .catch(events.storeFailed)
      .then(() => this.#setAside(lane));
  }

  /** Keeps what cannot be made into a receipt where a person can look at it, off the lane. */
  #setAside(lane: LaneEntry): void {
    const shard = shardOfLane(lane.lane);
    this.#deps.outbox.command(
      shard,
      'XADD',
      `${lane.lane}:set-aside`,
      'MAXLEN',
      '~',
      10_000,
      '*',
      'e',
      lane.text,
    );
    this.#deps.outbox.done(shard, lane.lane, lane.id);
  }
}

/** The caller wants no answer without an estimate. The degraded receipt stands in the ledger all the same. */
function isRefused({ receipt }: ReceiptEntry, { degradation }: Issued): boolean {
  return receipt === 'required' && degradation !== undefined;
}

function nameOf({ claim, record, attempt }: ReceiptEntry): StoredAnswerName {
  return { claim: claim!, requestId: record.requestId, attempt };
}
