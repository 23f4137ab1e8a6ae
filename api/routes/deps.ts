import type { Pool } from 'pg';
import { createAccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { createAnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { createKeyRegistry } from '#shared/keys/postgres/keys.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { createRecalculationRequests } from '#shared/receipts/postgres/recalculation-requests.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import { loadMethodologies } from '#shared/methodology/files/methodologies.ts';

/** What the routes read and write in PostgreSQL, and the methodologies. */
export function openResources(pool: Pool, issuer: ReceiptIssuer) {
  const ledger = createLedgerReader(pool);
  const methodologies = loadMethodologies();
  return {
    receipts: { ledger },
    recalculation: { recalculations: createRecalculationRequests(pool, systemSurroundings) },
    lineage: {
      ledger,
      methodologies,
      originOf: (orgId: string) => issuer.logs + orgId,
    },
    usage: { usage: createUsageReader(pool), now: Date.now },
    methodologies: { methodologies },
    ledger: { ledger },
    anchor: { anchor: createAnchorReader(pool) },
    keys: { keys: createKeyRegistry(pool, systemSurroundings) },
    account: { accounts: createAccountRegistry(pool, systemSurroundings) },
    auditLog: { audit: createAuditLog(pool, systemSurroundings) },
  };
}
