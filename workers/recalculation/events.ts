import type { Logger } from 'pino';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { RevisionRow } from '#shared/receipts/columns.ts';
import type { MeteringEvents } from './metering.ts';
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
export interface RecalculationEvents extends MeteringEvents {
  revised(row: RevisionRow): void;
  attemptFailed(failure: AttemptFailure, error: unknown): void;
  /** No further attempt by itself: a person has to look. */
  parked(failure: AttemptFailure, error: unknown): void;
  /** Receipts that failed on another catalogue or methodology are due again. */
  renewed(count: number): void;
  counted(counts: { pending: number; parked: number }): void;
  /** Days over their time of which hours are missing: their receipts go back to the annual factor. */
  daysIncomplete(count: number): void;
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
  const metered = new Counter({
    name: 'docket_metered_joules_total',
    help: 'Energy metered: attributed to requests, or idle',
    labelNames: ['endpoint', 'share'],
    registers,
  });
  const meterFailures = new Counter({
    name: 'docket_meter_failures_total',
    help: 'Meters that could not be read, and intervals whose energy is not known, by reason',
    labelNames: ['endpoint', 'reason'],
    registers,
  });
  const lastRead = new Gauge({
    name: 'docket_meter_read_timestamp_seconds',
    help: 'When a meter last said something new',
    labelNames: ['endpoint'],
    registers,
  });
  const unmeasured = new Counter({
    name: 'docket_unmeasured_requests_total',
    help: 'Requests on endpoints with a meter that it did not cover whole: their estimates stand',
    registers,
  });
  return {
    meterRead(endpoint) {
      lastRead.set({ endpoint }, Date.now() / 1_000);
    },
    meterFailed(endpoint, reason, error) {
      meterFailures.inc({ endpoint, reason });
      log.warn({ event: 'meter_failed', endpoint, reason, err: error });
    },
    intervalSettled(endpoint, energyUj, idleUj) {
      metered.inc({ endpoint, share: 'attributed' }, Number(energyUj - idleUj) / 1e6);
      metered.inc({ endpoint, share: 'idle' }, Number(idleUj) / 1e6);
    },
    intervalUnmetered(endpoint, reason) {
      meterFailures.inc({ endpoint, reason });
      log.warn({ event: 'interval_unmetered', endpoint, reason });
    },
    requestsUnmeasured(count) {
      unmeasured.inc(count);
      log.warn({ event: 'requests_unmeasured', count });
    },
    notMeasured(receiptId, error) {
      log.warn({ event: 'receipt_not_measured', receiptId, err: error });
    },
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
    daysIncomplete(count) {
      log.warn({ event: 'grid_days_incomplete', count });
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
