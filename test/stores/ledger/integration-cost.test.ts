/** What integration reads: a log grows for years, and each of its seconds must cost the same. */
import { expect, it } from 'vitest';
import { integrateBatch } from '#shared/ledger/postgres/integration.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { integrateAll, makeReceipts, submitReceipts } from '#test/support/ledger.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts');
/** One connection, because each counts its own reads until it is told to report them. */
const ledger = database.poolAs('docket_ledger', 1);

async function rowsRead(): Promise<number> {
  await ledger.query('select pg_stat_force_next_flush()');
  const { rows } = await database.pool.query<{ read: string }>(
    `select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_user_tables
     where relname = 'ledger_entry'`,
  );
  return Number(rows[0]!.read);
}

it('integrating a batch reads what belongs to it, not the entries that are there already', async () => {
  const [entries, batch] = [5_000, 200];
  await submitReceipts(receipts, makeReceipts('org_cost', entries));
  await integrateAll(ledger);
  await submitReceipts(receipts, makeReceipts('org_cost', batch));
  const before = await rowsRead();
  expect((await integrateBatch(ledger, batch)).integrated).toBe(batch);
  expect((await rowsRead()) - before).toBeLessThan(entries / 2);
});
