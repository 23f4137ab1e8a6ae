import { beforeEach, describe, expect, it } from 'vitest';
import { publishCheckpoints, type PublisherOptions } from '#shared/ledger/postgres/checkpoints.ts';
import { integrateBatch } from '#shared/ledger/postgres/integration.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { parseProof, proofHolds } from '#shared/ledger/proof-text.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  integrateAll,
  leafOf,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipt,
  makeReceipts,
  originOf,
  submitReceipts,
  tamper,
} from '#test/support/ledger.ts';
import { referenceRoot } from '#test/unit/ledger/reference-tree.ts';

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

async function indexes(org: string): Promise<number[]> {
  const { rows } = await database.pool.query<{ index: string }>(
    'select index from ledger_entry where org_id = $1 order by index',
    [org],
  );
  return rows.map((row) => Number(row.index));
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('integration', () => {
  it('every promised receipt gets a provable place in its own log', async () => {
    const batches = [makeReceipts(orgId, 700), makeReceipts(`${orgId}b`, 3)];
    for (const batch of batches) await submitReceipts(receipts, batch);
    await integrateAll(ledger, 97);
    const { signed } = await publishCheckpoints(ledger, publisher());
    expect(signed).toEqual([
      { orgId, size: 700 },
      { orgId: `${orgId}b`, size: 3 },
    ]);
    for (const batch of batches) {
      batch.sort((a, b) => (a.id < b.id ? -1 : 1));
      const leaves = batch.map((receipt) => leafOf(receipt.body));
      const root = referenceRoot(leaves);
      for (const [i, receipt] of batch.entries()) {
        const proof = parseProof((await reader.proof(receipt.orgId, receipt.id))!);
        expect(proof.index).toBe(i);
        expect(proofHolds(proof, leaves[i]!)).toBe(true);
        expect(root.equals(proof.tree.root)).toBe(true);
      }
    }
  });

  it('indexes are contiguous, each given once, when several workers integrate at once [evidence.contiguous]', async () => {
    const all = [...makeReceipts(orgId, 900), ...makeReceipts(`${orgId}b`, 300)];
    const submitting = (async () => {
      for (let at = 0; at < all.length; at += 100)
        await submitReceipts(receipts, all.slice(at, at + 100));
    })();
    const integrators = upTo(3).map(async () => {
      let integrated = 0;
      while ((await indexes(orgId)).length + (await indexes(`${orgId}b`)).length < all.length) {
        integrated += (await integrateBatch(ledger, 37)).integrated;
      }
      return integrated;
    });
    await submitting;
    const counts = await Promise.all(integrators);
    expect(counts.reduce((sum, each) => sum + each, 0)).toBe(all.length);
    expect(await indexes(orgId)).toEqual(upTo(900));
    expect(await indexes(`${orgId}b`)).toEqual(upTo(300));
    await expect(publishCheckpoints(ledger, publisher())).resolves.toMatchObject({ halted: [] });
  });

  it('a batch can begin at a receipt id; a batch without one takes older promises too', async () => {
    const all = makeReceipts(orgId, 4).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    await submitReceipts(receipts, all);
    const later = await integrateBatch(ledger, 100, all[2]!.id);
    expect(later).toMatchObject({ claimed: 2, integrated: 2, newest: all[3]!.id });
    const older = await integrateBatch(ledger, 100);
    expect(older).toMatchObject({ claimed: 2, integrated: 2, newest: all[1]!.id });
    expect(await integrateBatch(ledger, 100)).toMatchObject({ claimed: 0 });
  });

  it('a receipt that is submitted twice is integrated once', async () => {
    const [receipt] = makeReceipts(orgId, 1);
    await submitReceipts(receipts, [receipt!]);
    await integrateAll(ledger);
    await submitReceipts(receipts, [receipt!, { ...receipt!, body: Buffer.from('other') }]);
    await integrateAll(ledger);
    expect(await indexes(orgId)).toEqual([0]);
    expect(Buffer.from((await reader.receipt(orgId, receipt!.id))!.body)).toEqual(receipt!.body);
  });

  it('the time of an entry never goes back, also when the clock does', async () => {
    await submitReceipts(receipts, makeReceipts(orgId, 2));
    await integrateAll(ledger);
    const ahead = new Date(Date.now() + 3_600_000);
    await tamper(database.pool, 'update ledger_head set integrated_at = $2 where org_id = $1', [
      orgId,
      ahead,
    ]);
    await submitReceipts(receipts, makeReceipts(orgId, 2));
    await integrateAll(ledger);
    const { items } = await reader.listEntries({ orgId, limit: 10, order: 'asc' });
    const times = items.map((entry) => entry.integratedAt);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)).toBe(ahead.getTime());
  });
});

