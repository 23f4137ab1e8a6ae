import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { BackgroundRole } from '#shared/config/settings.ts';
import type { JobObserver } from '#shared/jobs/redis/job-runner.ts';
import { JOBS } from '#shared/jobs/table.ts';
import { metricsOf } from '#shared/process/metrics.ts';

/** The events of a role's jobs, each as one function that writes the log line and the metric together. */
export function jobEvents(log: Logger, registry: Registry, role: BackgroundRole): JobObserver {
  const { counter, histogram } = metricsOf(registry);
  // `job` is Prometheus' own: what a process shows by that name comes there as another.
  const duration = histogram(
    'docket_job_duration_seconds',
    'How long jobs took, by kind',
    [0.01, 0.05, 0.25, 1, 5, 30, 120, 600],
    ['kind'],
  );
  const failures = counter(
    'docket_job_failures_total',
    'Attempts that failed; final ones are not repeated',
    ['kind', 'final'],
  );
  const queueFailures = counter(
    'docket_job_queue_failures_total',
    'Times the job queue itself could not be used',
    ['kind'],
  );
  // A series that begins with its first failure has not risen, as alarms see it.
  for (const [kind, row] of Object.entries(JOBS)) {
    if (row.role !== role) continue;
    for (const final of ['true', 'false']) failures.inc({ kind, final }, 0);
  }
  return {
    done(job, durationMs) {
      duration.observe({ kind: job }, durationMs / 1_000);
      log.debug({ event: 'job_done', job, duration_ms: durationMs });
    },
    failed(job, error, final) {
      failures.inc({ kind: job, final: String(final) });
      log[final ? 'error' : 'warn']({ event: 'job_failed', job, final, err: error });
    },
    queueFailed(job, error) {
      queueFailures.inc({ kind: job });
      log.warn({ event: 'job_queue_failed', job, err: error });
    },
  };
}
