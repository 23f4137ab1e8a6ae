import type { PendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import type { Pool } from 'pg';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { createAccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { JobQueues } from '#shared/jobs/redis/job-queues.ts';
import type { Reads } from '#shared/kernel/postgres/replica.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createKeyRegistry } from '#shared/keys/postgres/keys.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { auditCheckpoint } from '#shared/ledger/postgres/audit-checkpoints.ts';
import { createAnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import type { BodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { openExportStore } from '#shared/packs/files/open-store.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import type { ProcessContext } from '#shared/process/run-process.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { derivationsOf } from '#shared/receipts/postgres/derivations.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import { createRecalculationRequests } from '#shared/receipts/postgres/recalculation-requests.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import { createRequestReader } from '#shared/requests/postgres/requests.ts';
import type { ApiEvents } from '#api/events.ts';
import type { ExportRoutesOptions } from './exports.ts';

/** Dependencies of the routes: PostgreSQL, and the methodologies. */
export function openResources(
  { pool, reads, archive }: { pool: Pool; reads: Reads; archive?: BodyArchive },
  { logs }: Pick<ReceiptIssuer, 'logs'>,
  pendingReceipts: Pick<PendingReceipts, 'isPending'>,
  surroundings: Surroundings = systemSurroundings,
) {
  const now = () => surroundings.now();
  const ledger = createLedgerReader(pool, reads, archive);
  const anchor = createAnchorReader(pool);
  const methodologies = shippedMethodologies();
  return {
    receipts: {
      ledger,
      pendingReceipts,
    },
    recalculation: {
      recalculations: createRecalculationRequests(pool, surroundings),
      pendingReceipts,
    },
    lineage: {
      ledger,
      methodologies,
      derivationsOf: (documents: readonly ReceiptDocument[]) => derivationsOf(pool, documents),
      originOf: (orgId: string) => logs + orgId,
    },
    usage: { usage: createUsageReader(pool, reads), now },
    requests: { requests: createRequestReader(pool), ledger },
    methodologies: { methodologies },
    ledger: { ledger },
    anchor: { anchor },
    keys: { keys: createKeyRegistry(pool, surroundings), now },
    account: { accounts: createAccountRegistry(pool, surroundings) },
    auditLog: {
      audit: createAuditLog(pool, surroundings),
      checkpoint: (orgId: string) => auditCheckpoint(pool, orgId),
      anchor,
    },
  };
}

/** Exports as the edge sees them: the database, the job queue, and the store of packs. */
export function openExports(
  { config, processId, server }: ProcessContext,
  pool: Pool,
  events: Pick<ApiEvents, 'storeFailed'>,
): { routes: ExportRoutesOptions; queues: JobQueues; close: () => Promise<void> } {
  const connection = connectRedis(
    { url: config.secrets.redisUrl, name: processId, use: 'patient', server },
    events.storeFailed,
  );
  const queues = new JobQueues(connection, events.storeFailed);
  const store = openExportStore(config);
  return {
    routes: {
      exports: createExportRegistry(pool, systemSurroundings),
      store,
      // The answer does not wait for it: what the queue does not get, the sweep of the exports process finds.
      start: () => {
        queues.add('export', {}).catch(events.storeFailed);
      },
      keptDays: config.packsKeptDays,
      onStoreError: events.storeFailed,
    },
    queues,
    close: async () => {
      await queues.close();
      connection.disconnect();
    },
  };
}
