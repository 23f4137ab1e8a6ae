import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { Holding } from '#shared/lanes/redis/outbox.ts';
import type { ReceiptEntry } from '#shared/lanes/messages.ts';
import type { Span, SpanEnd, Traces } from '#shared/process/traces/traces.ts';
import { metricsOf } from '#shared/process/metrics.ts';
import type { Issued } from './issue.ts';

/** Of a kilowatt-hour, and of a kilogram. */
const JOULES = 3_600_000;
const GRAMS = 1_000;

export type ReceiptsEvents = ReturnType<typeof receiptsEvents>;

/**
 * The events of this role, each as one function that writes the log line and the metric together, and where there are
 * traces begins and ends its spans. A receipt has one where its request has, and a batch within that of its first receipt.
 */
export function receiptsEvents(log: Logger, registry: Registry, traces?: Traces) {
  const { counter, histogram } = metricsOf(registry);
  const issuedTotal = counter('docket_receipts_issued_total', 'Receipts committed, by kind', [
    'kind',
  ]);
  const batches = histogram(
    'docket_receipts_commit_seconds',
    'Time to commit a batch of receipts',
    [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
  );
  const sizes = histogram(
    'docket_receipts_batch_size',
    'Receipts committed in one statement',
    [1, 4, 16, 64, 256],
  );
  const failures = counter(
    'docket_receipts_failures_total',
    'Batches that could not be committed at first, entries no receipt can be made of, and those left to a newer build',
    ['what'],
  );
  const stale = counter(
    'docket_stale_outcomes_total',
    'Outcomes that were not written because their entry had been taken over, or was gone',
  );
  const stores = counter('docket_redis_errors_total', 'Errors of this process with Redis');
  // A series that begins with what it counts has not risen, as alarms see it.
  issuedTotal.inc({ kind: 'degraded' }, 0);
  for (const what of ['commit', 'impossible', 'newer_build']) failures.inc({ what }, 0);
  return {
    /** A receipt is about to be made of this. */
    receiptBegun: ({ traceparent, record }: ReceiptEntry): Span | undefined => {
      if (traces === undefined || traceparent === undefined) return undefined;
      const { requestId, orgId, keyId } = record;
      return traces.begin('issue receipt', {
        kind: 'consumer',
        parent: traceparent,
        attributes: {
          'docket.request_id': requestId,
          'docket.org_id': orgId,
          'docket.key_id': keyId,
        },
      });
    },
    /** The batch that these are of is about to be committed. */
    commitBegun: (batch: readonly { span: Span | undefined }[]): Span | undefined => {
      if (traces === undefined) return undefined;
      const [first, ...others] = batch.flatMap(({ span }) => (span?.isRecorded ? [span] : []));
      if (first === undefined) return undefined;
      return traces.begin('commit receipts', {
        parent: first,
        links: others,
        attributes: { 'docket.batch_size': batch.length },
      });
    },
    /** A batch or a receipt of it goes out of hand. Where it has not come to its end, this process stops, and another makes it. */
    leftUncommitted: (span: Span | undefined): void => span?.end({ errorType: 'not_committed' }),
    receiptIssued: (issued: Issued, span: Span | undefined): void => {
      const { row, degradation } = issued;
      span?.end(endOf(issued));
      issuedTotal.inc({ kind: row.kind });
      if (degradation === undefined) return;
      const { receiptId, model } = row;
      log.warn({ event: 'receipt_degraded', receiptId, model, ...degradation });
    },
    /** Another worker holds the entry, or has finished it: this one tells no client of the receipt. */
    outcomeStale: (
      { lane, entryId, number: delivery }: Delivery,
      requestId: string,
      holding: Holding,
      span: Span | undefined,
    ): void => {
      span?.end({ errorType: 'stale' });
      stale.inc();
      log.warn({ event: 'outcome_stale', requestId, lane, entry: entryId, delivery, holding });
    },
    batchCommitted: (size: number, ms: number, span: Span | undefined): void => {
      span?.end();
      batches.observe(ms / 1_000);
      sizes.observe(size);
    },
    commitFailed: (size: number, error: unknown): void => {
      failures.inc({ what: 'commit' });
      log.warn({ event: 'commit_failed', size, err: error });
    },
    /** The entry says what this build does not know: it waits for a newer one. */
    outcomeUnknown: ({ lane, entryId }: Delivery, member: string): void => {
      failures.inc({ what: 'newer_build' });
      log.error({ event: 'outcome_of_newer_build', lane, entry: entryId, member });
    },
    /** No receipt can be made or stored of this entry; it was set aside. */
    receiptImpossible: (
      { lane, entryId }: Delivery,
      requestId: string | null,
      error: unknown,
      span: Span | undefined,
    ): void => {
      span?.end({ errorType: 'receipt_impossible' });
      failures.inc({ what: 'impossible' });
      log.error({
        event: 'receipt_impossible',
        lane,
        entry: entryId,
        requestId,
        err: error,
      });
    },
    /** Changed signing keys cannot be read; the key known before goes on signing. */
    signingKeysUnreadable: (error: unknown): void => {
      log.error({ event: 'signing_keys_unreadable', err: error });
    },
    storeFailed: (error: unknown): void => {
      stores.inc();
      log.warn({
        event: 'redis_error',
        message: error instanceof Error ? error.message : String(error),
      });
    },
  };
}

/** What a receipt states. */
function endOf({ row, degradation }: Issued): SpanEnd {
  const { receiptId, kind, tier, model, region, energy, gwp, inputTokens, outputTokens } = row;
  return {
    errorType: degradation?.code,
    attributes: {
      'docket.receipt_id': receiptId,
      'docket.receipt_kind': kind,
      'docket.tier': tier,
      'docket.model': model,
      'docket.region': region,
      'docket.input_tokens': inputTokens ?? undefined,
      'docket.output_tokens': outputTokens ?? undefined,
      'docket.energy_j': energy === null ? undefined : energy * JOULES,
      'docket.gwp_g': gwp === null ? undefined : gwp * GRAMS,
      'docket.data_quality': row.dataQuality ?? undefined,
    },
  };
}
