import type { DatabaseRole } from '#shared/kernel/postgres/pool.ts';
import { Replica } from '#shared/kernel/postgres/replica.ts';
import { metricsOf } from './metrics.ts';
import type { ProcessContext } from './run-process.ts';

/** The replica of DATABASE_READ_URL, with its log lines and metrics; undefined where none is named. */
export function openReplica(
  { config, log, registry }: Pick<ProcessContext, 'config' | 'log' | 'registry'>,
  role: DatabaseRole,
): Replica | undefined {
  const { counter, gauge, reading } = metricsOf(registry);
  const { databaseUrl, databaseReadUrl } = config.secrets;
  if (databaseReadUrl === undefined) return undefined;
  const reads = counter(
    'docket_reads_total',
    'Lists, usage and what packs are made of, by where they were read; only with a replica',
    ['from'],
  );
  const used = gauge(
    'docket_replica_used',
    'Whether the replica is read from: 0 while it is away, too far behind or none; only with a replica',
  );
  reading(
    'docket_replica_lag_seconds',
    'How far the replica is behind at most; NaN while that is not known; only with a replica',
    () => (replica.behindMs() ?? Number.NaN) / 1_000,
  );
  const replica = new Replica({
    url: databaseReadUrl,
    primaryUrl: databaseUrl,
    role,
    pooler: config.databasePooler,
    applicationName: 'docket reads',
    events: {
      used: () => {
        used.set(1);
        log.info({ event: 'replica_used' });
      },
      leftOut: (reason) => {
        used.set(0);
        log.warn({ event: 'replica_left_out', message: reason });
      },
      read: (from) => reads.inc({ from }),
    },
  });
  return replica;
}
