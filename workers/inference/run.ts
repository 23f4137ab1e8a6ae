import type { Catalogue, Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Usage } from '#shared/kernel/inference.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Relayed } from '#shared/lanes/relayed.ts';
import { STORED_CHARS_MAX } from '#shared/lanes/stored-answer.ts';
import { type SaltedDigest, startSaltedDigest } from '#shared/receipts/digest.ts';
import { upstreamBody, withEncodingAsked } from './bodies.ts';
import type { Breakers } from './breakers.ts';
import type { InferenceEvents } from './events.ts';
import type { Provider, UpstreamCall, UpstreamRequest } from './providers/provider.ts';
import { faultOf, type UpstreamFailure } from './providers/upstream-failure.ts';
import type { Settlement, Spent } from './settlement.ts';
import { frameOf, StreamRelay } from './stream-relay.ts';
import { callForAnswer, callForStream, UpstreamError, type WholeAnswer } from './upstream-call.ts';
import { callUntilAnswered, type CallPlan, type Target, targetsOf } from './upstream-retries.ts';
import { readUsage, textOfChoice } from './usage.ts';

/** What a run needs of its process. */
export interface RunDeps {
  breakers: Breakers;
  events: Pick<InferenceEvents, 'runCrashed' | 'upstreamFailed'>;
  /** The catalogue as it is now. */
  catalogue: () => Catalogue;
  providerOf: (endpoint: Endpoint) => Provider;
  /** Counts tokens of a request's prompt and of the text it generated, where the upstream did not. */
  countUsage: (entry: InferenceEntry, body: string, generated: string) => Promise<Usage>;
  /** Epoch milliseconds. */
  now: () => number;
}

const CUT_OFF: UpstreamFailure = { kind: 'connection', detail: 'the stream ended without [DONE]' };

/** Runs one request against its upstreams, from its body to its outcome. */
export class Run {
  readonly #deps: RunDeps;
  readonly #entry: InferenceEntry;
  readonly #body: string;
  readonly #settlement: Settlement;
  readonly #digest: SaltedDigest;
  #call: UpstreamCall | undefined;
  #calls: number;
  /** Whose stream is read. */
  #asked: Target | undefined;
  #cancelled = false;
  /** The frames sent so far, where they will be kept; null once they are too large for that. */
  #frames: string | null = '';

  /** `calls`: what earlier deliveries of the entry may have called, of which nothing is known. */
  constructor(
    deps: RunDeps,
    settlement: Settlement,
    entry: InferenceEntry,
    body: string,
    calls: number,
  ) {
    this.#deps = deps;
    this.#settlement = settlement;
    this.#entry = entry;
    this.#body = body;
    this.#calls = calls;
    this.#digest = startSaltedDigest(entry.salt);
  }

  /** The client has gone: stops the upstream. What was generated until now is still receipted. */
  cancel(): void {
    this.#cancelled = true;
    this.#call?.abort();
  }

  /** Runs to its outcome, which is a receipt or an error reply. Rejects only when that cannot be written. */
  async execute(): Promise<void> {
    try {
      await (this.#entry.stream ? this.#stream() : this.#whole());
    } catch (error) {
      await this.#fail(error);
    }
  }

  async #whole(): Promise<void> {
    const { value: answer, target } = await callUntilAnswered(this.#plan(), (next) =>
      callForAnswer(this.#deps.providerOf(next.endpoint), this.#request(next)),
    );
    const text =
      this.#entry.route === 'embeddings'
        ? withEncodingAsked(answer.text, answer.parsed, this.#body)
        : answer.text;
    this.#digest.update(text);
    await this.#settlement.answered(text, this.#spent(await this.#usageOf(answer, target), target));
  }

  async #stream(): Promise<void> {
    this.#settlement.replies.onLost = () => this.cancel();
    const relay = new StreamRelay({
      includeUsage: this.#entry.includeUsage,
      object: this.#entry.route === 'completions' ? 'text_completion' : 'chat.completion.chunk',
      send: (payload) => this.#send(payload, relay),
    });
    const { value: stream, target } = await callUntilAnswered(this.#plan(), (next) => {
      relay.readFrom(next.endpoint);
      this.#asked = next;
      const provider = this.#deps.providerOf(next.endpoint);
      return callForStream(provider, this.#request(next), (text, chunk) =>
        relay.accept(text, chunk),
      );
    });
    const end = await stream.ended;
    if (end.failure !== null) return this.#breakStream(relay, target, end.failure);
    relay.measured(end.joules);
    // Some servers close the connection instead of saying [DONE]; the answer is whole if every choice has finished.
    if (!end.clean && !relay.isFinished) return this.#breakStream(relay, target, CUT_OFF);
    await this.#finishStream(relay, target);
  }

