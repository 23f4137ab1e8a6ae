import type { Catalogue, Endpoint, Timeouts } from '#shared/catalogue/catalogue.ts';
import { costOf } from '#shared/catalogue/prices.ts';
import { inJoules, joulesIn } from '#shared/catalogue/stated-energy.ts';
import { piecesOf } from '#shared/kernel/long-text.ts';
import { turnFor } from '#shared/kernel/turns.ts';
import { frameOf, hasNamedEvents } from '#shared/kernel/event-stream.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import type { Failure, UnknownUsage, Usage, UsageReason } from '#shared/kernel/inference.ts';
import type { InferenceEntry, WireFault } from '#shared/lanes/messages.ts';
import type { Relayed } from '#shared/lanes/relayed.ts';
import { INLINE_BYTES_MAX } from '#shared/lanes/redis/admission.ts';
import { STORED_CHARS_MAX } from '#shared/lanes/stored-answer.ts';
import { type SaltedDigest, startSaltedDigest } from '#shared/receipts/digest.ts';
import { receiptedEvent, receiptedMessageEvent } from '#shared/receipts/response-events.ts';
import { setMember } from '#shared/kernel/json-text.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';
import { answerIdIn, modelNamedIn } from './answer-names.ts';
import type { AnswerRoom } from './answer-room.ts';
import { type Asked, getsMessage, withEncodingAsked } from './bodies.ts';
import type { Prepared, Told, WholeRequest } from './body-work.ts';
import type { Breakers, Caller } from './breakers.ts';
import type { InferenceEvents } from './events.ts';
import type { Provider, UpstreamCall, UpstreamRequest } from './providers/provider.ts';
import {
  calledInVain,
  faultOf,
  UpstreamError,
  type UpstreamFailure,
} from './providers/upstream-failure.ts';
import { GrowingText } from './growing-text.ts';
import { namerOf } from './our-names.ts';
import type { LargeBodies } from './large-bodies.ts';
import { EventRelay, type EventStream } from './event-relay.ts';
import { MessageWriter, type MessageWriterOptions } from './messages/message-writer.ts';
import { asOurMessage, NativeMessage, readMessageUsage, textOfMessage } from './messages/native.ts';
import { asOurs, NativeStream, textOfResponse } from './responses/native.ts';
import { ResponseWriter } from './responses/response-writer.ts';
import type { InVain, Settlement, Spent } from './settlement.ts';
import type { Kept } from './kept-by-streams.ts';
import type { StreamBounds } from './stream-bounds.ts';
import { StreamPace } from './stream-pace.ts';
import { type Relay, StreamRelay } from './stream-relay.ts';
import { type AnswerWriter, answerOfChat, TranslatedStream } from './translated-stream.ts';
import { callForAnswer, callForStream, type WholeAnswer } from './upstream-call.ts';
import {
  callUntilAnswered,
  type CallPlan,
  mayEndOtherwise,
  type Target,
  targetsOf,
} from './upstream-retries.ts';
import {
  cannotBe,
  type CountUsage,
  readUsage,
  textOfChoice,
  toldUsage,
  unknownUsage,
} from './usage.ts';

/** What a run needs of its process. */
export interface RunDeps {
  breakers: Breakers;
  events: Pick<
    InferenceEvents,
    'runCrashed' | 'streamCut' | 'upstreamAnswered' | 'upstreamCalled' | 'upstreamFailed'
  >;
  /** The catalogue as it is now. */
  catalogue: () => Catalogue;
  providerOf: (endpoint: Endpoint) => Provider;
  countUsage: CountUsage;
  /** Does what takes the longer the longer a body is. */
  bodies: Pick<LargeBodies, 'asked' | 'dependsOnEndpoint' | 'prepared' | 'promptAtLeast'>;
  /** Room for the answers that this process has in hand. */
  answerRoom: AnswerRoom;
  /** What streams of this process have in memory together. */
  streams: StreamBounds;
  /** Epoch milliseconds. */
  now: () => number;
}

