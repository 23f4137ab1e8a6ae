import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { AnchorResult } from '#shared/ledger/postgres/anchor-append.ts';
import type { IntegrationResult, LedgerBacklog } from '#shared/ledger/postgres/integration.ts';
import type { PublicationResult } from '#shared/ledger/postgres/checkpoints.ts';
import { ANCHOR_LOG } from '#shared/ledger/origins.ts';
import { metricsOf } from '#shared/process/metrics.ts';

/** The contract's maximum merge delay. */
const MERGE_DELAY_MAX_MS = 10_000;

/** Steps that the worker repeats; one that fails does not stop the others. */
export type LedgerStep =
  | 'integrate'
  | 'sum_up'
  | 'publish'
  | 'publish_audit'
  | 'backlog'
  | 'anchor'
  | 'attest';

export type LedgerEvents = ReturnType<typeof ledgerEvents>;

/** The events of this role, each as one function that writes the log line and the metric together. */
export function ledgerEvents(log: Logger, registry: Registry) {
  const metrics = ledgerMetrics(registry);
  const haltLog = (orgId: string, reason: string): void => {
    metrics.halts.inc();
    log.error({ event: 'log_halted', orgId, reason, remedy: `docket ledger fsck --org ${orgId}` });
  };
  return {
    integrated({ integrated, quarantined, halted }: IntegrationResult): void {
      metrics.integrated.inc(integrated);
      for (const { receiptId, orgId, reason, detail } of quarantined) {
        metrics.quarantines.inc({ reason });
        log.error({ event: 'receipt_quarantined', receiptId, orgId, reason, detail });
      }
      for (const { orgId, reason } of halted) haltLog(orgId, reason);
      if (integrated > 0) log.debug({ event: 'receipts_integrated', integrated });
    },
    published({ signed, halted }: PublicationResult): void {
      metrics.checkpoints.inc(signed.length);
      for (const { orgId, reason } of halted) haltLog(orgId, reason);
    },
    /** Heads of audit logs were signed; those that do not continue what was signed before are not, and are named each time. */
    auditPublished({ signed, halted }: PublicationResult): void {
      metrics.auditHeads.inc(signed.length);
      for (const { orgId: auditLog, reason } of halted) {
        metrics.auditRefusals.inc();
        log.error({ event: 'audit_head_refused', auditLog, reason, remedy: 'docket audit verify' });
      }
    },
    backlogRead({ pending, oldestMs, quarantined, haltedLogs }: LedgerBacklog): void {
      metrics.pending.set(pending);
      metrics.oldest.set(oldestMs / 1_000);
      metrics.quarantined.set(quarantined);
      metrics.halted.set(haltedLogs);
      if (oldestMs > MERGE_DELAY_MAX_MS)
        log.error({ event: 'merge_delay_exceeded', pending, oldestMs });
    },
    anchored({ heads, keyEvents, halted }: AnchorResult): void {
      if (heads !== null) {
        metrics.epochs.inc();
        log.debug({ event: 'heads_anchored', ...heads });
      }
      for (const { index, event } of keyEvents) {
        const { event: what, key, purpose } = event;
        log.info({ event: 'key_event_anchored', index, what, key, purpose });
      }
      if (halted !== null) haltLog(ANCHOR_LOG, halted);
    },
    /** A time-stamping authority or witness has attested the anchor log up to this size. */
    attested(source: string, size: number): void {
      metrics.attestations.inc({ source, outcome: 'good' });
      log.debug({ event: 'anchor_attested', source, size });
    },
    attestationFailed(source: string, reason: string): void {
      metrics.attestations.inc({ source, outcome: 'failed' });
      log.warn({ event: 'attestation_failed', source, reason });
    },
    /** Changed signing keys that cannot be read; the ones before stay in use. */
    signingKeysUnreadable(error: unknown): void {
      metrics.failures.inc({ step: 'keys' });
      log.error({ event: 'signing_keys_unreadable', err: error });
    },
    /** This worker is not told that receipts wait: it finds them by looking. */
    noticesUnheard(error: unknown): void {
      log.warn({ event: 'owed_notices_unheard', err: error });
    },
    failed(step: LedgerStep, error: unknown): void {
      metrics.failures.inc({ step });
      log.warn({ event: 'ledger_step_failed', step, err: error });
    },
  };
}

function ledgerMetrics(registry: Registry) {
  const { counter, gauge } = metricsOf(registry);
  return {
    integrated: counter('docket_ledger_integrated_total', 'Receipts that became ledger entries'),
    checkpoints: counter('docket_ledger_checkpoints_total', 'Checkpoints signed'),
    quarantines: counter(
      'docket_ledger_quarantines_total',
      'Receipts put into quarantine, by reason',
      ['reason'],
    ),
    halts: counter(
      'docket_ledger_halts_total',
      'Logs halted because they contradict what was stored or published',
    ),
    auditHeads: counter('docket_ledger_audit_heads_total', 'Heads of audit logs signed'),
    auditRefusals: counter(
      'docket_ledger_audit_refusals_total',
      'Times that the head of an audit log was not signed because it does not continue what was signed before',
    ),
    epochs: counter('docket_ledger_anchor_epochs_total', 'Heads trees written into the anchor log'),
    attestations: counter(
      'docket_ledger_attestations_total',
      'Timestamps and cosignatures of the anchor log, by who was asked and what came of it',
      ['source', 'outcome'],
    ),
    failures: counter('docket_ledger_failures_total', 'Steps that failed and will be tried again', [
      'step',
    ]),
    pending: gauge(
      'docket_ledger_pending',
      'Receipts that wait for integration (100,000 at most are counted)',
    ),
    oldest: gauge(
      'docket_ledger_oldest_pending_seconds',
      'Age of the oldest of them; the maximum merge delay is 10 s',
    ),
    quarantined: gauge('docket_ledger_quarantined', 'Receipts in quarantine now'),
    halted: gauge('docket_ledger_halted_logs', 'Logs that are halted now'),
  };
}