  /** Passes one payload of a stream on to the client. */
  #send(payload: string, relay: StreamRelay): void {
    const frame = frameOf(payload);
    this.#digest.update(payload);
    this.#settlement.replies.frames(frame, () => this.#relayed(relay), this.#deps.now());
    if (this.#entry.claim === undefined || this.#frames === null) return;
    const length = this.#frames.length + frame.length;
    this.#frames = length > STORED_CHARS_MAX ? null : this.#frames + frame;
  }

  #relayed(relay: StreamRelay): Relayed {
    return {
      payloads: relay.sent,
      tokens: relay.sentTokens,
      digest: this.#digest.soFar(),
      model: this.#asked!.model,
      calls: this.#calls,
    };
  }

  async #finishStream(relay: StreamRelay, target: Target): Promise<void> {
    const usage = await this.#usageOfStream(relay);
    const last = relay.finish(usage);
    this.#digest.update(last);
    await this.#settlement.streamed(this.#frames, last, this.#spent(usage, target));
  }

  /** The client has part of the answer, so the call cannot be repeated. */
  async #breakStream(relay: StreamRelay, target: Target, failure: UpstreamFailure): Promise<void> {
    const isGone = failure.kind === 'aborted';
    if (!isGone) relay.release();
    const spent = {
      ...this.#spent(await this.#usageOfStream(relay), target),
      relayedPayloads: relay.sent,
    };
    if (isGone) await this.#settlement.left(spent);
    else await this.#settlement.broke(faultOf(failure), spent);
  }

  async #fail(error: unknown): Promise<void> {
    const isExpected = error instanceof UpstreamError;
    if (!isExpected) this.#deps.events.runCrashed(this.#entry, error);
    const failure: UpstreamFailure = isExpected
      ? error.failure
      : { kind: 'unavailable', detail: String(error) };
    // The client left while an upstream was computing: that has used energy.
    if (failure.kind === 'aborted' && this.#calls > 0) {
      const spent = this.#spent(await this.#count(''));
      await this.#settlement.left(this.#entry.stream ? { ...spent, relayedPayloads: 0 } : spent);
    } else await this.#settlement.failed(faultOf(failure));
  }

  #plan(): CallPlan {
    const { events, catalogue, breakers, now } = this.#deps;
    const entry = this.#entry;
    return {
      targets: targetsOf(catalogue(), entry.model, entry.region),
      region: entry.region,
      breakers,
      caller: { requestId: entry.id, orgId: entry.orgId },
      deadlineAt: entry.deadlineAt,
      isCancelled: () => this.#cancelled,
      now,
      onCall: (call) => {
        this.#calls += 1;
        this.#call = call;
      },
      onFailure: (target, failure) => events.upstreamFailed(entry, target, failure),
    };
  }

  #request({ endpoint, model }: Target): UpstreamRequest {
    const { id, route, stream, traceparent, deadlineAt } = this.#entry;
    const request: UpstreamRequest = {
      requestId: id,
      route,
      endpoint,
      body: upstreamBody(this.#body, route, model, stream),
      stream,
      timeoutMs: Math.max(1, Math.min(endpoint.timeoutMs, deadlineAt - this.#deps.now())),
    };
    if (traceparent !== undefined) request.traceparent = traceparent;
    return request;
  }

  /** What the request has used. Ends the digest of what was sent. */
  #spent(usage: Usage, target?: Target): Spent {
    const spent: Spent = { usage, calls: this.#calls, responseDigest: this.#digest.end() };
    if (target !== undefined) spent.upstreamModel = target.model;
    return spent;
  }

  async #usageOf({ parsed, joules }: WholeAnswer, { endpoint }: Target): Promise<Usage> {
    const read = readUsage(parsed['usage'], endpoint.energy);
    const choices = Array.isArray(parsed['choices']) ? parsed['choices'] : [];
    const usage = read ?? (await this.#count(choices.map(textOfChoice).join('')));
    return joules === undefined ? usage : { ...usage, measuredJoules: joules };
  }

  async #usageOfStream(relay: StreamRelay): Promise<Usage> {
    return relay.usage ?? this.#count(relay.text);
  }

  #count(generated: string): Promise<Usage> {
    return this.#deps.countUsage(this.#entry, this.#body, generated);
  }
}
