import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Unmetered } from '#shared/metering/energy.ts';
import type { ReadingFault } from '#shared/metering/reading.ts';
import type { RevisionRow } from '#shared/receipts/columns.ts';
import type { RestatedPage } from '#shared/receipts/postgres/revisions.ts';
import { metricsOf } from '#shared/process/metrics.ts';

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

export type RecalculationEvents = ReturnType<typeof recalculationEvents>;

/** The events of this role, each as one function that writes the log line and the metric together. */
export function recalculationEvents(log: Logger, registry: Registry) {
  const { counter, gauge } = metricsOf(registry);
  const revisions = counter('docket_revisions_total', 'Receipts that revise others, by kind', [
    'kind',
  ]);
  const failures = counter(
    'docket_recalculation_failures_total',
    'Attempts to estimate a degraded receipt again that failed',
    ['stage', 'parked'],
  );
  const waiting = gauge(
    'docket_recalculations',
    'Degraded receipts that wait: for another attempt (pending), or for a person (parked)',
    ['state'],
  );
  const skipped = counter(
    'docket_restatements_skipped_total',
    'Receipts that a newer methodology gives no estimate for, or that were not integrated',
  );
  const metered = counter(
    'docket_metered_joules_total',
    'Energy metered: attributed to requests, or idle',
    ['endpoint', 'share'],
  );
  const meterFailures = counter(
    'docket_meter_failures_total',
    'Meters that could not be read, and intervals whose energy is not known, by reason',
    ['endpoint', 'reason'],
  );
  const lastRead = gauge(
    'docket_meter_read_timestamp_seconds',
    'When a meter last said something new',
    ['endpoint'],
  );
  const unmeasured = counter(
    'docket_unmeasured_requests_total',
    'Requests on endpoints with a meter that it did not cover whole: their estimates stand',
  );
  return {
    /** A reading was kept. */
    meterRead: (endpoint: string): void => {
      lastRead.set({ endpoint }, Date.now() / 1_000);
    },
    /** No reading was kept: the meter is away, or states what cannot be. */
    meterFailed: (
      endpoint: string,
      reason: ReadingFault | 'unreachable',
      error?: unknown,
    ): void => {
      meterFailures.inc({ endpoint, reason });
      log.warn({ event: 'meter_failed', endpoint, reason, err: error });
    },
    intervalSettled: (endpoint: string, energyUj: bigint, idleUj: bigint): void => {
      metered.inc({ endpoint, share: 'attributed' }, Number(energyUj - idleUj) / 1e6);
      metered.inc({ endpoint, share: 'idle' }, Number(idleUj) / 1e6);
    },
    /** The energy between two readings is not known: the requests that ran meanwhile keep their estimates. */
    intervalUnmetered: (endpoint: string, reason: Unmetered): void => {
      meterFailures.inc({ endpoint, reason });
      log.warn({ event: 'interval_unmetered', endpoint, reason });
    },
    /** Requests that no meter covered whole. */
    requestsUnmeasured: (count: number): void => {
      unmeasured.inc(count);
      log.warn({ event: 'requests_unmeasured', count });
    },
    notMeasured: (receiptId: string, error: unknown): void => {
      log.warn({ event: 'receipt_not_measured', receiptId, err: error });
    },
    revised: ({ kind, receiptId, supersedes }: RevisionRow): void => {
      revisions.inc({ kind });
      log.info({ event: 'receipt_revised', kind, receiptId, supersedes });
    },
    attemptFailed: (failure: AttemptFailure, error: unknown): void => {
      failures.inc({ stage: failure.stage, parked: 'false' });
      log.warn({ event: 'recalculation_failed', ...failure, err: error });
    },
    /** No further attempt by itself: a person has to look. */
    parked: (failure: AttemptFailure, error: unknown): void => {
      failures.inc({ stage: failure.stage, parked: 'true' });
      log.error({ event: 'recalculation_parked', ...failure, err: error });
    },
    /** Receipts that failed on another catalogue or methodology are due again. */
    renewed: (count: number): void => {
      log.info({ event: 'recalculations_renewed', count });
    },
    counted: ({ pending, parked }: { pending: number; parked: number }): void => {
      waiting.set({ state: 'pending' }, pending);
      waiting.set({ state: 'parked' }, parked);
    },
    /** Days over their time of which hours are missing: their receipts go back to the annual factor. */
    daysIncomplete: (count: number): void => {
      log.warn({ event: 'grid_days_incomplete', count });
    },
    pageRestated: (orgId: string, page: Omit<RestatedPage, 'lastId'>): void => {
      skipped.inc(page.skipped);
      log.info({ event: 'page_restated', orgId, ...page });
    },
    notRestated: (receiptId: string, error: unknown): void => {
      log.warn({ event: 'receipt_not_restated', receiptId, err: error });
    },
    /** Changed signing keys cannot be read; the key known before goes on signing. */
    signingKeysUnreadable: (error: unknown): void => {
      log.error({ event: 'signing_keys_unreadable', err: error });
    },
    storeFailed: (error: unknown): void => {
      log.warn({ event: 'store_error', err: error });
    },
  };
}
