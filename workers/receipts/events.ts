import type { Logger } from 'pino';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { LaneEntry } from '#shared/lanes/redis/lane-consumer.ts';
import type { Issued } from './issue.ts';

/** What happens in this role, each as one function that writes the log line and the metric together. */
export interface ReceiptsEvents {
  receiptIssued: (issued: Issued) => void;
  batchCommitted: (size: number, ms: number) => void;
  commitFailed: (size: number, error: unknown) => void;
  /** No receipt can be made or stored of this entry; it was set aside. */
  receiptImpossible: (lane: LaneEntry, requestId: string | null, error: unknown) => void;
  storeFailed: (error: unknown) => void;
  /** Changed signing keys cannot be read; the key known before goes on signing. */
  signingKeysUnreadable: (error: unknown) => void;
}

export function receiptsEvents(log: Logger, registry: Registry): ReceiptsEvents {
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
  const stores = new Counter({
    name: 'docket_redis_errors_total',
    help: 'Errors of this process with Redis',
    registers,
  });
  return {
    receiptIssued({ row, degradation }) {
      issuedTotal.inc({ kind: row.kind });
      if (degradation === undefined) return;
      const { receiptId, model } = row;
      log.warn({ event: 'receipt_degraded', receiptId, model, ...degradation });
    },
    batchCommitted(size, ms) {
      batches.observe(ms / 1_000);
      sizes.observe(size);
    },
    commitFailed(size, error) {
      failures.inc({ what: 'commit' });
      log.warn({ event: 'commit_failed', size, err: error });
    },
    receiptImpossible(lane, requestId, error) {
      failures.inc({ what: 'impossible' });
      log.error({
        event: 'receipt_impossible',
        lane: lane.lane,
        entry: lane.id,
        requestId,
        err: error,
      });
    },
    signingKeysUnreadable(error) {
      log.error({ event: 'signing_keys_unreadable', err: error });
    },
    storeFailed(error) {
      stores.inc();
      log.warn({
        event: 'redis_error',
        message: error instanceof Error ? error.message : String(error),
      });
    },
  };
}
