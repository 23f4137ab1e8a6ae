import type { AnswerRoom } from './answer-room.ts';
import type { StreamBounds } from './stream-bounds.ts';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { countedCode } from '#shared/kernel/error-codes.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { inWords } from './providers/failure-words.ts';
import type { UpstreamFailure } from './providers/upstream-failure.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { Holding } from '#shared/lanes/redis/outbox.ts';
import type { InferenceEntry, WireFault } from '#shared/lanes/messages.ts';
import type { Traces } from '#shared/process/traces/traces.ts';
import { metricsOf } from '#shared/process/metrics.ts';
import { endOf, RunSpansKeeper } from './run-spans.ts';
import type { Target } from './upstream-retries.ts';

export type InferenceEvents = ReturnType<typeof inferenceEvents>;

/**
 * The events of this role, each as one function that writes the log line and the metric together, and where there are
 * traces begins and ends its spans. Prompts and answers never appear here, nor does an upstream's error text: it may quote
 * the prompt.
 */
export function inferenceEvents(log: Logger, registry: Registry, traces?: Traces) {
  const metrics = inferenceMetrics(registry);
  const spans = traces && new RunSpansKeeper(traces);
  return {
    /** A delivery was taken. Returns its entry as what follows of it is to have it. */
    runTaken: (delivery: Delivery, entry: InferenceEntry): InferenceEntry =>
      spans === undefined ? entry : spans.taken(delivery, entry, Date.now()),
    /** An upstream is about to be called, after `before` others. Returns the trace context that it is told. */
    upstreamCalled: (entry: InferenceEntry, target: Target, before: number): string | undefined =>
      spans === undefined ? entry.traceparent : spans.called(entry, target, before),
    /** The call has come to the end of a whole answer. */
    upstreamAnswered: (entry: InferenceEntry): void => spans?.callEnded(entry),
    /** The delivery is no longer in hand; where it has come to none of the ends below, what it did could not be written. */
    runLeft: (entry: InferenceEntry): void => spans?.ended(entry, { errorType: 'not_written' }),
    runFinished: (entry: InferenceEntry, record: InferenceRecord): void => {
      spans?.ended(entry, endOf(record));
      const { route, region, model, outcome, usage, queuedMs, upstreamMs } = record;
      metrics.runs.inc({ route, region, model, outcome });
      metrics.duration.observe({ route }, (record.endedAt - record.startedAt) / 1_000);
      if (queuedMs !== undefined) metrics.queued.observe({ region }, queuedMs / 1_000);
      if (upstreamMs !== undefined) metrics.upstream.observe({ region }, upstreamMs / 1_000);
      metrics.tokens.inc({ model, region, kind: 'input' }, usage.inputTokens ?? 0);
      if (usage.source !== 'unknown')
        metrics.tokens.inc({ model, region, kind: 'output' }, usage.outputTokens);
      if (log.isLevelEnabled('debug')) {
        const { requestId, attempts: calls } = record;
        log.debug({ event: 'run_finished', requestId, model, region, outcome, usage, calls });
      }
    },
    runFailed: (entry: InferenceEntry, { code }: WireFault): void => {
      spans?.ended(entry, { errorType: countedCode(code) });
      const { route, region, model } = entry;
      metrics.runs.inc({ route, region, model, outcome: 'failed' });
      log.warn({
        event: 'run_failed',
        requestId: entry.id,
        model,
        region,
        code,
      });
    },
    runMoved: (entry: InferenceEntry, to: string): void => {
      const { id: requestId, model, region } = entry;
      spans?.ended(entry, { errorType: 'moved', attributes: { 'docket.moved_to': to } });
      metrics.moved.inc({ from: region, to });
      log.warn({ event: 'run_moved', requestId, model, region, to });
    },
    /** Another delivery holds the entry, or none does any more: what this one did is not written. */
    outcomeStale: (
      { lane, entryId, number: delivery }: Delivery,
      entry: InferenceEntry,
      holding: Holding,
    ): void => {
      const { id: requestId } = entry;
      spans?.ended(entry, { errorType: 'stale' });
      metrics.stale.inc();
      log.warn({ event: 'outcome_stale', requestId, lane, entry: entryId, delivery, holding });
    },
    runCrashed: (entry: InferenceEntry, error: unknown): void => {
      spans?.callEnded(entry, { kind: 'own_fault' });
      metrics.crashes.inc();
      log.error({ event: 'run_crashed', requestId: entry.id, err: error });
    },
    upstreamFailed: (
      entry: InferenceEntry,
      { endpoint, model }: Target,
      failure: UpstreamFailure,
    ): void => {
      spans?.callEnded(entry, failure);
      metrics.upstreamFailures.inc({ endpoint: endpoint.name, kind: failure.kind });
      const { kind, status } = failure;
      log.warn({
        event: 'upstream_failed',
        requestId: entry.id,
        endpoint: endpoint.name,
        kind,
        status,
        reason: inWords(failure, endpoint, model),
      });
    },
    /** We have ended a stream whose upstream did nothing wrong. */
    streamCut: (entry: InferenceEntry, { kind, detail: reason }: UpstreamFailure): void => {
      const { id: requestId, model, region } = entry;
      spans?.callEnded(entry, { kind });
      log.warn({ event: 'stream_cut', requestId, model, region, reason });
    },
    /** A member of the request changes it in a way that this build does not know. */
    requestUnknown: ({ id: requestId }: InferenceEntry, member: string): void => {
      metrics.crashes.inc();
      log.error({ event: 'request_of_newer_build', requestId, member });
    },
    entryUnreadable: ({ lane, entryId }: Delivery, error: unknown): void => {
      metrics.crashes.inc();
      log.error({ event: 'entry_unreadable', lane, entry: entryId, err: error });
    },
    breakerChanged: (endpoint: string, region: string, open: boolean): void => {
      metrics.breakers.set({ endpoint, region }, open ? 1 : 0);
      log.warn({ event: open ? 'breaker_opened' : 'breaker_closed', endpoint, region });
    },
    storeFailed: (error: unknown): void => {
      metrics.storeErrors.inc();
      log.warn({
        event: 'redis_error',
        message: error instanceof Error ? error.message : String(error),
      });
    },
  };
}

