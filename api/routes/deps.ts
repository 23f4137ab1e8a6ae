import type { Pool } from 'pg';
import { createAccountRegistry } from '../../shared/adapters/postgres/accounts.ts';
import { createAnchorReader } from '../../shared/adapters/postgres/anchor-reader.ts';
import { createAuditLog } from '../../shared/adapters/postgres/audit.ts';
import { createKeyRegistry } from '../../shared/adapters/postgres/keys.ts';
import { createLedgerReader } from '../../shared/adapters/postgres/ledger-reader.ts';
import { createRecalculationRequests } from '../../shared/adapters/postgres/recalculation-requests.ts';
import { createUsageReader } from '../../shared/adapters/postgres/usage.ts';
import { systemSurroundings } from '../../shared/adapters/system/surroundings.ts';
import type { ReceiptIssuer } from '../../shared/domain/receipt/issuer.ts';
import { loadMethodologies } from '../../shared/methodology/methodologies.ts';

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
      originOf: (organisationId: string) => issuer.logs + organisationId,
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
