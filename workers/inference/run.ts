import { AbortError } from 'p-retry';
import type { Usage } from '#shared/kernel/inference.ts';
import { type SaltedDigest, startSaltedDigest } from '#shared/receipts/digest.ts';
import type { UpstreamFailure } from './providers/upstream-error.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { STORED_CHARS_MAX } from '#shared/lanes/stored-answer.ts';
import type { LaneEntry } from '#shared/lanes/redis/lane-consumer.ts';
import type { UpstreamCall, UpstreamRequest } from './providers/provider.ts';
import { callForAnswer, callForStream, UpstreamError, type WholeAnswer } from './attempt.ts';
import { callUpstream, type CallPlan } from './call-upstream.ts';
import { withEncodingAsked } from './embedding-answer.ts';
import { type Target, targetsOf } from './endpoints.ts';
import { faultOf } from './faults.ts';
import { Replies } from './replies.ts';
import { frameOf, StreamRelay } from './stream-relay.ts';
import { Settlement } from './settlement.ts';
import { upstreamBody } from './upstream-body.ts';
import { readUsage, textOfChoice } from './usage.ts';
import type { RunDeps } from './run-deps.ts';

/** One delivery of one request, from the lane to its outcome. */
export class Run {
  readonly #deps: RunDeps;
  readonly #entry: InferenceEntry;
  readonly #body: string;
  readonly #replies: Replies;
  readonly #settlement: Settlement;
  readonly #digest: SaltedDigest;
  #call: UpstreamCall | undefined;
  /** Calls made to upstreams. A worker that died with this entry is taken to have made one. */
  #calls: number;
  #cancelled = false;

  constructor(deps: RunDeps, lane: LaneEntry, entry: InferenceEntry, body: string) {
    this.#deps = deps;
    this.#entry = entry;
    this.#body = body;
    this.#replies = new Replies(entry, lane.attempt, deps.outbox);
    this.#settlement = new Settlement(deps, lane, entry);
    this.#digest = startSaltedDigest(entry.salt);
    this.#calls = lane.attempt - 1;
  }

  /** The client has gone: stops the upstream. What was generated until now is still receipted. */
  cancel(): void {
    this.#cancelled = true;
    this.#call?.abort();
  }

  /** Runs to its outcome. Never rejects: every end is either a receipt or an error reply. */
  async execute(): Promise<void> {
    try {
      await (this.#entry.stream ? this.#stream() : this.#whole());
    } catch (error) {
      await this.#fail(error);
    }
  }

  async #whole(): Promise<void> {
    const { value, target } = await callUpstream(this.#plan(), (next) => {
      return callForAnswer(this.#deps.providerOf(next.endpoint), this.#request(next));
    });
    const text =
      this.#entry.route === 'embeddings'
        ? withEncodingAsked(value.text, value.parsed, this.#body)
        : value.text;
    this.#digest.update(text);
    const packed = await this.#settlement.pack({ frames: '', last: text });
    await this.#replies.answer(text, this.#deps.client);
    await this.#settlement.complete({
      usage: this.#usageOf(value, target),
      calls: this.#calls,
      responseDigest: this.#digest.end(),
      upstreamModel: target.model,
      packed,
    });
  }

  async #stream(): Promise<void> {
    const ended = Promise.withResolvers<UpstreamFailure | null>();
    let stored: string | null = '';
    const relay = new StreamRelay({
      includeUsage: this.#entry.includeUsage,
      object: this.#entry.route === 'completions' ? 'text_completion' : 'chat.completion.chunk',
      send: (payload) => {
        const frame = frameOf(payload);
        this.#digest.update(payload);
        this.#replies.frames(frame, relay.sent, this.#deps.now());
        if (this.#entry.claim !== undefined && stored !== null) {
          stored = stored.length + frame.length > STORED_CHARS_MAX ? null : stored + frame;
        }
      },
    });
    const { target } = await callUpstream(this.#plan(), (next) => {
      relay.readFrom(next.endpoint);
      return callForStream(this.#deps.providerOf(next.endpoint), this.#request(next), {
        payload: (text, chunk) => relay.accept(text, chunk),
        end: (clean, joules) => {
          relay.measured(joules);
          ended.resolve(clean || relay.isFinished ? null : CUT_OFF);
        },
        failure: (failure) => ended.resolve(failure),
      });
    });
    const failure = await ended.promise;
    if (failure === null) await this.#finishStream(relay, target, () => stored);
    else await this.#breakStream(relay, target, failure);
  }

  async #finishStream(
    relay: StreamRelay,
    target: Target,
    framesSoFar: () => string | null,
  ): Promise<void> {
    const usage = relay.usage ?? this.#count(relay.text);
    const last = relay.finish(usage);
    this.#digest.update(last);
    const frames = framesSoFar();
    const packed = await this.#settlement.pack(frames === null ? null : { frames, last });
    this.#replies.last(last);
    await this.#settlement.complete({
      usage,
      calls: this.#calls,
      responseDigest: this.#digest.end(),
      upstreamModel: target.model,
      packed,
    });
  }

  /** The stream had begun, so it cannot be repeated: an error frame, and a receipt for what was generated. */
  async #breakStream(relay: StreamRelay, target: Target, failure: UpstreamFailure): Promise<void> {
    const gone = failure.kind === 'aborted';
    if (!gone) {
      relay.release();
      this.#replies.error(faultOf(failure));
    }
    await this.#settlement.incomplete(gone ? 'partial' : 'truncated', {
      usage: relay.usage ?? this.#count(relay.text),
      calls: this.#calls,
      responseDigest: this.#digest.end(),
      upstreamModel: target.model,
    });
  }

  async #fail(thrown: unknown): Promise<void> {
    const error = thrown instanceof AbortError ? thrown.originalError : thrown;
    const failure =
      error instanceof UpstreamError
        ? error.failure
        : { kind: 'unavailable' as const, detail: String(error) };
    if (!(error instanceof UpstreamError)) this.#deps.events.runCrashed(this.#entry, error);
    if (failure.kind === 'aborted' && this.#calls > 0) {
      await this.#settlement.incomplete('partial', {
        usage: this.#count(''),
        calls: this.#calls,
        responseDigest: this.#digest.end(),
      });
      return;
    }
    await this.#settlement.failed(faultOf(failure), this.#replies);
  }

  #plan(): CallPlan {
    const { deps, entry } = { deps: this.#deps, entry: this.#entry };
    return {
      targets: targetsOf(deps.catalogue(), entry.model, entry.region),
      region: entry.region,
      breakers: deps.breakers,
      deadlineAt: entry.deadlineAt,
      isCancelled: () => this.#cancelled,
      now: deps.now,
      onCall: (call) => {
        this.#calls += 1;
        this.#call = call;
      },
      onFailure: (target, failure) => deps.events.upstreamFailed(entry, target, failure),
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

  #usageOf({ parsed, joules }: WholeAnswer, { endpoint }: Target): Usage {
    const read = readUsage(parsed['usage'], endpoint.energy);
    const choices = Array.isArray(parsed['choices']) ? parsed['choices'] : [];
    const usage = read ?? this.#count(choices.map(textOfChoice).join(''));
    return joules === undefined ? usage : { ...usage, measuredJoules: joules };
  }

  #count(generated: string): Usage {
    return this.#deps.countUsage(this.#entry, this.#body, generated);
  }
}

const CUT_OFF: UpstreamFailure = { kind: 'connection', detail: 'the stream ended without [DONE]' };
