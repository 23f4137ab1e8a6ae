import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import { frameOf } from '#shared/kernel/event-stream.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { pendingReceipt, type PendingReceipt } from '#shared/receipts/pending.ts';
import { noteFirst, noteReceipt } from '#api/plugins/answered.ts';
import { errorBody, errorHeaders } from '#api/plugins/error-envelope.ts';
import { faultOf } from '#api/plugins/reply-with-error.ts';
import type { UnreadAnswers } from '#api/plugins/unread-answers.ts';
import type { Admitted } from './admit/admitted.ts';
import { answerHeaders, failureHeaders, joinReceipt, withReceipt } from './answer.ts';
import type { ExchangeSink } from './exchange/exchange.ts';
import { storedAnswer } from './idempotency.ts';
import { joinKept, rejoinKept } from './kept/told.ts';
import type { ReplyDeps } from './reply-whole.ts';
import { overflowEvents } from './response-events.ts';
import { EVENT_STREAM, type StreamDialect, streamDialectOf } from './stream-dialects.ts';

/** A reader this far behind is not reading: its stream is cut rather than kept in memory. */
const UNSENT_BYTES_MAX = 8 * 1024 * 1024;
/** A stored stream is sent in pieces of this size, each when the one before has gone out. */
const REPLAYED_CHARS = 256 * 1024;
/** A reader that takes no piece of a stored stream for so long is not reading. */
const READER_PATIENCE_MS = 60_000;
/** And one that has not caught up with a running stream for so long: that holds its upstream, at a kilobyte a second. */
const SLOW_READER_PATIENCE_MS = 240_000;

const JSON_BODY = { 'content-type': 'application/json; charset=utf-8' };

export interface StreamDeps extends ReplyDeps {
  unread: Pick<UnreadAnswers, 'written'>;
}

/** Answers an admitted request with server-sent events, on a connection that Fastify lets go of. */
export function replyStream(
  deps: StreamDeps,
  admitted: Admitted,
  reply: FastifyReply,
): FastifyReply {
  const stream = new EventStream(deps, admitted, reply);
  reply.hijack();
  stream.start();
  return reply;
}

/**
 * The events of one answer. The status is committed with the first of them, so that an upstream that fails at once still
 * gives a proper error; after 15 s of silence, of a response 10, it is committed all the same, to keep the connection alive.
 */
class EventStream implements ExchangeSink {
  readonly #deps: StreamDeps;
  readonly #admitted: Admitted;
  readonly #request: FastifyRequest;
  readonly #response: ServerResponse;
  readonly #keepalive: NodeJS.Timeout;
  readonly #dialect: StreamDialect;
  /** Says that everything up to the last frames that are to be acknowledged has gone out. */
  #taken: (() => void) | undefined;
  /** Where the stored answer comes from that is sent. */
  #replayedFrom: string | undefined;
  #hasFrames = false;
  #begun = false;
  #ended = false;