/** Shows how much of answers a worker has in hand, and had at the most. */
export function showAnswerRoom(registry: Registry, room: AnswerRoom): void {
  const { reading } = metricsOf(registry);
  reading(
    'docket_answer_bytes',
    'Bytes of answers that this process has in hand',
    () => room.taken,
  );
  reading(
    'docket_answer_bytes_most',
    'The most of them at once since it was started',
    () => room.most,
  );
}

export function showStreams(registry: Registry, { onTheWay }: StreamBounds): void {
  const { reading } = metricsOf(registry);
  reading(
    'docket_stream_chars',
    'Characters of streams on their way to clients that have not taken them',
    () => onTheWay.chars,
  );
  reading(
    'docket_stream_chars_most',
    'The most of them at once since it was started',
    () => onTheWay.most,
  );
}

/** From a cached answer to a long generation. */
const DURATION_BUCKETS_S = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

function inferenceMetrics(registry: Registry) {
  const { counter, gauge, histogram } = metricsOf(registry);
  return {
    runs: counter(
      'docket_inference_runs_total',
      'Requests that ended in an inference worker, by outcome; failed: without an answer',
      ['route', 'region', 'model', 'outcome'],
    ),
    duration: histogram(
      'docket_inference_duration_seconds',
      'From admission to the end of the answer',
      DURATION_BUCKETS_S,
      ['route'],
    ),
    queued: histogram(
      'docket_inference_queued_seconds',
      'From admission to the call that was answered: the wait for a worker, and failed calls before it',
      DURATION_BUCKETS_S,
      ['region'],
    ),
    upstream: histogram(
      'docket_upstream_duration_seconds',
      'From the call that was answered to the last byte of its answer',
      DURATION_BUCKETS_S,
      ['region'],
    ),
    tokens: counter(
      'docket_tokens_total',
      'Tokens as receipts count them, by model of the catalogue: input (cached ones included) and output',
      ['model', 'region', 'kind'],
    ),
    upstreamFailures: counter(
      'docket_upstream_failures_total',
      'Failed calls to upstreams, retried ones included',
      ['endpoint', 'kind'],
    ),
    breakers: gauge(
      'docket_breaker_open',
      '1 while the circuit of an endpoint is open in this process',
      ['endpoint', 'region'],
    ),
    moved: counter(
      'docket_inference_moved_total',
      'Requests that went to another region because their own had failed them',
      ['from', 'to'],
    ),
    stale: counter(
      'docket_stale_outcomes_total',
      'Outcomes that were not written because their entry had been taken over, or was gone',
    ),
    crashes: counter('docket_inference_crashes_total', 'Entries that ended in an unexpected error'),
    storeErrors: counter('docket_redis_errors_total', 'Errors of this process with Redis'),
  };
}