const CUT_OFF: UpstreamFailure = {
  kind: 'connection',
  detail: 'the stream ended without [DONE], and with a choice that has no finish_reason',
};
const TOO_MUCH: UpstreamFailure = {
  kind: 'too_large',
  detail: 'the streams of this worker have generated more than it keeps, and this one the most',
};
const TOO_LONG: UpstreamFailure = {
  kind: 'slow_client',
  detail: 'the client reads so slowly that the stream would take more than an hour',
};
const UNFINISHED: UpstreamFailure = {
  kind: 'unfinished',
  detail: 'a choice has no finish_reason',
};

/** Runs one request against its upstreams, from its body to its outcome. */
export class Run {
  readonly #deps: RunDeps;
  readonly #entry: InferenceEntry;
  readonly #body: string;
  /** The endpoint that was asked last, and what a writer of its answer knows of the request. */
  #endpoint: Told = {};
  #forWriter = '';
  readonly #settlement: Settlement;
  readonly #digest: SaltedDigest;
  readonly #hold: ReturnType<AnswerRoom['open']>;
  readonly #pace: StreamPace;
  #keptText: Kept | undefined;
  #keptFrames: Kept | undefined;
  #call: UpstreamCall | undefined;
  #calls: number;
  /** Why the receipt says that it failed, should nothing come of it; undefined while no call may have used anything. */
  #failure: Failure | undefined;
  /** Epoch milliseconds of the call that is or was answered, and of the last byte of its answer. */
  #calledAt: number;
  #endedAt: number | undefined;
  /** The endpoint of that call, where it has a meter. */
  #metered: string | undefined;
  /** The name of that endpoint. */
  #asking: string | undefined;
  #cancelled = false;
  /** Why we have ended the stream, where it is neither the client's will nor the upstream's. */
  #cut: UpstreamFailure | undefined;
  /** The frames sent so far, where they will be kept; null once they are too large for that. */
  #frames: GrowingText | null = new GrowingText();

  /** `before`: what earlier deliveries of the entry have called, or may have, of which nothing is known. */
  constructor(
    deps: RunDeps,
    settlement: Settlement,
    entry: InferenceEntry,
    body: string,
    before: { calls: number; failure?: Failure },
  ) {
    this.#deps = deps;
    this.#settlement = settlement;
    this.#entry = entry;
    this.#body = body;
    this.#calls = before.calls;
    this.#failure = before.failure;
    this.#calledAt = entry.startedAt;
    this.#digest = startSaltedDigest(entry.salt);
    this.#hold = deps.answerRoom.open();
    this.#pace = new StreamPace(deps.streams, () => void this.#askAgain());
  }

  /** The client has gone: stops the upstream. What was generated until now is still receipted. */
  cancel(): void {
    this.#cancelled = true;
    this.#call?.abort();
  }

