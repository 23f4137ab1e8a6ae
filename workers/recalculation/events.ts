import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { RevisionRow } from '#shared/receipts/columns.ts';
import type { RestatedPage } from '#shared/receipts/postgres/revisions.ts';

/** An attempt that failed. */
export interface AttemptFailure {
  receiptId: string;
  orgId: string;
  stage: string;
  code: string;
  attempts: number;
  /** Null when it is a person's turn. */
  retryInMs: number | null;
}

/** The events of this role, each as one function that writes the log line and the metric together. */
export interface RecalculationEvents {
  revised(row: RevisionRow): void;
  attemptFailed(failure: AttemptFailure, error: unknown): void;
  /** No further attempt by itself: a person has to look. */
  parked(failure: AttemptFailure, error: unknown): void;
  /** Receipts that failed on another catalogue or methodology are due again. */
  renewed(count: number): void;
  counted(counts: { pending: number; parked: number }): void;
  pageRestated(orgId: string, page: Omit<RestatedPage, 'lastId'>): void;
  notRestated(receiptId: string, error: unknown): void;
  /** Changed signing keys cannot be read; the key known before goes on signing. */
  signingKeysUnreadable: (error: unknown) => void;
  storeFailed: (error: unknown) => void;
}

export function recalculationEvents(log: Logger, registry: Registry): RecalculationEvents {
  const registers = [registry];
  const revisions = new Counter({
    name: 'docket_revisions_total',
    help: 'Receipts that revise others, by kind',
    labelNames: ['kind'],
    registers,
  });
  const failures = new Counter({
    name: 'docket_recalculation_failures_total',
    help: 'Attempts to estimate a degraded receipt again that failed',
    labelNames: ['stage', 'parked'],
    registers,
  });
  const waiting = new Gauge({
    name: 'docket_recalculations',
    help: 'Degraded receipts that wait: for another attempt (pending), or for a person (parked)',
    labelNames: ['state'],
    registers,
  });
  const skipped = new Counter({
    name: 'docket_restatements_skipped_total',
    help: 'Receipts that a newer methodology gives no estimate for, or that were not integrated',
    registers,
  });
  return {
    revised({ kind, receiptId, supersedes }) {
      revisions.inc({ kind });
      log.info({ event: 'receipt_revised', kind, receiptId, supersedes });
    },
    attemptFailed(failure, error) {
      failures.inc({ stage: failure.stage, parked: 'false' });
      log.warn({ event: 'recalculation_failed', ...failure, err: error });
    },
    parked(failure, error) {
      failures.inc({ stage: failure.stage, parked: 'true' });
      log.error({ event: 'recalculation_parked', ...failure, err: error });
    },
    renewed(count) {
      log.info({ event: 'recalculations_renewed', count });
    },
    counted({ pending, parked }) {
      waiting.set({ state: 'pending' }, pending);
      waiting.set({ state: 'parked' }, parked);
    },
    pageRestated(orgId, page) {
      skipped.inc(page.skipped);
      log.info({ event: 'page_restated', orgId, ...page });
    },
    notRestated(receiptId, error) {
      log.warn({ event: 'receipt_not_restated', receiptId, err: error });
    },
    signingKeysUnreadable(error) {
      log.error({ event: 'signing_keys_unreadable', err: error });
    },
    storeFailed(error) {
      log.warn({ event: 'store_error', err: error });
    },
  };
}
