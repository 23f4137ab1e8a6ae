import { inSteps, isEstimated } from '#shared/kernel/budget-measures.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { isUseKnown } from '#shared/kernel/inference.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import {
  type ReceiptEntry,
  unknownInOutcome,
  type WireFault,
  wireFault,
} from '#shared/lanes/messages.ts';
import { budgetKey, holderName, setAsideOf } from '#shared/lanes/keys.ts';
import type { SettleClaim } from '#shared/lanes/redis/claims.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { HolderWrite, Outbox } from '#shared/lanes/redis/outbox.ts';
import type { Slots } from '#shared/lanes/slots.ts';
import type { StoredAnswerName } from '#shared/lanes/stored-answer.ts';
import { decodeReceiptEntry } from '#shared/lanes/wire-format.ts';
import type { Span } from '#shared/process/traces/traces.ts';
import { UnstorableReceipt } from '#shared/receipts/columns.ts';
import type { ReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { SigningKeyProblem } from '#shared/receipts/signing/problem.ts';
import type { ReceiptsEvents } from './events.ts';
import { type IssueDeps, type Issued, issueReceipt } from './issue.ts';

export interface ReceiptsDeps extends IssueDeps {
  store: ReceiptStore;
  outbox: Pick<Outbox, 'asHolder'>;
  settleClaim: SettleClaim;
  /** Receipts committed in one statement. */
  batchMax: number;
  /** Says that receipts wait to be integrated. */
  tellLedger: () => void;
  events: ReceiptsEvents;
  /** Moves an answer that Redis has no room for to where it stays; says where it is, and with it its receipt. */
  placeAnswer: (
    name: StoredAnswerName,
    bytes: number,
    receiptBytes: number,
  ) => Promise<'redis' | 'postgres'>;
}

/** One record of an entry, and what has become of it. */
interface Pending {
  delivery: Delivery;
  text: string;
  /** Null when it cannot be read. */
  handed: ReceiptEntry | null;
  /** What it says that this build does not know. */
  unknown?: string;
  /** Null when no receipt can be made or stored of it, now or later. */
  issued: Issued | null;
  /** Of a request that is traced. */
  span: Span | undefined;
}

/** One that is to be committed. */
interface Owed extends Pending {
  handed: ReceiptEntry;
  issued: Issued;
}

/** PostgreSQL or a signing agent away: the lane keeps what is owed, and the batch in hand is tried again at this pace. */
const RETRY_MS = 250;
/** Entries that no receipt can be made of, kept for a person to look at: more would say nothing new. */
const SET_ASIDE_MAX = 10_000;

const FAILED = wireFault(new Fault('receipt_generation_failed'));
const DEGRADED = wireFault(new Fault('receipt_generation_failed', { hasReceipt: true }));

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

  /** Gives up waiting for PostgreSQL and for a signing agent: what is in hand stays on the lane for the next worker. */
  stop(): void {
    this.#stopping = true;
  }

  async #take(deliveries: Delivery[]): Promise<void> {
    const batch: Pending[] = [];
    for (const delivery of deliveries) {
      let issued = this.#issueAll(delivery);
      while (issued === null) {
        if (this.#stopping) {
          for (const { span } of batch) this.#deps.events.leftUncommitted(span);
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        issued = this.#issueAll(delivery);
      }
      batch.push(...issued);
    }
    const byEntry = [...Map.groupBy(batch, ({ delivery }) => delivery).values()];
    // What has nothing to be committed does not wait for PostgreSQL.
    const [owing, lost] = [byEntry.filter(isOwing), byEntry.filter((entry) => !isOwing(entry))];
    const ended = lost.map((entry) => this.#end(entry));
    if (await this.#commitAll(owing.flat())) {
      ended.push(...owing.map((entry) => this.#end(entry)));
    } else for (const { span } of owing.flat()) this.#deps.events.leftUncommitted(span);
    await Promise.all(ended);
  }

  /**
   * Signs a receipt of each record of an entry. One that says what this build does not know stays on the lane, with the
   * others of its entry: a receipt without it would be another. It is taken over when this process has ended.
   * @returns null when nothing can be signed now
   */
  #issueAll(delivery: Delivery): Pending[] | null {
    const all: Pending[] = [];
    for (const text of delivery.texts) {
      const pending = this.#issue(delivery, text);
      if (pending === null) {
        for (const { span } of all) this.#deps.events.leftUncommitted(span);
        return null;
      }
      all.push(pending);
    }
    const unknown = all.find((one) => one.unknown !== undefined)?.unknown;
    if (unknown === undefined) return all;
    this.#deps.events.outcomeUnknown(delivery, unknown);
    for (const { span } of all) this.#deps.events.leftUncommitted(span);
    return [];
  }

  /** Signs one receipt, if one can be made of what was handed over; null when nothing can be signed now. */
  #issue(delivery: Delivery, text: string): Pending | null {
    let handed: ReceiptEntry | null = null;
    let span: Span | undefined;
    try {
      handed = decodeReceiptEntry(text);
      const unknown = unknownInOutcome(handed);
      if (unknown !== undefined) return { delivery, text, handed, unknown, issued: null, span };
      span = this.#deps.events.receiptBegun(handed);
      return { delivery, text, handed, issued: issueReceipt(this.#deps, handed.record), span };
    } catch (error) {
      if (error instanceof SigningKeyProblem) {
        // It is no fault of the record, and without an agent it does not come.
        this.#deps.events.signingKeysUnreadable(error);
        this.#deps.events.leftUncommitted(span);
        return null;
      }
      const requestId = handed?.record.requestId ?? null;
      this.#deps.events.receiptImpossible(delivery, requestId, error, span);
      return { delivery, text, handed, issued: null, span };
    }
  }

  /** Entries may hold more records than are committed at once. */
  async #commitAll(batch: Pending[]): Promise<boolean> {
    const { batchMax } = this.#deps;
    for (let at = 0; at < batch.length; at += batchMax) {
      if (!(await this.#commit(batch.slice(at, at + batchMax)))) return false;
    }
    return true;
  }

  async #commit(batch: Pending[]): Promise<boolean> {
    const { events } = this.#deps;
    const span = events.commitBegun(batch);
    try {
      return await this.#commitUntilDone(batch, span);
    } finally {
      events.leftUncommitted(span);
    }
  }

  /** Commits the batch, for as long as it takes. Returns false when this process stops first. */
  async #commitUntilDone(batch: Pending[], span: Span | undefined): Promise<boolean> {
    for (;;) {
      try {
        const startedAt = performance.now();
        const owed = batch.filter(isOwed);
        await this.#commitOnce(owed);
        this.#deps.tellLedger();
        this.#deps.events.batchCommitted(owed.length, performance.now() - startedAt, span);
        return true;
      } catch (error) {
        this.#deps.events.commitFailed(batch.length, error);
        if (error instanceof UnstorableReceipt && (await this.#commitEach(batch))) return true;
        if (this.#stopping) return false;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Rows that the database will never take are set aside one by one; the others must not wait for them. */
  async #commitEach(batch: Pending[]): Promise<boolean> {
    for (const pending of batch.filter(isOwed)) {
      try {
        await this.#commitOnce([pending]);
      } catch (error) {
        if (!(error instanceof UnstorableReceipt)) return false;
        const { delivery, handed, span } = pending;
        this.#deps.events.receiptImpossible(delivery, handed.record.requestId, error, span);
        (pending as Pending).issued = null;
      }
    }
    return true;
  }

  /** Commits in one statement. A receipt that is there already takes the place of the one that was signed now. */
  async #commitOnce(batch: Owed[]): Promise<void> {
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

  /**
   * Tells what has become of each record of an entry, and takes the entry off its lane. Claims are settled before that:
   * what is lost in between is done again.
   */
  async #end(entry: Pending[]): Promise<void> {
    await Promise.all(entry.map((pending) => this.#settle(pending)));
    const { delivery } = entry[0]!;
    const { outbox, events } = this.#deps;
    const write = outbox.asHolder(delivery);
    for (const pending of entry) {
      freeUnlessAnswered(write, pending);
      settleBudgets(write, pending);
      if (isOwed(pending)) replyReceipt(write, pending);
      else setAside(write, pending);
    }
    write.done();
    const holding = await write.written;
    for (const { handed, issued, span } of entry) {
      if (handed === null) continue;
      if (holding !== 'held') events.outcomeStale(delivery, handed.record.requestId, holding, span);
      else if (issued !== null) events.receiptIssued(issued, span);
    }
  }

  /** Keeps the answer to a request that had an Idempotency-Key, for those who repeat it. */
  async #settle(pending: Pending): Promise<void> {
    const { settleClaim, placeAnswer } = this.#deps;
    const { delivery, handed } = pending;
    if (handed?.claim === undefined || !isAnswered(pending)) return;
    const name = nameOf(handed, handed.claim);
    const { text } = pending.issued.row;
    const kept = await placeAnswer(name, handed.storedBytes ?? 0, text.length);
    await settleClaim(delivery, name, text, kept);
  }
}

function isOwed(pending: Pending): pending is Owed {
  return pending.issued !== null;
}

/** Whether the caller gets the answer that this entry is about, with the receipt that is committed. */
function isAnswered(pending: Pending): pending is Owed {
  return isOwed(pending) && !isRefused(pending) && isOfThisAnswer(pending);
}

function isOwing(entry: readonly Pending[]): boolean {
  return entry.some(isOwed);
}

/** The key of a request whose caller gets no answer may be used again. */
function freeUnlessAnswered(write: HolderWrite, pending: Pending): void {
  const { handed } = pending;
  if (handed?.claim === undefined || (isOwed(pending) && !isRefused(pending))) return;
  write.free(nameOf(handed, handed.claim), isOwed(pending) ? DEGRADED : FAILED);
}

/** Tells the request's caller, or the api process that has it, of the receipt that is committed. */
function replyReceipt(write: HolderWrite, owed: Owed): void {
  const { handed, issued } = owed;
  const { inbox, attempt, record } = handed;
  const id = record.requestId;
  if (isRefused(owed)) replyFailed(write, handed, DEGRADED);
  else {
    const kind = isOfThisAnswer(owed) ? 'receipt' : 'receipt_of_another';
    write.send(inbox, { id, attempt, kind }, issued.row.text);
  }
}

/**
 * Counts what the receipt says of budgets that a part was held of, in place of that part; where it says nothing, or does not
 * know all, all of it may have been used. A part that was settled before, by an earlier delivery, is not there any more.
 */
function settleBudgets(write: HolderWrite, { delivery, handed, issued }: Pending): void {
  for (const reserve of handed?.reserves ?? []) {
    const { measure, amount } = reserve;
    const { requestId, orgId } = handed!.record;
    const taken = isEstimated(measure) ? (issued?.row[measure] ?? null) : null;
    const least = isUseKnown(handed!.record) ? 0 : amount;
    write.settleBudget({
      counter: budgetKey(delivery.shard, orgId, reserve),
      holder: holderName(requestId, reserve),
      used: taken === null ? amount : Math.max(least, inSteps(measure, taken)),
    });
  }
}

/** Keeps what cannot be made into a receipt where a person can look at it, and tells who waits for it. */
function setAside(write: HolderWrite, { delivery, text, handed }: Pending): void {
  if (handed !== null) replyFailed(write, handed, FAILED);
  write.command('XADD', setAsideOf(delivery.lane), 'MAXLEN', '~', SET_ASIDE_MAX, '*', 'e', text);
}

function replyFailed(
  write: HolderWrite,
  { inbox, attempt, record }: ReceiptEntry,
  error: WireFault,
): void {
  const reply = { id: record.requestId, attempt, kind: 'receipt_failed', error } as const;
  write.send(inbox, reply);
}

/** The caller wants no answer without an estimate. The degraded receipt stands in the ledger all the same. */
function isRefused({ handed, issued }: Owed): boolean {
  return handed.receipt === 'required' && issued.degradation !== undefined;
}

/**
 * Whether the receipt is of the answer that this entry is about. A request of which Redis has lost the end runs again; its
 * receipt is the first one that was committed, and that is of another answer.
 */
function isOfThisAnswer({ handed, issued }: Owed): boolean {
  const { responseDigest } = handed.record;
  if (responseDigest === undefined) return true;
  return issued.row.text.includes(multihashOf(responseDigest, 'responseDigest'));
}

function nameOf({ record, attempt }: ReceiptEntry, claim: string): StoredAnswerName {
  return { claim, requestId: record.requestId, delivery: attempt };
}