  /** The client has so many characters of the stream. */
  taken(chars: number): void {
    // Longer a stream is not known to have begun, and its time waiting for the client is not its upstream's.
    if (this.#deps.now() - this.#calledAt > STREAM_MS_MAX) this.#cutOff(TOO_LONG);
    this.#pace.taken(chars);
  }

  /** Runs to its outcome, which is a receipt or an error reply. Rejects only when that cannot be written. */
  async execute(): Promise<void> {
    try {
      await (this.#entry.stream ? this.#stream() : this.#whole());
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#hold.release();
      this.#pace.end();
      this.#keptText?.release();
      this.#keptFrames?.release();
    }
  }

  async #whole(): Promise<void> {
    const { text, isFinished, spent } = await this.#answer();
    await this.#settlement.answered(text, isFinished, spent);
  }

  /** The answer as its client is to get it. What it was parsed to ends here: its text may be large enough. */
  async #answer(): Promise<{ text: string; isFinished: boolean; spent: Spent }> {
    const { value: answer, target } = await callUntilAnswered(
      this.#plan(),
      (next) => this.#prepared(next),
      (next, prepared) =>
        callForAnswer(this.#deps.providerOf(next.endpoint), this.#request(next, prepared)),
    );
    this.#endedAt = this.#deps.now();
    await turnFor(answer.text.length);
    const { isFinished, parsed } = answer;
    if (isFinished) this.#succeeded(target);
    else this.#brokeOff(target, UNFINISHED);
    const usage = await this.#usageOf(answer, target);
    const text = answer.restored(await this.#textOf(answer, target, usage));
    await this.#digestInTurns(text);
    const spent = this.#named(this.#spent(usage), answerIdIn(parsed), modelNamedIn(parsed));
    return { text, isFinished, spent };
  }

  /** A hundred megabytes in one go would keep streams waiting for half a second. */
  async #digestInTurns(text: string): Promise<void> {
    for (const piece of piecesOf(text)) {
      await turnFor(text.length);
      this.#digest.update(piece);
    }
    await turnFor(text.length);
  }

  /** The text of a whole answer, with as much of the upstream's own as there may be. */
  async #textOf(
    { text, parsed, isFinished }: WholeAnswer,
    { endpoint }: Target,
    usage: Usage | UnknownUsage,
  ): Promise<string> {
    const { route, model } = this.#entry;
    const id = answerIdOf(route, this.#entry.id);
    if (route === 'responses' && endpoint.responses === true)
      return asOurs(text, parsed, { id, model, previous: this.#entry.previous }, usage);
    if (getsMessage(this.#entry, endpoint)) return asOurMessage(text, parsed, { id, model }, usage);
    if (hasNamedEvents(route))
      return JSON.stringify(answerOfChat(this.#writer(), parsed, usage, isFinished));
    const encoded =
      route === 'embeddings' ? await withEncodingAsked(text, parsed, this.#body) : text;
    const named = namerOf({ id, model })(encoded, parsed);
    const told = toldUsage(usage, parsed['usage'], route);
    const isAsCame = told === (parsed['usage'] ?? null);
    return isAsCame ? named : setMember(named, 'usage', JSON.stringify(told));
  }

  /** Writes the answer of a chat server in the interface of the request. */
  #writer(emit?: (payload: string) => void): AnswerWriter {
    const { id: requestId, route, startedAt, model, previous } = this.#entry;
    const options = { body: this.#forWriter, requestId, model, ...(emit && { emit }) };
    return route === 'messages'
      ? new MessageWriter({ ...options, ...this.#ofMessage })
      : new ResponseWriter({ ...options, startedAt, previous });
  }

  get #ofMessage(): Pick<MessageWriterOptions, 'omitsThoughts' | 'ignoredTools'> {
    const { omitsThoughts = false, ignoredTools } = this.#entry;
    return { omitsThoughts, ignoredTools };
  }

  /** What the payloads of an endpoint become in an interface with named events. */
  #events(endpoint: Endpoint, emit: (payload: string) => void): EventStream {
    const { energy, responses } = endpoint;
    const { id: requestId, route, model, previous } = this.#entry;
    if (getsMessage(this.#entry, endpoint))
      return new NativeMessage({ requestId, model, emit }, energy);
    return route === 'responses' && responses === true
      ? new NativeStream({ requestId, model, previous, emit }, energy)
      : new TranslatedStream(this.#writer(emit), energy);
  }

  #relay(): Relay {
    const { id, route, includeUsage, model } = this.#entry;
    const send = (payload: string, receipted?: string | null): void =>
      this.#send(payload, relay, receipted);
    const object = route === 'completions' ? 'text_completion' : 'chat.completion.chunk';
    const relay: Relay = hasNamedEvents(route)
      ? new EventRelay(
          (endpoint, emit) => this.#events(endpoint, emit),
          route === 'responses' ? receiptedEvent : receiptedMessageEvent,
          send,
        )
      : new StreamRelay({ answerId: answerIdOf(route, id)!, includeUsage, model, object, send });
    return relay;
  }

  async #stream(): Promise<void> {
    this.#settlement.replies.onLost = () => this.cancel();
    const relay = this.#relay();
    const { breakers, now, streams } = this.#deps;
    const { orgId } = this.#entry;
    this.#keptText = streams.texts.open(orgId, () => this.#cutOff(TOO_MUCH));
    this.#keptFrames = streams.frames.open(orgId, () => (this.#frames = null));
    const { value: stream, target } = await callUntilAnswered(
      this.#plan(),
      (next) => this.#prepared(next),
      (next, prepared) => {
        const request = this.#request(next, prepared);
        relay.readFrom(next.endpoint);
        return callForStream(this.#deps.providerOf(next.endpoint), request, relay);
      },
    );
    breakers.began(target.endpoint.name, this.#entry.region, this.#caller, now());
    const end = await stream.ended;
    this.#endedAt = this.#deps.now();
    if (end.failure !== null) return this.#breakStream(relay, target, this.#cut ?? end.failure);
    relay.measured(end.joules);
    // Some servers close the connection instead of saying [DONE], and some say it when they were interrupted: the answer
    // is whole if every choice has finished.
    if (!relay.isFinished)
      return this.#breakStream(relay, target, end.clean ? UNFINISHED : CUT_OFF);
    this.#succeeded(target);
    await this.#finishStream(relay);
  }

  /** Passes one payload of a stream on to the client. `receipted` is what the receipt is over of it, where that is not all. */
  #send(payload: string, relay: Relay, receipted: string | null = payload): void {
    const frame = frameOf(payload, this.#entry.route);
    if (receipted !== null) this.#digest.update(receipted);
    const isStep = this.#pace.send(frame.length);
    const chars = isStep ? this.#pace.sent : undefined;
    this.#settlement.replies.frames(frame, () => this.#relayed(relay), this.#deps.now(), chars);
    if (this.#entry.claim !== undefined && this.#frames !== null) {
      this.#frames.add(frame);
      if (this.#frames.length > STORED_CHARS_MAX) this.#frames = null;
    }
    if (!isStep) return;
    this.#keptText?.set(relay.kept);
    this.#keptFrames?.set(this.#frames?.length ?? 0);
  }

  /** Ends a stream that has begun, with a word to its client. */
  #cutOff(why: UpstreamFailure): void {
    this.#cut ??= why;
    this.#call?.abort();
  }

  /**
   * Asks what its client has taken. Where no process lives that could say it, the answer may be wanted all the same: it
   * goes on by a window for each time that it would have asked.
   */
  async #askAgain(): Promise<void> {
    const { sent } = this.#pace;
    const isThere = await this.#settlement.replies.ask(sent).catch(() => true);
    if (!isThere) this.#pace.taken(sent);
  }

  #relayed(relay: Relay): Relayed {
    const { upstreamAnswerId, modelNamed } = relay;
    return {
      payloads: relay.sent,
      tokens: relay.sentTokens,
      digest: this.#digest.soFar(),
      ...(modelNamed === undefined ? {} : { model: modelNamed }),
      ...(upstreamAnswerId === undefined ? {} : { upstreamAnswerId }),
      calls: this.#calls,
      queuedMs: this.#queuedMs,
    };
  }

  async #finishStream(relay: Relay): Promise<void> {
    const usage = await this.#usageOfStream(relay);
    const last = relay.finish(usage);
    const isResponse = this.#entry.route === 'responses';
    this.#digest.update(isResponse ? (receiptedEvent(last) ?? '') : last);
    const spent = this.#named(this.#spent(usage), relay.upstreamAnswerId, relay.modelNamed);
    await this.#settlement.streamed(this.#frames?.toString() ?? null, last, spent);
  }

  /** The client has part of the answer, so the call cannot be repeated. */
  async #breakStream(relay: Relay, target: Target, failure: UpstreamFailure): Promise<void> {
    const isGone = failure.kind === 'aborted';
    if (!isGone) {
      if (failure === this.#cut) this.#deps.events.streamCut(this.#entry, failure);
      else this.#brokeOff(target, failure);
      relay.release();
    }
    // A fault of ours, and what we have cut, is nothing that the upstream did.
    const isOurs = failure === this.#cut || failure.kind === 'own_fault';
    const reason = isGone ? 'caller_left' : isOurs ? 'not_counted' : 'upstream_cut';
    const usage = await this.#usageOfBroken(relay, reason);
    const spent = {
      ...this.#named(this.#spent(usage), relay.upstreamAnswerId, relay.modelNamed),
      relayedPayloads: relay.sent,
      relayedTokens: relay.sentTokens,
    };
    if (isGone) await this.#settlement.left(spent);
    else await this.#settlement.broke({ ...this.#faultOf(failure), ...toldOutput(relay) }, spent);
  }

  get #caller(): Caller {
    return { requestId: this.#entry.id, orgId: this.#entry.orgId };
  }

  #succeeded({ endpoint }: Target): void {
    const { breakers, events, now } = this.#deps;
    breakers.succeeded(endpoint.name, this.#entry.region, this.#caller, now());
    events.upstreamAnswered(this.#entry);
  }

  /** An answer that had begun did not come to its end: it counts against its endpoint like a call that failed at once. */
  #brokeOff(target: Target, failure: UpstreamFailure): void {
    const { breakers, now } = this.#deps;
    const { region } = this.#entry;
    breakers.failed(target.endpoint.name, region, failure, this.#caller, now());
    this.#note(target, failure);
  }

  #note(target: Target, failure: UpstreamFailure): void {
    const { events } = this.#deps;
    if (failure.kind === 'own_fault') events.runCrashed(this.#entry, failure.cause);
    else events.upstreamFailed(this.#entry, target, failure);
  }

  async #fail(error: unknown): Promise<void> {
    const isExpected = error instanceof UpstreamError;
    if (!isExpected) {
      this.#deps.events.runCrashed(this.#entry, error);
      if (this.#calls > 0) this.#failure = 'internal_error';
    }
    const failure: UpstreamFailure = isExpected
      ? error.failure
      : { kind: 'unavailable', detail: String(error) };
    // The client left while an upstream was computing: that has used energy.
    if (failure.kind === 'aborted' && this.#calls > 0) {
      const spent = this.#spent(await this.#unknown('caller_left'));
      const nothing = { relayedPayloads: 0, relayedTokens: 0 };
      await this.#settlement.left(this.#entry.stream ? { ...spent, ...nothing } : spent);
      return;
    }
    const mayMove = isExpected && mayEndOtherwise(failure) && !this.#cancelled && this.#isInTime;
    if (mayMove && (await this.#settlement.movedOn(this.#body, this.#calls, this.#failure))) return;
    await this.#settlement.failed(this.#faultOf(failure), this.#inVain);
  }

  /** Calls to upstreams that were made until now, or may have been by earlier deliveries. */
  get calls(): number {
    return this.#calls;
  }

  /** The calls of which nothing has come until now; undefined where none may have used anything. */
  get #inVain(): InVain | undefined {
    return this.#failure && { calls: this.#calls, failure: this.#failure };
  }

  #faultOf(failure: UpstreamFailure): WireFault {
    const { model, route } = this.#entry;
    const known = this.#deps.catalogue().models.find(({ id }) => id === model);
    return faultOf(failure, route, known?.contextWindow);
  }

  get #isInTime(): boolean {
    return this.#deps.now() < this.#entry.deadlineAt;
  }

  #plan(): CallPlan {
    const { catalogue, breakers, now } = this.#deps;
    const entry = this.#entry;
    return {
      targets: targetsOf(catalogue(), entry, entry.region),
      region: entry.region,
      breakers,
      caller: this.#caller,
      deadlineAt: entry.deadlineAt,
      isCancelled: () => this.#cancelled,
      now,
      onCall: (call) => {
        this.#calls += 1;
        this.#call = call;
        this.#calledAt = this.#deps.now();
      },
      onFailure: (target, failure) => {
        this.#failure = calledInVain(failure) ?? this.#failure;
        this.#note(target, failure);
      },
    };
  }

  #prepared(target: Target): Promise<Prepared> {
    return this.#deps.bodies.prepared(this.#wholeRequest, {
      ...target,
      endpoint: toldOf(target.endpoint),
    });
  }

  #request(target: Target, { route, body, forWriter }: Prepared): UpstreamRequest {
    const { endpoint } = target;
    // What a call before this one has answered is of no use.
    this.#hold.release();
    this.#metered = endpoint.meter === undefined ? undefined : endpoint.name;
    this.#asking = endpoint.name;
    const { id, stream, betas, deadlineAt } = this.#entry;
    const traceparent = this.#deps.events.upstreamCalled(this.#entry, target, this.#calls);
    this.#endpoint = toldOf(endpoint);
    this.#forWriter = forWriter;
    const request: UpstreamRequest = {
      requestId: id,
      route,
      endpoint,
      body,
      stream,
      hold: this.#hold,
      pace: this.#pace,
      timeouts: timeoutsOf(endpoint, deadlineAt - this.#deps.now(), stream),
    };
    if (traceparent !== undefined) request.traceparent = traceparent;
    if (betas !== undefined) request.betas = betas;
    return request;
  }

  get #wholeRequest(): WholeRequest {
    const { asMessage, route, stream } = this.#entry;
    return { route, stream, body: this.#body, ...(asMessage === undefined ? {} : { asMessage }) };
  }

  /** What the endpoint was asked. */
  #asked(): Promise<Asked> {
    return this.#deps.bodies.asked(this.#wholeRequest, this.#endpoint);
  }

  /** What the request has used. Ends the digest of what was sent. */
  #spent(usage: Spent['usage']): Spent {
    const endedAt = this.#endedAt ?? this.#deps.now();
    const cost = this.#costOf(usage);
    return {
      usage,
      calls: this.#calls,
      responseDigest: this.#digest.end(),
      queuedMs: this.#queuedMs,
      upstreamMs: Math.max(0, endedAt - this.#calledAt),
      ...(this.#metered === undefined ? {} : { meteredEndpoint: this.#metered }),
      ...(cost === undefined ? {} : { cost }),
    };
  }

  /** By the prices of when it was asked, wherever it was answered. */
  #costOf(usage: Spent['usage']): string | undefined {
    if (usage.source === 'unknown') return undefined;
    const { id, model, region } = this.#entry;
    const place = { model, region, endpoint: this.#asking, at: timeOfId(id) };
    return costOf(this.#deps.catalogue(), place, usage);
  }

  /** Waits of ours, and calls that were not answered: no time on the hardware that answered. */
  get #queuedMs(): number {
    return Math.max(0, this.#calledAt - this.#entry.startedAt);
  }

  /** Adds how the upstream calls its answer and its model. */
  #named(
    spent: Spent,
    upstreamAnswerId: string | undefined,
    upstreamModel: string | undefined,
  ): Spent {
    if (upstreamModel !== undefined) spent.upstreamModel = upstreamModel;
    if (upstreamAnswerId !== undefined) spent.upstreamAnswerId = upstreamAnswerId;
    return spent;
  }

  async #usageOf(
    { parsed, joules }: WholeAnswer,
    { endpoint }: Target,
  ): Promise<Usage | UnknownUsage> {
    const { route } = this.#entry;
    const isMessage = getsMessage(this.#entry, endpoint);
    const read = isMessage
      ? readMessageUsage(parsed['usage'], endpoint.energy)
      : readUsage(parsed['usage'], endpoint.energy, route);
    const items = (route === 'embeddings' ? parsed['data'] : parsed['choices']) as
      | unknown[]
      | undefined;
    const texts = isMessage
      ? [textOfMessage(parsed)]
      : (items?.map(textOfChoice) ?? [textOfResponse(parsed)]);
    const stated = inJoules(joules, endpoint.energy) ?? joulesIn(parsed, endpoint.energy);
    return withJoules(await this.#checked(read, texts.length, texts), stated);
  }

  async #usageOfStream(relay: Relay): Promise<Usage | UnknownUsage> {
    const { texts, usage } = relay;
    return withJoules(await this.#checked(usage, texts.length, texts), relay.joules);
  }

  /**
   * Of a stream that broke off: what was received is counted; when that is nothing, nothing is known of what was generated.
   * What its upstream told before the last of that counts a part, and stands where it is more than that: of thoughts, say.
   */
  async #usageOfBroken(relay: Relay, reason: UsageReason): Promise<Usage | UnknownUsage> {
    const { texts, usage, isUsageOfAll, joules } = relay;
    const toldTokens = usage?.outputTokens ?? 0;
    if (toldTokens === 0 && texts.every((text) => text === '')) return this.#unknown(reason);
    if (usage === undefined || isUsageOfAll) return this.#usageOfStream(relay);
    const counted = await this.#count(texts);
    if (counted.source === 'unknown') return this.#unknown(reason);
    return counted.outputTokens < toldTokens
      ? this.#usageOfStream(relay)
      : withJoules(counted, joules);
  }

  /**
   * What the upstream reported, where it did, and where that can be true: some servers report zeros, and of several choices
   * or prompts one. Only such answers, and those with several, are counted for that.
   */
  async #checked(
    reported: Usage | undefined,
    items: number,
    generated: readonly string[],
  ): Promise<Usage | UnknownUsage> {
    if (reported === undefined) return this.#count(generated);
    const bodyBytes = Buffer.byteLength(this.#body);
    const readPrompt = async () => this.#deps.bodies.promptAtLeast(await this.#asked());
    if (await cannotBe(reported, generated, bodyBytes, readPrompt))
      return withJoules(overruled(await this.#count(generated)), reported.statedJoules);
    if (items < 2) return reported;
    // Embedding inputs may be thousands; each is a token at least.
    if (this.#entry.route === 'embeddings')
      return reported.inputTokens < items ? overruled(await this.#count([])) : reported;
    const used = overruled(await this.#count(generated, reported));
    return withJoules(used, reported.statedJoules);
  }

  async #count(generated: readonly string[], reported?: Usage): Promise<Usage | UnknownUsage> {
    const read = await this.#asked();
    return this.#deps.countUsage(this.#entry.model, read, generated, reported);
  }

  async #unknown(reason: UsageReason): Promise<UnknownUsage> {
    return unknownUsage(reason, await this.#count([]));
  }
}

/** What was counted in the place of what an upstream stated. */
function overruled<U extends Usage | UnknownUsage>(usage: U): U {
  return usage.source === 'counted' ? { ...usage, overruled: true } : usage;
}

function withJoules<U extends Usage | UnknownUsage>(usage: U, joules: number | undefined): U {
  return joules === undefined ? usage : { ...usage, statedJoules: joules };
}

/** What of an endpoint a thread may be told. */
function toldOf({ developerRole, messages, reasoningContent, responses }: Endpoint): Told {
  return {
    ...(developerRole === undefined ? {} : { developerRole }),
    ...(messages === undefined ? {} : { messages }),
    ...(reasoningContent === undefined ? {} : { reasoningContent }),
    ...(responses === undefined ? {} : { responses }),
  };
}

/** What came of a response that broke off, where a message to its api process has room for it. */
function toldOutput(relay: Relay): Pick<WireFault, 'output'> {
  // Each text is kept a few times: of more than this there is no need to write it to see that it is too long.
  if (relay.kept > 8 * INLINE_BYTES_MAX) return {};
  const { output } = relay;
  if (output === undefined || JSON.stringify(output).length > INLINE_BYTES_MAX) return {};
  return { output };
}

/** A stream that has begun may go on beyond its request's deadline; so long it is known to have begun. */
const STREAM_MS_MAX = HOUR_MS;

/** How long a call may take: as the catalogue says, and but for a stream that goes on never beyond the deadline. */
function timeoutsOf({ timeoutMs, timeouts }: Endpoint, leftMs: number, stream: boolean): Timeouts {
  const most = stream ? STREAM_MS_MAX : leftMs;
  const totalMs = Math.max(1, Math.min(timeouts?.totalMs ?? most, most));
  const within = (ms: number | undefined): number =>
    Math.max(1, Math.min(ms ?? timeoutMs, totalMs, leftMs));
  return {
    headersMs: within(timeouts?.headersMs),
    firstByteMs: within(timeouts?.firstByteMs),
    betweenBytesMs: within(timeouts?.betweenBytesMs),
    totalMs,
  };
}
