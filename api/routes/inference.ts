import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { buildUnsignedDegraded } from '#shared/receipts/build.ts';
import type { Verdict } from '#shared/screening/screen.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import type { Admission } from '#shared/lanes/redis/admission.ts';
import { limitHeaders, refusalOf } from '#api/inference/admission-faults.ts';
import {
  answerSink,
  sendJson,
  RECEIPT_LATE,
  STORED_ANSWER_GONE,
  withReceipt,
} from '#api/inference/answer.ts';
import type { Dispatcher } from '#api/inference/dispatcher.ts';
import type { Exchange, ExchangeSink } from '#api/inference/exchange.ts';
import { checkLength, type GuardDeps, screenBody } from '#api/inference/guard.ts';
import { prepare, type PrepareDeps, type Prepared } from '#api/inference/prepare.ts';
import { StreamReply } from '#api/inference/stream-reply.ts';
import type { ApiEvents } from '#api/events.ts';
import { envelopeOf, errorHeaders } from '#api/plugins/error-envelope.ts';
import { faultOf } from '#api/plugins/reply-with-error.ts';

export interface InferenceRouteOptions {
  prepare: PrepareDeps;
  dispatcher: Dispatcher;
  issuer: ReceiptIssuer;
  events: ApiEvents;
  /** Records a refusal by screening, with its receipt; returns what the caller is told. */
  refuse: (prepared: Prepared, verdict: Verdict) => Promise<Fault>;
  guard: GuardDeps;
  /** Epoch milliseconds. */
  now: () => number;
}

const PATHS: Record<Route, string> = {
  'chat.completions': '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
};

const NO_BODY = 'The body is missing. Send JSON, with the content type application/json.';

/** The three operations that reach a model. */
export function inferenceRoutes(app: FastifyInstance, options: InferenceRouteOptions): void {
  for (const [route, path] of Object.entries(PATHS) as [Route, string][]) {
    app.post(path, { config: { scope: 'inference:write', rawBody: true } }, (request, reply) =>
      new Handling(options, route, request, reply).run(),
    );
  }
}

/** One request on its way through the edge. */
class Handling {
  readonly #options: InferenceRouteOptions;
  readonly #route: Route;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #startedAt: number;
  #prepared!: Prepared;
  readonly #headers: Record<string, string> = {};

  constructor(
    options: InferenceRouteOptions,
    route: Route,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    this.#options = options;
    this.#route = route;
    this.#request = request;
    this.#reply = reply;
    this.#startedAt = options.now();
  }

