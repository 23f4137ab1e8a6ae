import type { ServerResponse } from 'node:http';
import { Fault } from '#shared/kernel/errors.ts';
import { envelopeOf } from '#api/plugins/error-envelope.ts';
import { withReceipt } from './answer.ts';
import type { ExchangeSink } from './exchange.ts';

/** Load balancers cut a connection after 60 s of silence, some after 30. */
const KEEPALIVE_MS = 15_000;
const KEEPALIVE = ': keepalive\n\n';
/** A reader this far behind is not reading: its stream is cut rather than kept in memory. */
const UNSENT_BYTES_MAX = 8 * 1024 * 1024;

export interface StreamReplyOptions {
  response: ServerResponse;
  headers: () => Record<string, string>;
  /** The receipt to send when the signed one is late; throws a Fault when only a signed one will do. */
  degraded: () => string;
  /** Before the first byte a failure is an ordinary error answer; this sends it. */
  refuse: (fault: Fault) => void;
  /** The whole stream has been sent. */
  onDone: () => void;
  /** The client cannot keep up, or has gone. */
  onGone: () => void;
  onSettled: () => void;
}

/**
 * One server-sent event stream to a client. The status is committed with the first frame, so that an upstream that fails
 * at once still gives a proper error; after 15 s of silence it is committed all the same, to keep the connection alive.
 */
export class StreamReply implements ExchangeSink {
  readonly #options: StreamReplyOptions;
  readonly #keepalive: NodeJS.Timeout;
  #begun = false;
  #ended = false;

  constructor(options: StreamReplyOptions) {
    this.#options = options;
    this.#keepalive = setInterval(() => this.#beat(), KEEPALIVE_MS);
    options.response.once('close', () => {
      clearInterval(this.#keepalive);
      if (!this.#ended) options.onGone();
      this.#ended = true;
    });
  }

  frames(text: string): void {
    this.#write(text);
  }

  done(payload: string, receipt: string | null): void {
    let carrier: string;
    try {
      carrier = withReceipt(payload, receipt ?? this.#options.degraded());
    } catch (error) {
      return this.failed(error as Fault);
    }
    this.#finish(`data: ${carrier.replaceAll(/\r?\n/g, '\ndata: ')}\n\ndata: [DONE]\n\n`);
    this.#options.onDone();
  }

  /** A stream that breaks ends with an error frame and without `[DONE]`: a client that sees neither would take it for whole. */
  failed(fault: Fault): void {
    if (this.#begun) {
      this.#finish(`data: ${JSON.stringify(envelopeOf(fault))}\n\n`);
      return;
    }
    this.#ended = true;
    clearInterval(this.#keepalive);
    this.#options.refuse(fault);
  }

  settled(): void {
    this.#options.onSettled();
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#options.response.writeHead(200, {
      ...this.#options.headers(),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
  }

  #write(text: string): void {
    if (this.#ended) return;
    this.#begin();
    this.#keepalive.refresh();
    this.#options.response.write(text);
    if (this.#options.response.writableLength > UNSENT_BYTES_MAX) this.#options.response.destroy();
  }

  #finish(text: string): void {
    if (this.#ended) return;
    this.#begin();
    this.#ended = true;
    clearInterval(this.#keepalive);
    this.#options.response.end(text);
  }

  #beat(): void {
    this.#write(KEEPALIVE);
  }
}