  constructor(deps: StreamDeps, admitted: Admitted, reply: FastifyReply) {
    this.#deps = deps;
    this.#admitted = admitted;
    this.#request = reply.request;
    this.#response = reply.raw;
    this.#dialect = streamDialectOf(admitted);
    this.#keepalive = setInterval(() => this.#keepAlive(), this.#dialect.silenceMs);
    this.#response.once('close', () => {
      clearInterval(this.#keepalive);
      this.#ended = true;
      this.#admitted.exchange.leave();
    });
  }

  start(): void {
    const { exchange, stored } = this.#admitted;
    if (this.#response.destroyed) {
      clearInterval(this.#keepalive);
      return exchange.leave();
    }
    exchange.open(this);
    if (stored) this.settled();
  }

  frames(text: string, taken?: () => void): void {
    if (!this.#hasFrames) this.#deps.events.streamBegan(this.#admitted.entry);
    this.#hasFrames = true;
    noteFirst(this.#request);
    this.#write(this.#dialect.frames(text));
    if (taken !== undefined) void this.#whenTaken(taken);
  }

  done(payload: string, receipt: string | null): void {
    const { run, keeping } = this.#admitted;
    noteFirst(this.#request);
    noteReceipt(this.#request, receipt);
    const numbered = this.#dialect.last(payload);
    if (keeping === undefined) return this.#end(joinReceipt(this.#deps, run!, numbered, receipt));
    void joinKept(this.#deps, run!, keeping, [numbered, receipt]).then((last) => this.#end(last));
  }

  #end(last: string | Fault): void {
    if (last instanceof Fault) this.failed(last);
    else this.#complete(last);
  }

  async #whenTaken(taken: () => void): Promise<void> {
    const isAwaited = this.#taken !== undefined;
    this.#taken = taken;
    if (isAwaited) return;
    await this.#drained(SLOW_READER_PATIENCE_MS);
    this.#taken();
    this.#taken = undefined;
  }

  failed(fault: Fault): void {
    this.#request.fault = fault;
    // No handler of errors hears of a connection that Fastify has let go of.
    if (fault.code === 'store_unavailable') this.#deps.events.storeFailed(fault.cause ?? fault);
    if (this.#begun) return this.#finish(this.#dialect.failed(fault, this.#announced(fault)));
    this.#ended = true;
    clearInterval(this.#keepalive);
    this.#refuse(fault);
  }

  /** The receipt of what has failed, which is issued in a moment: who asks for it at once is told so. */
  #announced({ hasReceipt }: Fault): PendingReceipt | undefined {
    if (!hasReceipt) return undefined;
    const { issuer, pendingReceipts, events } = this.#deps;
    const { id, orgId } = this.#admitted.entry;
    pendingReceipts.note(orgId, receiptIdOf(id)).catch(events.storeFailed);
    return pendingReceipt(issuer, id);
  }

  settled(): void {
    void this.#replay();
  }

  async #replay(): Promise<void> {
    try {
      const { frames, last, receipt, region } = await storedAnswer(
        this.#deps,
        this.#admitted.entry,
      );
      this.#replayedFrom = region;
      noteReceipt(this.#request, receipt);
      this.#deps.unread.written(this.#request, this.#response, frames.length);
      // A piece may end within a frame, where a keepalive would be read as part of it.
      clearInterval(this.#keepalive);
      const sent = this.#dialect.frames(frames);
      for (let at = 0; at < sent.length && !this.#ended; at += REPLAYED_CHARS) {
        this.#begin();
        this.#response.write(sent.slice(at, at + REPLAYED_CHARS));
        await this.#drained(READER_PATIENCE_MS);
      }
      const whole = withReceipt(this.#dialect.last(last), receipt);
      const told = await rejoinKept(this.#deps, this.#admitted, whole);
      if (!this.#ended) this.#complete(told);
    } catch (error) {
      if (!this.#ended) this.failed(faultOf(error));
    } finally {
      this.#admitted.exchange.close();
    }
  }

  /** Resolves when the reader has caught up, or has gone; one that does not for so long is let go. */
  async #drained(patienceMs: number): Promise<void> {
    if (!this.#response.writableNeedDrain || this.#response.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const patience = setTimeout(() => this.#response.destroy(), patienceMs);
    this.#response.once('drain', resolve).once('close', resolve);
    await promise;
    clearTimeout(patience);
    this.#response.off('drain', resolve).off('close', resolve);
  }

  /** Before the first event a failure is an ordinary error answer. */
  #refuse(fault: Fault): void {
    this.#deps.events.refused(fault, this.#request);
    if (this.#response.headersSent || this.#response.destroyed) return;
    const events = overflowEvents(fault, this.#request);
    const body = events ?? errorBody(fault, this.#request);
    this.#response
      .writeHead(events === undefined ? fault.status : 200, {
        ...failureHeaders(this.#deps, this.#admitted, this.#region, fault),
        ...errorHeaders(fault),
        ...(events === undefined ? JSON_BODY : EVENT_STREAM),
        'content-length': Buffer.byteLength(body),
      })
      .end(body);
    this.#deps.unread.written(this.#request, this.#response);
  }

  #write(text: string): void {
    if (this.#ended) return;
    this.#begin();
    this.#keepalive.refresh();
    this.#response.write(text);
    if (this.#response.writableLength > UNSENT_BYTES_MAX) this.#response.destroy();
  }

  /** Where the answer has not begun, a request that is not pinned may still go to another region: that is not said too early. */
  #keepAlive(): void {
    if (this.#admitted.run?.elsewhere !== undefined) this.#begin(null);
    this.#write(this.#dialect.alive());
  }

  /** The whole answer is there: its last payload and the end of the stream. */
  #complete(last: string): void {
    const frame = frameOf(last, this.#admitted.entry.route);
    this.#finish(frame + this.#dialect.end);
    this.#deps.events.answered(this.#admitted.entry);
  }

  #finish(text: string): void {
    if (this.#ended) return;
    this.#begin();
    this.#ended = true;
    clearInterval(this.#keepalive);
    this.#response.end(text);
    this.#deps.unread.written(this.#request, this.#response);
  }

  get #region(): string | null {
    return this.#replayedFrom ?? this.#admitted.exchange.region ?? null;
  }

  #begin(region: string | null = this.#region): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#response.writeHead(200, {
      ...answerHeaders(this.#deps, this.#admitted, region),
      ...EVENT_STREAM,
    });
  }
}
