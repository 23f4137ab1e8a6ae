import { beforeEach, describe, expect, it } from 'vitest';
import { publishCheckpoints, type PublisherOptions } from '#shared/ledger/postgres/checkpoints.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { verifyConsistency } from '#shared/ledger/proofs.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
  tamper,
} from '#test/support/ledger.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts');
const ledger = database.poolAs('docket_ledger');
const reader = createLedgerReader(database.poolAs('docket_api'));
const signer = makeCheckpointSigner();

let orgId = '';
let orgs = 0;
beforeEach(() => {
  orgs += 1;
  orgId = `org_${orgs}`;
});

function publisher(more: Partial<PublisherOptions> = {}): PublisherOptions {
  return { signer, memory: makeCheckpointMemory(), originOf, limit: 100, intervalMs: 0, ...more };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('checkpoints', () => {
  it('every checkpoint is a prefix of every later one [evidence.contiguous]', async () => {
    const options = publisher();
    const sizes = [1, 2, 3, 7, 64, 255, 256, 257, 400, 600];
    const notes: string[] = [];
    let size = 0;
    for (const next of sizes) {
      await submitReceipts(receipts, makeReceipts(orgId, next - size));
      size = next;
      await integrateAll(ledger);
      expect((await publishCheckpoints(ledger, options)).signed).toEqual([{ orgId, size }]);
      notes.push((await reader.checkpoint(orgId))!);
    }
    const heads = notes.map((note) => parseCheckpoint(note).checkpoint);
    expect(heads.map((head) => head.size)).toEqual(sizes);
    for (const [i, older] of heads.entries()) {
      for (const newer of heads.slice(i + 1)) {
        const proof = (await reader.consistency(orgId, older.size, newer.size))!;
        expect(
          verifyConsistency({
            oldSize: older.size,
            newSize: newer.size,
            oldRoot: older.root,
            newRoot: newer.root,
            proof,
          }),
          `${older.size} in ${newer.size}`,
        ).toBe(true);
      }
    }
  });

  it('a log is signed once in an interval, by the worker that comes first', async () => {
    await submitReceipts(receipts, makeReceipts(orgId, 2));
    await integrateAll(ledger);
    const options = publisher({ intervalMs: 60_000 });
    const results = await Promise.all(upTo(4).map(() => publishCheckpoints(ledger, options)));
    expect(results.flatMap((result) => result.signed)).toEqual([{ orgId, size: 2 }]);
    await submitReceipts(receipts, makeReceipts(orgId, 1));
    await integrateAll(ledger);
    expect((await publishCheckpoints(ledger, options)).signed).toEqual([]);
  });

  it.each([
    ['the head’s root', `update ledger_head set root = sha256(root) where org_id = $1`, 'the head'],
    [
      'an unpublished leaf',
      `update ledger_entry set leaf_hash = sha256(leaf_hash) where org_id = $1 and index = 299`,
      'the head',
    ],
    [
      'the root of a full tile',
      `update ledger_tile set root = sha256(root) where org_id = $1`,
      'the head',
    ],
    [
      'the last checkpoint',
      `update ledger_checkpoint set root = sha256(root) where org_id = $1`,
      'the last checkpoint',
    ],
    [
      'a lost checkpoint',
      `delete from ledger_checkpoint where org_id = $1`,
      'the last checkpoint has 0 entries',
    ],
  ])('a log is halted, not signed, when %s was changed', async (_what, statement, reason) => {
    const options = publisher();
    await submitReceipts(receipts, makeReceipts(orgId, 290));
    await integrateAll(ledger);
    await publishCheckpoints(ledger, options);
    await submitReceipts(receipts, makeReceipts(orgId, 10));
    await integrateAll(ledger);
    expect(await tamper(database.pool, statement, [orgId])).toBe(1);
    const before = await reader.checkpoint(orgId);
    const { signed, halted } = await publishCheckpoints(ledger, options);
    expect(signed).toEqual([]);
    expect(halted).toMatchObject([{ orgId }]);
    expect(halted[0]!.reason).toContain(reason);
    expect(await reader.checkpoint(orgId)).toBe(before);
    expect(await publishCheckpoints(ledger, options)).toEqual({ signed: [], halted: [] });
  });

  it('a log is halted when the database was restored from an older backup, smaller or regrown [survives.restore]', async () => {
    const options = publisher();
    await submitReceipts(receipts, makeReceipts(orgId, 10));
    await integrateAll(ledger);
    await publishCheckpoints(ledger, options);
    const { rows: backup } = await database.pool.query(
      'select * from ledger_head where org_id = $1',
      [orgId],
    );
    await submitReceipts(receipts, makeReceipts(orgId, 10));
    await integrateAll(ledger);
    await publishCheckpoints(ledger, options);
    const head = backup[0] as { size: string; root: Buffer; frontier: Buffer };
    for (const table of [
      'ledger_entry where index >= 10 and',
      'ledger_checkpoint where size > 10 and',
    ]) {
      await tamper(database.pool, `delete from ${table} org_id = $1`, [orgId]);
    }
    await tamper(
      database.pool,
      `update ledger_head set size = $2, root = $3, frontier = $4, checkpoint_size = $2 where org_id = $1`,
      [orgId, head.size, head.root, head.frontier],
    );
    await submitReceipts(receipts, makeReceipts(orgId, 5));
    await integrateAll(ledger);
    const smaller = await publishCheckpoints(ledger, options);
    expect(smaller.halted[0]!.reason).toContain(
      'what was published before has 20 entries, the log only 15',
    );
    await tamper(
      database.pool,
      'update ledger_head set halted_at = null, halt_reason = null where org_id = $1',
      [orgId],
    );
    await submitReceipts(receipts, makeReceipts(orgId, 9));
    await integrateAll(ledger);
    const regrown = await publishCheckpoints(ledger, options);
    expect(regrown.signed).toEqual([]);
    expect(regrown.halted[0]!.reason).toContain(
      'the root of what was published before (20 entries)',
    );
  });

  it('no log is signed while the memory of what was published cannot be reached', async () => {
    await submitReceipts(receipts, makeReceipts(orgId, 1));
    await integrateAll(ledger);
    const memory = { ...makeCheckpointMemory(), recall: () => Promise.reject(new Error('away')) };
    await expect(publishCheckpoints(ledger, publisher({ memory }))).rejects.toThrow('away');
    expect(await reader.checkpoint(orgId)).toBeNull();
    expect((await publishCheckpoints(ledger, publisher())).signed).toEqual([{ orgId, size: 1 }]);
  });
});
