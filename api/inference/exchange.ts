import { Fault } from '#shared/kernel/errors.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { inferenceLane } from '#shared/lanes/keys.ts';
import { faultOfWire, type InferenceEntry, type Reply } from '#shared/lanes/messages.ts';
import type { Place } from '#shared/lanes/redis/hand-on.ts';
import { startSaltedDigest } from '#shared/receipts/digest.ts';
import type { UnroutedEntry } from './read.ts';

/** How much longer than the pipeline's own deadline the api waits: the pipeline's word is better than a time-out. */
const PATIENCE_MS = 5_000;

/** The callbacks by which the holder of a client connection hears of its request. Exactly one of `done`, `failed`, `settled` ends it. */
export interface ExchangeSink {
  /**
   * Stream frames, ready for the socket. `taken` is to be called when the client has these and all before them, or will not
   * have them any more; the latest one is enough.
   */
  frames(text: string, taken?: () => void): void;
  /**
   * The answer (or a stream's last payload) as JSON text, and the signed receipt's bytes;
   * null when the receipt did not come in time.
   */
  done(payload: string, receipt: string | null): void;
  failed(fault: Fault): void;
  /** The identical request that this one waited for has its answer stored. The exchange stays open until that is sent. */
  settled(): void;
}

interface LanePlace {
  region: string;
  lane: string;
  entryId: string;
}

/** Where exchanges are kept while they are open. */
export interface ExchangeHost {
  /** How long an answer waits for its receipt. */
  readonly receiptWaitMs: number;
  /** Fetches an answer that was too large for its message; null when it is no longer there. */
  fetchAnswer(ref: string): Promise<string | null>;
  /** Whether the pipeline has written how the request ended: until then another delivery may answer it. */
  isEnded(exchange: Exchange): boolean | Promise<boolean>;
  /** The client has taken what was to be acknowledged. */
  acknowledge(reply: Reply): void;
  /** The pipeline has been silent for too long: the request is to be stopped. */
  gaveUp(exchange: Exchange): void;
  /** The client has gone, and will not come back for the answer: the request is to be stopped. */
  clientLeft(exchange: Exchange): void;
  /** Called once, when nothing more is expected. */
  closed(exchange: Exchange): void;
}

/**
 * The api's side of one request in the pipeline: joins answer and receipt, drops what belongs to an abandoned delivery or
 * comes twice, and gives up in time.
 */
export class Exchange {
  #entry: Readonly<UnroutedEntry>;
  #place: LanePlace | undefined;
  #region: string | undefined;
  #isLeased = false;
  #waitsFor: string | undefined;
  #missed = 0;
  #isSilent = false;
  #sink: ExchangeSink | undefined;
  /** A failure that came before the caller was ready. */
  #earlyFault: Fault | undefined;
  readonly #host: ExchangeHost;
  /** Number of the delivery that is listened to, and of the last message of it that was taken. */
  #delivery = 1;
  #seq = 0;
  #framesSeen = false;
  /** What each delivery has answered, whole or as the last payload of a stream: the receipt may be of any of them. */
  readonly #answers = new Map<number, string>();
  #receipt: { delivery: number; text: string } | undefined;
  #receiptTimer: NodeJS.Timeout | undefined;
  /** It was not known to have ended when it was last looked at. */
  #seenOpen = false;
  readonly #patience: NodeJS.Timeout;
  #isAnswered = false;
  #closed = false;
  /** Replies that came before the caller was ready; null once it is. */
  #early: [Reply, string][] | null = [];

