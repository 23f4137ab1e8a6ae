import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import type { Usage } from '#shared/kernel/inference.ts';
import type { InferenceEntry, ReceiptEntry } from '#shared/lanes/messages.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { Slots } from '#shared/lanes/slots.ts';
import {
  decodeInferenceEntry,
  decodeReceiptEntry,
  encodeInferenceEntry,
} from '#shared/lanes/wire-format.ts';
import { AnswerRoom } from '#workers/inference/answer-room.ts';
import { Breakers } from '#workers/inference/breakers.ts';
import type {
  Provider,
  UpstreamRequest,
  UpstreamSink,
} from '#workers/inference/providers/provider.ts';
import type { UpstreamFailure } from '#workers/inference/providers/upstream-failure.ts';
import { LargeBodies } from '#workers/inference/large-bodies.ts';
import { openStreamBounds } from '#workers/inference/stream-bounds.ts';
import { InferenceWorker, type WorkerDeps } from '#workers/inference/worker.ts';
import { admissionRequest } from '#test/support/lanes.ts';
import { RecordedOutbox } from '#test/support/outbox.ts';
import { catalogue, endpoint, model, region } from '#test/unit/catalogue/routed-catalogue.ts';
import { testSeals } from '#test/support/seals.ts';

const LANE = '{s0}:lane:inference:eu-west';
export const COUNTED: Usage = {
  inputTokens: 7,
  cachedInputTokens: 0,
  outputTokens: 3,
  source: 'counted',
};
export const UNAVAILABLE: UpstreamFailure = { kind: 'unavailable', detail: 'HTTP 503' };

/** What an upstream does with one call. */
export type Behaviour = (sink: UpstreamSink, request: UpstreamRequest) => void;

export const answers =
  (text: string): Behaviour =>
  (sink) =>
    sink.onAnswer(text);
export const fails =
  (failure: UpstreamFailure): Behaviour =>
  (sink) =>
    sink.onFailure(failure);
export const streams =
  (...payloads: string[]): Behaviour =>
  (sink) => {
    for (const payload of payloads) sink.onPayload(payload);
    sink.onEnd(true);
  };

export const chunk = (content: string, finish: string | null = null): string =>
  JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: finish }] });

/** An answer or chunk of an upstream as its caller gets it: under our id, with the catalogue's name of the model. */
export const asTold = (text: string, { entry }: { entry: InferenceEntry }): string =>
  text
    .replace(/"id":"[^"]*"/, `"id":"${answerIdOf(entry.route, entry.id)}"`)
    .replace('"model":"up/m"', '"model":"m"');

/** The text of a whole chat completion. */
export const completion = (usage?: object, finish: string | null = 'stop'): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    model: 'up/m',
    choices: [{ index: 0, message: { content: 'Hello.' }, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage }),
  });

/** An upstream that does with its first call what the first behaviour says, and so on; with the last for ever. */
export class ScriptedProvider implements Provider {
  readonly requests: UpstreamRequest[] = [];
  readonly #behaviours: Behaviour[];
  aborts = 0;

  constructor(...behaviours: Behaviour[]) {
    this.#behaviours = behaviours;
  }

  call(request: UpstreamRequest, sink: UpstreamSink) {
    const behaviour =
      this.#behaviours[Math.min(this.requests.length, this.#behaviours.length - 1)]!;
    this.requests.push(request);
    // As a socket would: never within the call itself.
    queueMicrotask(() => behaviour(sink, request));
    return {
      abort: () => {
        this.aborts += 1;
        sink.onFailure({ kind: 'aborted', detail: 'the caller has gone' });
      },
    };
  }

  list = () => Promise.resolve({ models: null });
  close = () => Promise.resolve();
}

