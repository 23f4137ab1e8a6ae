import type { WireFault, ReceiptEntry } from '../../shared/lanes/messages.ts';
import { shardOfLane } from '../../shared/lanes/keys.ts';
import type { LaneEntry } from '../../shared/lanes/lane-consumer.ts';
import type { Waiter } from '../../shared/lanes/claims.ts';
import type { Outbox } from '../../shared/lanes/outbox.ts';
import type { Slots } from '../../shared/lanes/slots.ts';
import { decodeMessage, encodeMessage } from '../../shared/lanes/wire-format.ts';
import { type ReceiptStore, UnstorableReceipt } from '../../shared/ports/receipt-store.ts';
import type { ReceiptsEvents } from './events.ts';
import { type IssueDeps, type Issued, issueReceipt } from './issue.ts';

export interface ReceiptsDeps extends IssueDeps {
  store: ReceiptStore;
  outbox: Outbox;
  events: ReceiptsEvents;
  settleClaim: (claim: string, requestId: string, receipt: string) => Promise<Waiter[]>;
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

  /** Takes a batch off the lane. Its slots are free again once everybody has been told. */
  take(entries: LaneEntry[]): void {
    void this.#take(entries).finally(() => this.#slots.release(entries.length));
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
        if (handed.receipt === 'required' && issued.degradation !== undefined) {
          this.#reply(handed, 'receipt_failed', '', { error: FAILED });
        }
        return { lane, handed, issued };
      } catch (error) {
        this.#deps.events.receiptImpossible(lane, handed.record.requestId, error);
        this.#reply(handed, 'receipt_failed', '', { error: FAILED });
      }
    } catch (error) {
      this.#deps.events.receiptImpossible(lane, null, error);
    }
    this.#setAside(lane);
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
        this.#deps.events.receiptImpossible(pending.lane, pending.handed.record.requestId, error);
        this.#reply(pending.handed, 'receipt_failed', '', { error: FAILED });
        this.#setAside(pending.lane);
        batch.splice(batch.indexOf(pending), 1);
      }
    }
    return true;
  }

  async #commitOnce(batch: Pending[]): Promise<void> {
    const { store } = this.#deps;
    const existing = await store.commit(batch.map(({ issued }) => issued.row));
    if (existing.length === 0) return;
    const stored = await store.read(existing);
    for (const pending of batch) {
      const text = stored.get(pending.issued.row.receiptId);
      if (text !== undefined) pending.issued = { ...pending.issued, text };
    }
  }

  async #tell(batch: Pending[]): Promise<void> {
    const { outbox, events } = this.#deps;
    for (const { lane, handed, issued } of batch) {
      this.#reply(handed, 'receipt', issued.text);
      outbox.done(shardOfLane(lane.lane), lane.lane, lane.id);
      events.receiptIssued(issued);
    }
    await this.#settleClaims(batch);
    await outbox.flushed();
  }

  async #settleClaims(batch: Pending[]): Promise<void> {
    const claimed = batch.filter(({ handed }) => handed.claim !== undefined);
    await Promise.all(
      claimed.map(async ({ handed, issued }) => {
        const { requestId } = handed.record;
        const waiters = await this.#deps.settleClaim(handed.claim!, requestId, issued.text);
        for (const waiter of waiters) {
          this.#deps.outbox.send(
            waiter.inbox,
            encodeMessage({ id: waiter.requestId, kind: 'settled' }),
          );
        }
      }),
    );
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
