import type { Pool } from 'pg';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { openExportStore } from '#shared/packs/files/open-store.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import type { ProcessContext } from '#shared/process/run-process.ts';
import type { ApiEvents } from '#api/events.ts';
import type { ExportRoutesOptions } from './exports.ts';

/** Exports as the edge sees them: the database, the job queue, and the store of packs. */
export function openExports(
  { config, processId }: ProcessContext,
  pool: Pool,
  events: Pick<ApiEvents, 'storeFailed'>,
): { routes: ExportRoutesOptions; close: () => Promise<void> } {
  const connection = connectRedis(
    { url: config.secrets.redisUrl, name: processId, use: 'patient' },
    events.storeFailed,
  );
  const queues = new JobQueues(connection, events.storeFailed);
  const { awsAccessKeyId, awsSecretAccessKey } = config.secrets;
  const store = openExportStore({
    location: config.exportStore,
    region: config.awsRegion,
    endpoint: config.s3Endpoint,
    credentials:
      awsAccessKeyId === undefined || awsSecretAccessKey === undefined
        ? undefined
        : { accessKeyId: awsAccessKeyId, secretAccessKey: awsSecretAccessKey },
  });
  return {
    routes: {
      exports: createExportRegistry(pool, systemSurroundings),
      store,
      // Nobody waits for it: what the queue does not get, the sweep of the exports process finds.
      start: (exportId) => {
        queues.add('export', { exportId }).catch(events.storeFailed);
      },
      onStoreError: events.storeFailed,
    },
    close: async () => {
      await queues.close();
      connection.disconnect();
    },
  };
}
