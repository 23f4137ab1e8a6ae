import { Fault } from '#shared/kernel/errors.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { type ReceiptEntry, wireFault } from '#shared/lanes/messages.ts';
import type { Claims } from '#shared/lanes/redis/claims.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { HolderWrite, Outbox } from '#shared/lanes/redis/outbox.ts';
import type { Slots } from '#shared/lanes/slots.ts';
import type { StoredAnswerName } from '#shared/lanes/stored-answer.ts';
import { decodeReceiptEntry } from '#shared/lanes/wire-format.ts';
import { UnstorableReceipt } from '#shared/receipts/columns.ts';
import type { ReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import type { ReceiptsEvents } from './events.ts';
import { type IssueDeps, type Issued, issueReceipt } from './issue.ts';

export interface ReceiptsDeps extends IssueDeps {
  store: ReceiptStore;
  outbox: Pick<Outbox, 'asHolder'>;
  claims: Claims;
  events: Omit<ReceiptsEvents, 'signingKeysUnreadable'>;
  /** Moves an answer that is too large for Redis to where it stays; says where the answer is. */
  placeAnswer: (name: StoredAnswerName, bytes: number) => Promise<'redis' | 'postgres'>;
}

interface Pending {
  delivery: Delivery;
  handed: ReceiptEntry;
  issued: Issued;
}

/** PostgreSQL away: the lane keeps what is owed, and the batch in hand is tried again at this pace. */
const COMMIT_RETRY_MS = 250;
/** Entries that no receipt can be made of, kept for a person to look at: more would say nothing new. */
const SET_ASIDE_MAX = 10_000;

const FAILED = wireFault(new Fault('receipt_generation_failed'));

/**
 * Turns outcomes into receipts, a batch at a time: sign all, commit all in one statement, and only then send them.
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

  /** Takes a batch off the lane. Its slot is free again once all replies are written. */
  take(deliveries: Delivery[]): void {
    void this.#take(deliveries).finally(() => this.#slots.release());
  }

  /** Gives up waiting for PostgreSQL: what is in hand stays on the lane for the next worker. */
  stop(): void {
    this.#stopping = true;
  }

  async #take(deliveries: Delivery[]): Promise<void> {
    const batch: Pending[] = [];
    for (const delivery of deliveries) {
      const pending = this.#issue(delivery);
      if (pending !== null) batch.push(pending);
    }
    if (batch.length > 0 && (await this.#commit(batch))) await this.#tell(batch);
  }

  /** Signs one receipt; null when none can be made of the entry, which is then off the lane. */
  #issue(delivery: Delivery): Pending | null {
    let handed: ReceiptEntry;
    try {
      handed = decodeReceiptEntry(delivery.text);
    } catch (error) {
      this.#deps.events.receiptImpossible(delivery, null, error);
      this.#setAside(delivery, null);
      return null;
    }
    try {
      return { delivery, handed, issued: issueReceipt(this.#deps, handed.record) };
    } catch (error) {
      this.#giveUp(delivery, handed, error);
      return null;
    }
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
        this.#giveUp(pending.delivery, pending.handed, error);
        batch.splice(batch.indexOf(pending), 1);
      }
    }
    return true;
  }

  /** Commits in one statement. A receipt that is there already takes the place of the one that was signed now. */
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
    const telling = batch.map((pending) => {
      const { claim } = pending.handed;
      if (claim === undefined) return this.#release(pending);
      return this.#settle(pending, claim).then(() => this.#release(pending));
    });
    await Promise.all(telling);
  }

  async #settle({ delivery, handed, issued }: Pending, claim: string): Promise<void> {
    const { claims, placeAnswer } = this.#deps;
    const name = nameOf(handed, claim);
    if (isRefused(handed, issued)) await claims.free(delivery, name, FAILED);
    else if (isOfThisAnswer(handed, issued)) {
      const kept = await placeAnswer(name, handed.storedBytes ?? 0);
      await claims.settle(delivery, name, issued.row.text, kept);
    }
  }

  async #release({ delivery, handed, issued }: Pending): Promise<void> {
    const { outbox, events } = this.#deps;
    const { inbox, attempt, record } = handed;
    const id = record.requestId;
    const write = outbox.asHolder(delivery);
    if (isRefused(handed, issued)) replyFailed(write, handed);
    else if (isOfThisAnswer(handed, issued)) {
      write.send(inbox, { id, attempt, kind: 'receipt' }, issued.row.text);
    } else write.send(inbox, { id, attempt, kind: 'receipt_of_another' });
    write.done();
    const holding = await write.written;
    if (holding === 'held') events.receiptIssued(issued);
    else events.outcomeStale(delivery, id, holding);
  }

  /** No receipt can be made or stored of this, now or later. */
  #giveUp(delivery: Delivery, handed: ReceiptEntry, error: unknown): void {
    const { events, claims } = this.#deps;
    const { claim } = handed;
    events.receiptImpossible(delivery, handed.record.requestId, error);
    const freed =
      claim === undefined
        ? Promise.resolve()
        : claims.free(delivery, nameOf(handed, claim), FAILED);
    void freed.catch(events.storeFailed).then(() => this.#setAside(delivery, handed));
  }

  /** Keeps what cannot be made into a receipt where a person can look at it, off the lane, and tells who waits for it. */
  #setAside(delivery: Delivery, handed: ReceiptEntry | null): void {
    const { lane, text } = delivery;
    const write = this.#deps.outbox.asHolder(delivery);
    if (handed !== null) replyFailed(write, handed);
    write.command('XADD', `${lane}:set-aside`, 'MAXLEN', '~', SET_ASIDE_MAX, '*', 'e', text);
    write.done();
  }
}

function replyFailed(write: HolderWrite, { inbox, attempt, record }: ReceiptEntry): void {
  const reply = { id: record.requestId, attempt, kind: 'receipt_failed', error: FAILED } as const;
  write.send(inbox, reply);
}

/** The caller wants no answer without an estimate. The degraded receipt stands in the ledger all the same. */
function isRefused({ receipt }: ReceiptEntry, { degradation }: Issued): boolean {
  return receipt === 'required' && degradation !== undefined;
}

/**
 * Whether the receipt is of the answer that this entry is about. A request of which Redis has lost the end runs again; its
 * receipt is the first one that was committed, and that is of another answer.
 */
function isOfThisAnswer({ record }: ReceiptEntry, { row }: Issued): boolean {
  const { responseDigest } = record;
  if (responseDigest === undefined) return true;
  return row.text.includes(multihashOf(responseDigest, 'responseDigest'));
}

function nameOf({ record, attempt }: ReceiptEntry, claim: string): StoredAnswerName {
  return { claim, requestId: record.requestId, delivery: attempt };
}
