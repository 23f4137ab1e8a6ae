import type { Pool } from 'pg';
import { expect, it } from 'vitest';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  checkSignaturesOf,
  collectFindings,
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts');
const ledger = database.poolAs('docket_ledger');
const operator = database.poolAs('docket_operator');
const signer = makeCheckpointSigner();
const memory = makeCheckpointMemory();

async function grow(count: number): Promise<void> {
  await submitReceipts(receipts, makeReceipts('org_a', count));
  await integrateAll(ledger);
}
const sign = () =>
  publishCheckpoints(ledger, { signer, memory, originOf, limit: 100, intervalMs: 0 });

/** A pool whose client lets something happen before the first leaves are read: the head was read by then. */
function whenLeavesAreRead(pool: Pool, happen: () => Promise<void>): Pool {
  const connect = async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    let waiting = true;
    const watched = async (...args: unknown[]): Promise<unknown> => {
      if (waiting && String(args[0]).includes('generate_series')) {
        waiting = false;
        await happen();
      }
      return query(...args);
    };
    return Object.assign(client, { query: watched });
  };
  return { connect } as unknown as Pool;
}

it('fsck finds nothing wrong in a log that grows and is signed while it is examined', async () => {
  await grow(300);
  await sign();
  // Entries that no head is signed for yet: the first thing that happens is that one is.
  await grow(3);
  const pool = whenLeavesAreRead(operator, async () => {
    await sign();
    await grow(5);
    await sign();
  });
  const options = { signatures: checkSignaturesOf([signer.publicKey]) };
  expect(await collectFindings(pool, options)).toEqual([]);
  expect(await collectFindings(operator, options)).toEqual([]);
});
