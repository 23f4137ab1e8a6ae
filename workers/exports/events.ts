import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Away, ExportRecord } from '#shared/packs/export-record.ts';
import { metricsOf } from '#shared/process/metrics.ts';
import type { PackFailure } from './failure.ts';

export type ExportEvents = ReturnType<typeof exportEvents>;

/** The events of exports, each as one function that writes the log line and the metric together. */
export function exportEvents(log: Logger, registry: Registry) {
  const { counter, histogram } = metricsOf(registry);
  const runs = counter('docket_export_runs_total', 'Runs of evidence packs, by how they ended', [
    'outcome',
  ]);
  const receipts = counter('docket_export_receipts_total', 'Receipts in finished packs');
  const duration = histogram(
    'docket_export_duration_seconds',
    'How long finished packs took',
    [0.1, 1, 5, 30, 120, 600, 3_600],
  );
  const facts = ({ id, orgId, total }: ExportRecord) => ({ exportId: id, orgId, receipts: total });
  return {
    started: (record: ExportRecord): void =>
      log.info({ event: 'export_started', ...facts(record) }),
    /** For some seconds: others have not attested its anchor yet. */
    waiting: (record: ExportRecord): void =>
      log.debug({ event: 'export_waiting', ...facts(record) }),
    /** For up to a day: what it cannot be made without is away. */
    held(record: ExportRecord, away: Away, error: unknown): void {
      runs.inc({ outcome: 'held' });
      log.warn({ event: 'export_held', ...facts(record), away, err: error });
    },
    ready(record: ExportRecord, sizeBytes: number, durationMs: number): void {
      runs.inc({ outcome: 'ready' });
      receipts.inc(record.total);
      duration.observe(durationMs / 1_000);
      log.info({ event: 'export_ready', ...facts(record), sizeBytes, durationMs });
    },
    /** For good: the owner sees why. */
    failed(record: ExportRecord, { code, message }: PackFailure): void {
      runs.inc({ outcome: 'failed' });
      log.error({ event: 'export_failed', ...facts(record), code, reason: message });
    },
    /** It was deleted, or another process has it. */
    lost(record: ExportRecord): void {
      runs.inc({ outcome: 'lost' });
      log.info({ event: 'export_stopped', ...facts(record) });
    },
    /** It will be run again. */
    interrupted(record: ExportRecord, error: unknown): void {
      runs.inc({ outcome: 'interrupted' });
      log.warn({ event: 'export_interrupted', ...facts(record), err: error });
    },
  };
}
