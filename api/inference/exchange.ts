import { Fault } from '#shared/kernel/errors.ts';
import type { Reply, WireFault } from '#shared/lanes/messages.ts';

/** What the holder of a client connection hears of its request. Exactly one of `done`, `failed`, `settled` ends it. */
export interface ExchangeSink {
  /** Stream frames, ready for the socket. */
  frames(text: string): void;
  /**
   * The answer (or a stream's last payload) as JSON text, and the signed receipt's bytes;
   * null when the receipt did not come in time.
   */
  done(payload: string, receipt: string | null): void;
  failed(fault: Fault): void;
  /** The identical request that this one waited for has its answer stored. */
  settled(): void;
}

export interface ExchangeOptions {
  id: string;
  receiptWaitMs: number;
  /** Milliseconds of silence after which the request is given up. */
  patienceMs: number;
  /** Told before that happens, so that the pipeline stops too. */
  onGiveUp: () => void;
  sink: ExchangeSink;
  /** Called once, when nothing more is expected. */
  onEnd: () => void;
  /** Fetches an answer that was too large for its message. */
  fetchClaimed: (ref: string) => Promise<string | null>;
}

/**
 * The api's side of one request in the pipeline: joins answer and receipt, drops what belongs to an abandoned attempt or
 * comes twice, and gives up in time.
 */
export class Exchange {
  readonly #options: ExchangeOptions;
  #attempt = 1;
  #seq = 0;
  #framesSeen = false;
  #last: { attempt: number; payload: string } | undefined;
  #receipt: { attempt: number; text: string } | undefined;
  #receiptTimer: NodeJS.Timeout | undefined;
  readonly #patience: NodeJS.Timeout;
  #ended = false;
  /** Replies that came before the caller was ready; null once it is. */
  #early: [Reply, string][] | null = [];

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#patience = setTimeout(() => {
      options.onGiveUp();
      this.#fail(GAVE_UP);
    }, options.patienceMs);
  }

  get id(): string {
    return this.#options.id;
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  /** The caller is ready. A fast worker's first reply may be here before the answer to the admission itself. */
  open(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const [reply, payload] of early) this.take(reply, payload);
  }

  /** Takes a reply from the inbox. */
  take(reply: Reply, payload: string): void {
    if (this.#ended) return;
    if (this.#early !== null) {
      this.#early.push([reply, payload]);
      return;
    }
    if (reply.kind === 'settled') {
      this.#end();
      this.#options.sink.settled();
      return;
    }
    if (!this.#isCurrent(reply)) return;
    switch (reply.kind) {
      case 'frames':
        this.#framesSeen = true;
        this.#patience.refresh();
        this.#options.sink.frames(payload);
        return;
      case 'answer':
        if (reply.ref === undefined) this.#answered(reply.attempt, payload);
        else void this.#fetch(reply.attempt, reply.ref);
        return;
      case 'last':
        this.#answered(reply.attempt, payload);
        return;
      case 'receipt':
        this.#receipt = { attempt: reply.attempt, text: payload };
        this.#join();
        return;
      case 'error':
      case 'receipt_failed':
        this.#fail(faultOfWire(reply.error));
    }
  }

  /** The client has gone: nothing more is wanted. */
  abandon(): void {
    this.#end();
  }

  /** Ends it from outside, at shutdown. */
  fail(fault: Fault): void {
    if (!this.#ended) this.#fail(fault);
  }

  #isCurrent(reply: Exclude<Reply, { kind: 'settled' }>): boolean {
    if (reply.attempt < this.#attempt) return false;
    if (reply.attempt > this.#attempt) {
      // A second run would begin from the start; what the client has already seen cannot be taken back.
      if (this.#framesSeen && (reply.kind === 'frames' || reply.kind === 'last')) {
        this.#fail(RESTARTED);
        return false;
      }
      this.#attempt = reply.attempt;
      this.#seq = 0;
    }
    if (!('seq' in reply)) return true;
    if (reply.seq <= this.#seq) return false;
    this.#seq = reply.seq;
    return true;
  }

  #answered(attempt: number, payload: string): void {
    this.#last = { attempt, payload };
    this.#receiptTimer ??= setTimeout(() => this.#finish(null), this.#options.receiptWaitMs);
    this.#join();
  }

  async #fetch(attempt: number, ref: string): Promise<void> {
    const text = await this.#options.fetchClaimed(ref).catch(() => null);
    if (this.#ended) return;
    if (text === null)
      this.#fail({ code: 'dispatch_unavailable', message: 'The answer was lost. Try again.' });
    else this.#answered(attempt, text);
  }

  /** Answer and receipt belong together only when the same attempt made them. */
  #join(): void {
    if (this.#last !== undefined && this.#receipt?.attempt === this.#last.attempt) {
      this.#finish(this.#receipt.text);
    }
  }

  #finish(receipt: string | null): void {
    const { payload } = this.#last!;
    this.#end();
    this.#options.sink.done(payload, receipt);
  }

  #fail(fault: WireFault | Fault): void {
    this.#end();
    this.#options.sink.failed(fault instanceof Fault ? fault : faultOfWire(fault));
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#patience);
    clearTimeout(this.#receiptTimer);
    this.#options.onEnd();
  }
}

const GAVE_UP: WireFault = {
  code: 'upstream_timeout',
  message: 'The request was not finished in time.',
};
const RESTARTED: WireFault = {
  code: 'worker_lost',
  message: 'The process that ran this request was lost after the stream had begun. Try again.',
};

function faultOfWire({ code, message, param, retryAfterMs }: WireFault): Fault {
  return new Fault(code, message, {
    ...(param === undefined ? {} : { param }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
