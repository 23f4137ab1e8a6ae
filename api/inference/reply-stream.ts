import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { envelopeOf, errorHeaders } from '#api/plugins/error-envelope.ts';
import { faultOf } from '#api/plugins/reply-with-error.ts';
import { admit, type Admitted } from './admit.ts';
import { answerHeaders, joinReceipt } from './answer.ts';
import type { Exchange, ExchangeSink } from './exchange.ts';
import { storedAnswer } from './idempotency.ts';
import type { Prepared } from './prepare.ts';
import type { ReplyDeps } from './reply-whole.ts';

/** Load balancers cut a connection after 60 s of silence, some after 30. */
const KEEPALIVE_MS = 15_000;
const KEEPALIVE = ': keepalive\n\n';
/** A reader this far behind is not reading: its stream is cut rather than kept in memory. */
const UNSENT_BYTES_MAX = 8 * 1024 * 1024;

/** Has a request admitted and answers it with server-sent events, on a connection that Fastify lets go of. */
export async function replyStream(
  deps: ReplyDeps,
  prepared: Prepared,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const stream = new EventStream(deps, prepared.entry, reply);
  reply.hijack();
  try {
    stream.admitted(await admit(deps, prepared, stream));
  } catch (error) {
    stream.failed(faultOf(error));
  }
  return reply;
}

/**
 * The events of one answer. The status is committed with the first of them, so that an upstream that fails at once still
 * gives a proper error; after 15 s of silence it is committed all the same, to keep the connection alive.
 */
class EventStream implements ExchangeSink {
  readonly #deps: ReplyDeps;
  readonly #entry: InferenceEntry;
  readonly #request: FastifyRequest;
  readonly #response: ServerResponse;
  readonly #keepalive: NodeJS.Timeout;
  #headers: Admitted['headers'] = {};
  #exchange: Exchange | null = null;
  #begun = false;
  #ended = false;

  constructor(deps: ReplyDeps, entry: InferenceEntry, reply: FastifyReply) {
    this.#deps = deps;
    this.#entry = entry;
    this.#request = reply.request;
    this.#response = reply.raw;
    this.#keepalive = setInterval(() => this.#write(KEEPALIVE), KEEPALIVE_MS);
    this.#response.once('close', () => {
      clearInterval(this.#keepalive);
      this.#exchange?.leave();
      this.#ended = true;
    });
  }

  /** The request is in: its replies may be heard from now on. */
  admitted({ exchange, headers }: Admitted): void {
    this.#headers = headers;
    this.#exchange = exchange;
    if (this.#response.destroyed) exchange?.leave();
    else if (exchange === null) void this.#replay();
    else exchange.open();
  }

  frames(text: string): void {
    this.#write(text);
  }

  done(payload: string, receipt: string | null): void {
    const last = joinReceipt(this.#deps, this.#entry, payload, receipt);
    if (last instanceof Fault) return this.failed(last);
    this.#finish(`data: ${last.replaceAll(/\r?\n/g, '\ndata: ')}\n\ndata: [DONE]\n\n`);
    this.#deps.events.answered(this.#entry);
  }

  /** A stream that breaks ends with an error frame and without `[DONE]`: a client that sees neither would take it for whole. */
  failed(fault: Fault): void {
    if (this.#begun) return this.#finish(`data: ${JSON.stringify(envelopeOf(fault))}\n\n`);
    this.#ended = true;
    clearInterval(this.#keepalive);
    this.#refuse(fault);
  }

  settled(): void {
    void this.#replay();
  }

  async #replay(): Promise<void> {
    try {
      const { frames, last, receipt, region } = await storedAnswer(this.#deps, this.#entry);
      if (this.#ended) return;
      this.#headers['x-region'] = region;
      if (frames !== '') this.frames(frames);
      this.done(last, receipt);
    } catch (error) {
      this.failed(faultOf(error));
    }
  }

  /** Before the first event a failure is an ordinary error answer. */
  #refuse(fault: Fault): void {
    this.#deps.events.refused(fault, this.#request);
    if (this.#response.headersSent || this.#response.destroyed) return;
    const { 'idempotent-replayed': _replayed, 'x-receipt-id': _receipt, ...limits } = this.#headers;
    const body = JSON.stringify(envelopeOf(fault));
    this.#response
      .writeHead(fault.status, {
        'x-request-id': this.#entry.id,
        ...limits,
        ...errorHeaders(fault),
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
      })
      .end(body);
  }

  #write(text: string): void {
    if (this.#ended) return;
    this.#begin();
    this.#keepalive.refresh();
    this.#response.write(text);
    if (this.#response.writableLength > UNSENT_BYTES_MAX) this.#response.destroy();
  }

  #finish(text: string): void {
    if (this.#ended) return;
    this.#begin();
    this.#ended = true;
    clearInterval(this.#keepalive);
    this.#response.end(text);
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#response.writeHead(200, {
      ...answerHeaders(this.#deps, this.#entry, this.#headers),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
  }
}