describe('poison', () => {
  it('a receipt that cannot be integrated goes to quarantine with its reason, and the rest is integrated [survives.quarantine]', async () => {
    const good = makeReceipts(orgId, 5);
    const altered = makeReceipt(orgId, { leafHash: leafOf(Buffer.from('something else')) });
    const bodiless = makeReceipt(orgId);
    const again = makeReceipt(orgId);
    await submitReceipts(receipts, [again]);
    await integrateAll(ledger);
    await submitReceipts(receipts, [...good, altered, bodiless]);
    await tamper(database.pool, 'delete from ledger_body where entry_id = $1', [bodiless.id]);
    await tamper(
      database.pool,
      `insert into receipt_pending (entry_id, org_id, kind, leaf_hash) values ($1, $2, 'inference', $3)`,
      [again.id, orgId, leafOf(again.body)],
    );
    const { quarantined, halted } = await integrateAll(ledger);
    expect(new Map(quarantined.map((each) => [each.receiptId, each.reason]))).toEqual(
      new Map([
        [altered.id, 'body_altered'],
        [bodiless.id, 'body_missing'],
        [again.id, 'already_integrated'],
      ]),
    );
    expect(halted).toEqual([]);
    expect(await indexes(orgId)).toEqual(upTo(6));
    const { rows } = await database.pool.query(
      'select entry_id from ledger_quarantine where org_id = $1',
      [orgId],
    );
    expect(rows).toHaveLength(3);
  });

  it('a receipt that only the tables refuse is found among the others', async () => {
    const batch = [...makeReceipts(orgId, 9), ...makeReceipts(`${orgId}b`, 9)];
    const poison = batch[4]!;
    await submitReceipts(receipts, batch);
    await database.pool.query(
      `alter table ledger_entry add constraint test_poison check (entry_id <> '${poison.id}')`,
    );
    try {
      const { quarantined, halted } = await integrateAll(ledger);
      expect(quarantined).toMatchObject([{ receiptId: poison.id, reason: 'refused' }]);
      expect(quarantined[0]!.detail).toContain('test_poison');
      expect(halted).toEqual([]);
    } finally {
      await database.pool.query('alter table ledger_entry drop constraint test_poison');
    }
    expect(await indexes(orgId)).toEqual(upTo(8));
    expect(await indexes(`${orgId}b`)).toEqual(upTo(9));
  });

  it('a fault in the state of a log halts that log alone, and loses nothing of it', async () => {
    await submitReceipts(receipts, makeReceipts(orgId, 3));
    await integrateAll(ledger);
    // The head forgets an entry: the next one would take its index.
    await tamper(
      database.pool,
      `update ledger_head set size = 2, frontier = substring(frontier from 1 for 32) where org_id = $1`,
      [orgId],
    );
    await submitReceipts(receipts, [...makeReceipts(orgId, 4), ...makeReceipts(`${orgId}b`, 4)]);
    const { halted, quarantined } = await integrateBatch(ledger, 100);
    expect(halted).toMatchObject([{ orgId }]);
    expect(quarantined).toEqual([]);
    expect(await indexes(`${orgId}b`)).toEqual(upTo(4));
    expect(await integrateBatch(ledger, 100)).toMatchObject({ claimed: 0 });
    const { rows } = await database.pool.query<{ count: string }>(
      'select count(*) from receipt_pending where org_id = $1',
      [orgId],
    );
    expect(rows[0]!.count).toBe('4');
    await tamper(database.pool, 'delete from receipt_pending where org_id = $1', [orgId]);
  });

  it('a stored frontier that makes no sense halts the log before anything is appended', async () => {
    await submitReceipts(receipts, makeReceipts(orgId, 3));
    await integrateAll(ledger);
    await tamper(database.pool, `update ledger_head set frontier = '\\x00' where org_id = $1`, [
      orgId,
    ]);
    await submitReceipts(receipts, makeReceipts(orgId, 1));
    expect((await integrateBatch(ledger, 100)).halted).toMatchObject([{ orgId }]);
    await tamper(database.pool, 'delete from receipt_pending where org_id = $1', [orgId]);
  });
});