  constructor(entry: Readonly<UnroutedEntry>, host: ExchangeHost) {
    this.#entry = entry;
    this.#host = host;
    const patienceMs = entry.deadlineAt - entry.startedAt + PATIENCE_MS;
    this.#patience = setTimeout(() => {
      host.gaveUp(this);
      this.fail(GAVE_UP);
    }, patienceMs);
  }

  /** The request: as it was admitted, once it is. */
  get entry(): Readonly<UnroutedEntry> {
    return this.#entry;
  }

  /** Where the request is, once it is admitted to run. */
  get place(): Readonly<LanePlace> | undefined {
    return this.#place;
  }

  /** The region whose answer it is, as far as that is known. */
  get region(): string | undefined {
    return this.#region;
  }

  /** Whether it holds a lease, which a stream does from its admission on. */
  get isLeased(): boolean {
    return this.#isLeased;
  }

  /** The request of the claim that this one waits for. */
  get waitsFor(): string | undefined {
    return this.#waitsFor;
  }

  /** It was admitted, and a worker is to answer it. */
  get awaitsWorker(): boolean {
    return this.#place !== undefined && !this.#isAnswered;
  }

  /** The request is on a lane. */
  admitted(entry: InferenceEntry, entryId: string): void {
    const { shard, region, stream } = entry;
    this.#entry = entry;
    this.#place = { region, lane: inferenceLane(shard, region), entryId };
    this.#region = region;
    this.#isLeased = stream;
  }

  /** The answer is that of an identical request: the one that is named runs, or (null) it is stored already. */
  joined(requestId: string | null): void {
    this.#isLeased = this.#entry.stream;
    if (requestId === null) this.#stored();
    else this.#waitsFor = requestId;
  }

  /** Begins a time in which something should come of it. Returns whether nothing came in the time before. */
  beginSilence(): boolean {
    const wasSilent = this.#isSilent;
    this.#isSilent = true;
    return wasSilent;
  }

  /** Counts the looks in a row at which it, or the one that it waits for, was not there; what comes of it ends the row. */
  countMissed(isMissed: boolean): number {
    this.#missed = isMissed ? this.#missed + 1 : 0;
    return this.#missed;
  }

  /** Whether nothing has come of it since `beginSilence`. */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** The caller is ready: hands over what has come already, and everything from now on as it comes. */
  open(sink: ExchangeSink): void {
    this.#sink = sink;
    const early = this.#early ?? [];
    this.#early = null;
    if (this.#earlyFault !== undefined) sink.failed(this.#earlyFault);
    for (const [reply, payload] of early) this.take(reply, payload);
  }

  /** Takes a reply from the inbox. */
  take(reply: Reply, payload: string): void {
    if (this.#closed) return;
    this.#isSilent = false;
    this.#missed = 0;
    if (this.#early !== null) {
      this.#early.push([reply, payload]);
      return;
    }
    if (reply.kind === 'settled') {
      this.#stored();
      this.#sink!.settled();
      return;
    }
    if (!this.#isCurrent(reply)) return;
    if (reply.kind === 'moved') return this.moved(reply);
    if ('region' in reply && reply.region !== undefined) this.#region = reply.region;
    switch (reply.kind) {
      case 'frames':
        this.#framesSeen = true;
        this.#patience.refresh();
        if (reply.acknowledge === undefined) this.#sink!.frames(payload);
        else this.#sink!.frames(payload, () => this.#host.acknowledge(reply));
        return;
      case 'answer':
        this.#isAnswered = true;
        if (reply.ref === undefined) this.#answered(reply.attempt, payload);
        else void this.#fetch(reply.attempt, reply.ref);
        return;
      case 'last':
        this.#isAnswered = true;
        this.#answered(reply.attempt, payload);
        return;
      case 'receipt':
        this.#receipt = { delivery: reply.attempt, text: payload };
        this.#join();
        return;
      case 'receipt_of_another':
        this.#receiptIsOfAnother(reply.attempt, payload);
        return;
      case 'error':
        // Its delivery has answered already: it has not heard that its outcome was written.
        if (this.#answers.has(reply.attempt)) return;
        this.fail(faultOfWire(reply.error));
        return;
      case 'receipt_failed':
        this.fail(faultOfWire(reply.error));
    }
  }

  /** The answer is stored. Nothing of the pipeline is awaited any more; what is sent keeps its lease until it is closed. */
  #stored(): void {
    this.#waitsFor = undefined;
    clearTimeout(this.#patience);
  }

  /** Nothing more is wanted: the request was not admitted, or its answer comes from elsewhere. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#patience);
    clearTimeout(this.#receiptTimer);
    this.#host.closed(this);
  }

  /** The client has gone. A request with an Idempotency-Key runs on: its client may come back for the answer. */
  leave(): void {
    if (this.#closed) return;
    this.close();
    if (this.#entry.claim === undefined) this.#host.clientLeft(this);
  }

  /** It has gone to another region: that is where it is looked for from now on. */
  moved({ region, entryId }: Place): void {
    if (this.#place === undefined) return;
    this.#place = { region, lane: inferenceLane(this.#entry.shard, region), entryId };
    this.#region = region;
  }

  /** Ends it with a failure. */
  fail(fault: Fault): void {
    if (this.#closed) return;
    this.close();
    if (this.#sink === undefined) this.#earlyFault = fault;
    else this.#sink.failed(fault);
  }

  #isCurrent(reply: Exclude<Reply, { kind: 'settled' }>): boolean {
    const delivery = reply.attempt;
    if (delivery < this.#delivery) {
      // What an abandoned delivery says is dropped, but the request's receipt may be of its answer.
      return reply.kind === 'receipt';
    }
    if (delivery > this.#delivery) {
      // A second delivery begins from the start; what the client has already seen cannot be taken back.
      if (this.#framesSeen && (reply.kind === 'frames' || reply.kind === 'last')) {
        if (this.#entry.claim === undefined) this.#host.gaveUp(this);
        this.fail(RESTARTED);
        return false;
      }
      this.#delivery = delivery;
      this.#seq = 0;
    }
    if (!('seq' in reply)) return true;
    if (reply.seq <= this.#seq) return false;
    this.#seq = reply.seq;
    return true;
  }

  #answered(delivery: number, payload: string): void {
    this.#answers.set(delivery, payload);
    this.#receiptTimer ??= this.#lookAfterReceipt();
    this.#join();
  }

  #lookAfterReceipt(): NodeJS.Timeout {
    return setTimeout(() => {
      const isEnded = this.#host.isEnded(this);
      if (isEnded === true) this.#receiptIsLate(true);
      // What cannot be asked now is asked again.
      else
        void Promise.resolve(isEnded)
          .catch(() => false)
          .then((known) => this.#receiptIsLate(known));
    }, this.#host.receiptWaitMs);
  }

  /**
   * What goes out without its receipt must be what the receipt will be of. So nothing does while the worker may be dead that
   * answered, and another about to. Where that has been seen, the other's answer is on its way once the request has ended.
   */
  #receiptIsLate(isEnded: boolean): void {
    if (this.#closed) return;
    if (isEnded && !this.#seenOpen) return this.#finish(this.#likeliest(), null);
    this.#seenOpen = !isEnded;
    this.#receiptTimer = this.#lookAfterReceipt();
  }

  async #fetch(delivery: number, ref: string): Promise<void> {
    const text = await this.#host.fetchAnswer(ref).catch(() => null);
    if (this.#closed) return;
    if (text !== null) this.#answered(delivery, text);
    else if (delivery === this.#delivery) this.fail(ANSWER_LOST);
  }

  /** Answer and receipt belong together only when the same delivery made them. */
  #join(): void {
    const payload = this.#answers.get(this.#receipt?.delivery ?? 0);
    if (payload !== undefined) this.#finish(payload, this.#receipt!.text);
  }

  /**
   * The receipt is not of what this delivery has answered: what the client gets is the answer that it is of. Of a
   * receipt that could not be opened on its way it is not known which that is: it comes by itself, or is late.
   */
  #receiptIsOfAnother(delivery: number, receipt: string): void {
    this.#answers.delete(delivery);
    if (receipt === '' && this.#answers.size > 0) return this.#join();
    for (const payload of this.#answers.values())
      if (this.#isOf(receipt, payload)) return this.#finish(payload, receipt);
    if (this.#entry.claim !== undefined && !this.#framesSeen) {
      this.close();
      return this.#sink!.settled();
    }
    this.fail(RECEIPT_OF_ANOTHER);
  }

  /** Whether a receipt is of an answer of which the client has seen nothing yet. */
  #isOf(receipt: string, payload: string): boolean {
    const digest = startSaltedDigest(this.#entry.salt).update(payload).end();
    return receipt.includes(multihashOf(digest, 'responseDigest'));
  }

  /** The answer that a receipt which is late will be of: the last one that was heard of. */
  #likeliest(): string {
    return this.#answers.get(Math.max(...this.#answers.keys()))!;
  }

  #finish(payload: string, receipt: string | null): void {
    this.close();
    this.#sink!.done(payload, receipt);
  }
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
const ANSWER_LOST = new Fault('dispatch_unavailable', {
  hasReceipt: true,
  message: 'The answer was lost. Try again.',
});
