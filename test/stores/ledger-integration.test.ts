import { describe, expect, it } from 'vitest';
import { integrateBatch } from '../../shared/adapters/postgres/ledger-integration.ts';
import { publishCheckpoints } from '../../shared/adapters/postgres/ledger-checkpoints.ts';
import { createLedgerReader } from '../../shared/adapters/postgres/ledger-reader.ts';
import { parseProof, proofHolds } from '../../shared/domain/ledger/proof-text.ts';
import { createTestDatabase } from '../support/database.ts';
import {
  leafOf,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
} from '../support/ledger.ts';
import { referenceRoot } from '../unit/ledger/reference-tree.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts');
const ledger = database.poolAs('docket_ledger');
const reader = createLedgerReader(database.poolAs('docket_api'));
const signer = makeCheckpointSigner();

async function integrateAll(limit = 500): Promise<void> {
  for (;;) {
    const { claimed } = await integrateBatch(ledger, limit);
    if (claimed === 0) return;
  }
}

describe('integration', () => {
  it('puts every promised receipt into its log once, at contiguous indexes, with a provable place', async () => {
    const memory = makeCheckpointMemory();
    const batches = ['org_a', 'org_b'].map((orgId) =>
      makeReceipts(orgId, orgId === 'org_a' ? 700 : 3),
    );
    for (const batch of batches) await submitReceipts(receipts, batch);
    await integrateAll(97);
    const options = { signer, memory, originOf, limit: 10, intervalMs: 0 };
    expect((await publishCheckpoints(ledger, options)).signed).toEqual([
      { orgId: 'org_a', size: 700 },
      { orgId: 'org_b', size: 3 },
    ]);
    for (const batch of batches) {
      batch.sort((a, b) => (a.id < b.id ? -1 : 1));
      const leaves = batch.map((receipt) => leafOf(receipt.body));
      for (const [i, receipt] of batch.entries()) {
        const proof = parseProof((await reader.proof(receipt.orgId, receipt.id))!);
        expect(proof.index).toBe(i);
        expect(proofHolds(proof, leaves[i]!)).toBe(true);
        expect(Buffer.from(proof.tree.root).equals(referenceRoot(leaves))).toBe(true);
      }
    }
  });
});