/** An inference worker whose upstream, Redis and clock are the test's. */
export function workerWith(provider: Provider, over: Partial<WorkerDeps> = {}) {
  const outbox = new RecordedOutbox();
  const redis = new Map<string, string | Buffer>();
  /** Keys that Redis says it has not. */
  const gone = new Set<string>();
  const events: string[] = [];
  const note = (event: string) => (): void => void events.push(event);
  const clock = { now: 1_800_000_000_000 };
  const known = catalogue(
    [region('eu-west')],
    [endpoint('first', ['eu-west']), endpoint('second', ['eu-west'])],
    [model('m', ['first', 'second'])],
  );
  const slots = new Slots(1);
  const worker = new InferenceWorker(
    {
      outbox,
      seals: testSeals(),
      client: {
        get: (key: string) => Promise.resolve(redis.get(key)?.toString() ?? null),
        getBuffer: (key: string) => {
          const value = redis.get(key);
          return Promise.resolve(value === undefined ? null : Buffer.from(value));
        },
        exists: (...keys: unknown[]) =>
          Promise.resolve(keys.filter((key) => !gone.has(String(key))).length),
        set: (key: string, value: string | Buffer) => {
          redis.set(key, value);
          return Promise.resolve('OK' as const);
        },
      },
      events: {
        runTaken: (_delivery, entry) => entry,
        runLeft: () => {},
        upstreamCalled: ({ traceparent }) => traceparent,
        upstreamAnswered: () => {},
        runFinished: note('runFinished'),
        runFailed: note('runFailed'),
        runMoved: note('runMoved'),
        outcomeStale: (_delivery, _requestId, holding) =>
          void events.push(`outcomeStale ${holding}`),
        runCrashed: note('runCrashed'),
        upstreamFailed: note('upstreamFailed'),
        streamCut: note('streamCut'),
        requestUnknown: note('requestUnknown'),
        entryUnreadable: note('entryUnreadable'),
        breakerChanged: note('breakerChanged'),
        storeFailed: note('storeFailed'),
      },
      breakers: new Breakers(() => {}),
      answerRoom: new AnswerRoom(2 ** 20),
      streams: openStreamBounds(() => Promise.resolve()),
      catalogue: () => known,
      providerOf: () => provider,
      finished: () => {},
      elsewhere: { take: () => Promise.resolve(null) },
      countUsage: () => Promise.resolve(COUNTED),
      bodies: new LargeBodies(),
      now: () => clock.now,
      ...over,
    },
    slots,
  );
  /** Delivers an entry and waits until the worker is done with it. */
  const run = async (one: Delivery): Promise<void> => {
    slots.take();
    worker.take([one]);
    await slots.whenIdle();
  };
  /** What the receipts lane was told. */
  const handed = (): ReceiptEntry[] =>
    outbox.queued.flatMap(({ command }) =>
      command?.[1] === '{s0}:lane:receipts' ? decodeReceiptEntry(String(command.at(-1))) : [],
    );
  return { worker, run, slots, outbox, redis, gone, events, clock, handed };
}

/** An entry as a lane delivers it. The clock of `workerWith` is at its start. */
export function delivery(
  entry: Partial<InferenceEntry> = {},
  over: Partial<Delivery> & { body?: string } = {},
): Delivery & { entry: InferenceEntry } {
  const { body = '{"model":"m","messages":[]}', ...rest } = over;
  const startedAt = 1_800_000_000_000;
  const request = admissionRequest({ startedAt, deadlineAt: startedAt + 60_000, ...entry });
  const text =
    entry.bodyRef === undefined
      ? encodeInferenceEntry(testSeals(), request.entry, body).text
      : JSON.stringify(request.entry);
  const texts = [text];
  const one = { shard: 0, lane: LANE, entryId: '1-0', consumer: 'worker-1', number: 1, texts };
  return { ...one, entry: request.entry, ...rest };
}

/** A body as it waits apart for its entry. */
export function sealedFor({ texts }: Pick<Delivery, 'texts'>, body: string): Buffer {
  return testSeals().sealBytes(body, decodeInferenceEntry(texts[0]!).place);
}
