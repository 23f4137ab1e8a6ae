import { expect, it } from 'vitest';
import { openStatus } from '#api/front/deps.ts';
import { createStatusHistory } from '#shared/catalogue/postgres/status-history.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { commitReceipts, inferenceRecord, makeReceiptSigner } from '#test/support/issuing.ts';

const database = await createTestDatabase();

it('the status says that the ledger is behind when the oldest receipt that waits for it is old [dashboard.everyone]', async () => {
  const { signer } = makeReceiptSigner();
  const at = Date.now();
  const record = inferenceRecord();
  await commitReceipts(database.poolAs('docket_receipts', 1), signer, [record]);
  const history = createStatusHistory(database.poolAs('docket_api', 1), systemSurroundings);
  const statusAt = (now: number) =>
    openStatus(database.poolAs('docket_api', 1), {
      index: () => ({ models: new Map(), byName: new Map(), regions: new Map(), currency: null }),
      health: () => ({ states: new Map(), openCircuits: new Set() }),
      isServed: () => true,
      notes: async () => new Map(),
      history,
      onError: (error) => {
        throw error;
      },
      now: () => now,
    }).now();
  expect(await statusAt(at)).toMatchObject({ ledger: 'normal' });
  expect(await statusAt(at + 60_000)).toMatchObject({ ledger: 'behind' });
});