  async run(): Promise<FastifyReply> {
    const { rawBody } = (this.#request.body ?? {}) as { rawBody?: Buffer };
    // Without a content type and without a body, nothing was there to be parsed.
    if (rawBody === undefined) throw new Fault('invalid_content_type', NO_BODY);
    this.#prepared = prepare(this.#options.prepare, this.#route, {
      id: this.#request.id,
      rawBody,
      headers: this.#request.headers,
      credential: this.#request.credential,
      now: this.#startedAt,
    });
    await this.#guard(rawBody.length);
    return this.#prepared.entry.stream ? this.#stream() : this.#whole();
  }

  async #guard(bytes: number): Promise<void> {
    const { guard, refuse } = this.#options;
    const { parsed, resolution } = this.#prepared;
    const verdict = await screenBody(guard, this.#route, parsed, bytes, resolution.model);
    if (verdict !== null) throw await refuse(this.#prepared, verdict);
    await checkLength(guard, this.#route, parsed, bytes, resolution.model);
  }

  async #whole(): Promise<FastifyReply> {
    const { sink, promise } = answerSink(() => this.#degraded());
    const [admission, exchange] = await this.#admit(sink);
    if (admission.verdict === 'replay') return this.#replayWhole();
    this.#watch(admission, exchange);
    const text = await promise;
    if (text === null) return this.#replayWhole();
    this.#reply.headers(this.#answerHeaders());
    this.#options.events.answered(this.#prepared.entry, this.#startedAt);
    return sendJson(this.#reply, text);
  }

  async #replayWhole(): Promise<FastifyReply> {
    const stored = await this.#stored();
    this.#reply.headers(this.#answerHeaders());
    return sendJson(this.#reply, withReceipt(stored.answer.last, stored.receipt));
  }

  async #stream(): Promise<FastifyReply> {
    let exchange: Exchange | undefined;
    let admission: Admission | undefined;
    const stream = new StreamReply({
      response: this.#reply.raw,
      headers: () => this.#answerHeaders(),
      degraded: () => this.#degraded(),
      refuse: (fault) => this.#refuseHijacked(fault),
      onDone: () => this.#options.events.answered(this.#prepared.entry, this.#startedAt),
      onGone: () => {
        exchange?.abandon();
        if (admission !== undefined) this.#cancel(admission);
      },
      onSettled: () => void this.#replayStream(stream),
    });
    this.#reply.hijack();
    try {
      [admission, exchange] = await this.#admit(stream);
    } catch (error) {
      stream.failed(faultOf(error));
      return this.#reply;
    }
    if (this.#reply.raw.destroyed) {
      exchange.abandon();
      this.#cancel(admission);
    } else if (admission.verdict === 'replay') {
      await this.#replayStream(stream);
    }
    return this.#reply;
  }

  async #replayStream(stream: StreamReply): Promise<void> {
    try {
      const { answer, receipt } = await this.#stored();
      if (answer.frames !== '') stream.frames(answer.frames);
      stream.done(answer.last, receipt);
    } catch (error) {
      stream.failed(faultOf(error));
    }
  }

  async #stored() {
    const stored = await this.#options.dispatcher.replay(this.#prepared.entry.claim!);
    if (stored === null) throw STORED_ANSWER_GONE;
    const { credentialSubject } = JSON.parse(stored.receipt) as {
      credentialSubject: { region: string };
    };
    // Where the first request ran; this one might have gone elsewhere by now.
    this.#headers['x-region'] = credentialSubject.region;
    return stored;
  }

  /** Tries the regions the request may use, in order; only saturation moves it on to the next. */
  async #admit(sink: ExchangeSink): Promise<[Admission, Exchange]> {
    const { entry, body, resolution, fingerprint } = this.#prepared;
    const { limits, keyLimit } = this.#request.credential;
    let outcome: [Admission, Exchange] | undefined;
    for (const { region } of resolution.candidates) {
      entry.region = region.code;
      outcome = await this.#options.dispatcher.dispatch(
        {
          entry,
          body,
          limits,
          keyLimit,
          regionCapacity: region.capacity,
          ...(fingerprint === undefined ? {} : { fingerprint }),
        },
        sink,
      );
      if (outcome[0].verdict !== 'saturated') break;
    }
    const [admission, exchange] = outcome!;
    Object.assign(this.#headers, limitHeaders(limits, admission, this.#startedAt));
    if (admission.verdict === 'wait' || admission.verdict === 'replay') {
      // Known before the answer is: a stream that waits for long sends its headers with the first keepalive.
      this.#headers['idempotent-replayed'] = 'true';
      this.#headers['x-receipt-id'] = receiptIdOf(admission.requestId);
    } else if (admission.verdict !== 'admitted') {
      throw refusalOf(admission, entry.region, this.#headers);
    }
    exchange.open();
    return outcome!;
  }

  /** Tells the pipeline when the client goes before the answer comes. */
  #watch(admission: Admission, exchange: Exchange): void {
    this.#reply.raw.once('close', () => {
      if (exchange.isEnded) return;
      exchange.abandon();
      this.#cancel(admission);
    });
  }

  /** An idempotent request is not cancelled: its client may come back for the answer. */
  #cancel(admission: Admission): void {
    const { entry } = this.#prepared;
    if (admission.verdict !== 'admitted' || entry.claim !== undefined) return;
    this.#options.events.clientGone(entry);
    this.#options.dispatcher.cancel(entry, admission.laneEntryId);
  }

  #answerHeaders(): Record<string, string> {
    const { entry } = this.#prepared;
    return {
      'x-receipt-id': receiptIdOf(entry.id),
      'x-request-id': entry.id,
      'x-region': entry.region,
      'openai-processing-ms': String(this.#options.now() - this.#startedAt),
      ...this.#headers,
    };
  }

  #degraded(): string {
    const { entry } = this.#prepared;
    this.#options.events.receiptLate(entry);
    if (entry.receipt === 'required') throw RECEIPT_LATE;
    return JSON.stringify(
      buildUnsignedDegraded({
        issuer: this.#options.issuer,
        requestId: entry.id,
        orgId: entry.orgId,
        route: entry.route,
        model: entry.model,
        region: entry.region,
        startedAt: entry.startedAt,
        now: this.#options.now(),
      }),
    );
  }

  /** Sends an error on a connection that Fastify has already let go of. */
  #refuseHijacked(fault: Fault): void {
    const { raw } = this.#reply;
    this.#options.events.refused(fault, this.#request);
    if (raw.headersSent || raw.destroyed) return;
    const { id } = this.#prepared.entry;
    const { 'idempotent-replayed': _replayed, 'x-receipt-id': _receipt, ...limits } = this.#headers;
    const { body, headers, status } = plainError(fault, { 'x-request-id': id, ...limits });
    raw.writeHead(status, headers).end(body);
  }
}

/** An error answer in plain parts, for a connection that is no longer Fastify's. */
function plainError(
  fault: Fault,
  headers: Record<string, string>,
): { status: number; headers: Record<string, string | number>; body: string } {
  const body = JSON.stringify(envelopeOf(fault));
  return {
    status: fault.status,
    headers: {
      ...headers,
      ...errorHeaders(fault),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    },
    body,
  };
}
