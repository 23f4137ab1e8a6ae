import type { Fault } from '#shared/kernel/errors.ts';
import type { InferenceEntry, Reply } from '#shared/lanes/messages.ts';
import type { Place } from '#shared/lanes/redis/hand-on.ts';
import type { UnroutedEntry } from '../read.ts';
import { type Act, afterEvent, begun, type ExchangeEvent, type LanePlace } from './states.ts';

/** How much longer than the pipeline's own deadline the api waits: the pipeline's word is better than a time-out. */
const PATIENCE_MS = 5_000;

/** The callbacks by which the holder of a client connection hears of its request. At most one of `done`, `failed`, `settled` is called. */
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
  /** The identical request that this one waited for has its answer stored. The holder closes the exchange when that is sent. */
  settled(): void;
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
 * The api's side of one request in the pipeline: what happens to it (states.ts), with the timers, the stores and the client
 * that this takes.
 */
export class Exchange {
  readonly #host: ExchangeHost;
  #state: ReturnType<typeof begun>;
  #sink: ExchangeSink | undefined;
  /** Replies that came before the caller was ready; null once it is. */
  #early: [Reply, string][] | null = [];
  /** A failure that came before the caller was ready. */
  #earlyFault: Fault | undefined;
  readonly #patience: NodeJS.Timeout;
  #receiptTimer: NodeJS.Timeout | undefined;
  #missed = 0;
  #isSilent = false;

  constructor(entry: Readonly<UnroutedEntry>, host: ExchangeHost) {
    this.#state = begun(entry);
    this.#host = host;
    const patienceMs = entry.deadlineAt - entry.startedAt + PATIENCE_MS;
    this.#patience = setTimeout(() => this.#step({ kind: 'silent' }), patienceMs);
  }

  /** The request: as it was admitted, once it is. */
  get entry(): Readonly<UnroutedEntry> {
    return this.#state.entry;
  }

  /** Where the request is, once it is admitted to run. */
  get place(): Readonly<LanePlace> | undefined {
    return this.#state.place;
  }

  /** The region whose answer it is, as far as that is known. */
  get region(): string | undefined {
    return this.#state.region;
  }

  /** Whether it holds a lease, which a stream does from its admission on. */
  get isLeased(): boolean {
    return this.#state.isLeased;
  }

  /** The request of the claim that this one waits for. */
  get waitsFor(): string | undefined {
    return this.#state.waitsFor;
  }

  /** It was admitted, and a worker is to answer it. */
  get awaitsWorker(): boolean {
    const { is, place } = this.#state;
    return place !== undefined && (is === 'waiting' || is === 'streaming');
  }

  /** The request is on a lane. */
  admitted(entry: InferenceEntry, entryId: string): void {
    this.#step({ kind: 'admitted', entry, entryId });
  }

  /** The answer is that of an identical request: the one that is named runs, or (null) it is stored already. */
  joined(requestId: string | null): void {
    this.#step({ kind: 'joined', requestId });
  }

  /** It has gone to another region: that is where it is looked for from now on. */
  moved(place: Place): void {
    this.#step({ kind: 'moved', place });
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
    this.#isSilent = false;
    this.#missed = 0;
    if (this.#early === null) this.#step({ kind: 'reply', reply, payload });
    else if (this.#state.is !== 'ended') this.#early.push([reply, payload]);
  }

  /** Nothing more is wanted: the request was not admitted, or its answer comes from elsewhere. */
  close(): void {
    this.#step({ kind: 'closed' });
  }

  /** The client has gone. A request with an Idempotency-Key runs on: its client may come back for the answer. */
  leave(): void {
    this.#step({ kind: 'left' });
  }

  /** Ends it with a failure. */
  fail(fault: Fault): void {
    this.#step({ kind: 'failed', fault });
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

  #step(event: ExchangeEvent): void {
    const { is } = this.#state;
    const [state, acts] = afterEvent(this.#state, event);
    this.#state = state;
    if (state.is === 'ended' && is !== 'ended') {
      clearTimeout(this.#patience);
      clearTimeout(this.#receiptTimer);
      this.#host.closed(this);
    }
    for (const act of acts) this.#do(act);
  }

  #do(act: Act): void {
    switch (act.do) {
      case 'send': {
        const { frames, reply } = act;
        this.#patience.refresh();
        if (reply.acknowledge === undefined) this.#sink!.frames(frames);
        else this.#sink!.frames(frames, () => this.#host.acknowledge(reply));
        return;
      }
      case 'fetch':
        void this.#fetch(act.delivery, act.ref);
        return;
      case 'wait for the receipt':
        this.#receiptTimer ??= setTimeout(() => this.#lookAfterReceipt(), this.#host.receiptWaitMs);
        return;
      case 'stop waiting for the pipeline':
        clearTimeout(this.#patience);
        return;
      case 'cancel':
        this.#host.gaveUp(this);
        return;
      case 'note that the client left':
        this.#host.clientLeft(this);
        return;
      case 'answer':
        this.#sink!.done(act.payload, act.receipt);
        return;
      case 'answer from the store':
        this.#sink!.settled();
        return;
      case 'refuse':
        if (this.#sink === undefined) this.#earlyFault = act.fault;
        else this.#sink.failed(act.fault);
    }
  }

  async #fetch(delivery: number, ref: string): Promise<void> {
    const text = await this.#host.fetchAnswer(ref).catch(() => null);
    this.#step({ kind: 'fetched', delivery, text });
  }

  #lookAfterReceipt(): void {
    const isEnded = this.#host.isEnded(this);
    if (isEnded === true) this.#receiptIsLate(isEnded);
    // What cannot be asked now is asked again.
    else
      void Promise.resolve(isEnded)
        .catch(() => false)
        .then((known) => this.#receiptIsLate(known));
  }

  #receiptIsLate(isEnded: boolean): void {
    this.#receiptTimer = undefined;
    this.#step({ kind: 'late', isEnded });
  }
}
