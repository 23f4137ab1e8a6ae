import type { Logger } from 'pino';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { Holding } from '#shared/lanes/redis/outbox.ts';
import type { Issued } from './issue.ts';

export type ReceiptsEvents = ReturnType<typeof receiptsEvents>;

/** The events of this role, each as one function that writes the log line and the metric together. */
export function receiptsEvents(log: Logger, registry: Registry) {
  const registers = [registry];
  const issuedTotal = new Counter({
    name: 'docket_receipts_issued_total',
    help: 'Receipts committed, by kind',
    labelNames: ['kind'],
    registers,
  });
  const batches = new Histogram({
    name: 'docket_receipts_commit_seconds',
    help: 'Time to commit a batch of receipts',
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers,
  });
  const sizes = new Histogram({
    name: 'docket_receipts_batch_size',
    help: 'Receipts committed in one statement',
    buckets: [1, 4, 16, 64, 256],
    registers,
  });
  const failures = new Counter({
    name: 'docket_receipts_failures_total',
    help: 'Batches that could not be committed at first, and entries no receipt can be made of',
    labelNames: ['what'],
    registers,
  });
  const stale = new Counter({
    name: 'docket_stale_outcomes_total',
    help: 'Outcomes that were not written because their entry had been taken over, or was gone',
    registers,
  });
  const stores = new Counter({
    name: 'docket_redis_errors_total',
    help: 'Errors of this process with Redis',
    registers,
  });
  // A series that begins with what it counts has not risen, as alarms see it.
  issuedTotal.inc({ kind: 'degraded' }, 0);
  for (const what of ['commit', 'impossible']) failures.inc({ what }, 0);
  return {
    receiptIssued: ({ row, degradation }: Issued): void => {
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
    ): void => {
      stale.inc();
      log.warn({ event: 'outcome_stale', requestId, lane, entry: entryId, delivery, holding });
    },
    batchCommitted: (size: number, ms: number): void => {
      batches.observe(ms / 1_000);
      sizes.observe(size);
    },
    commitFailed: (size: number, error: unknown): void => {
      failures.inc({ what: 'commit' });
      log.warn({ event: 'commit_failed', size, err: error });
    },
    /** No receipt can be made or stored of this entry; it was set aside. */
    receiptImpossible: (
      { lane, entryId }: Delivery,
      requestId: string | null,
      error: unknown,
    ): void => {
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
