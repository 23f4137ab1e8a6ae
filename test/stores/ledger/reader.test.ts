import { beforeAll, describe, expect, it } from 'vitest';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { parseTilePath } from '#shared/ledger/tiles.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  integrateAll,
  leafOf,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipt,
  originOf,
  submitReceipts,
  type SubmittedReceipt,
} from '#test/support/ledger.ts';
import { referenceTile } from '#test/unit/ledger/reference-tree.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts');
const ledger = database.poolAs('docket_ledger');
const reader = createLedgerReader(database.poolAs('docket_api'));
const MODELS = ['llama', 'mistral', 'qwen'];
const own: SubmittedReceipt[] = [];

beforeAll(async () => {
  for (let i = 0; i < 700; i += 1) {
    own.push(
      makeReceipt('org_a', {
        model: MODELS[i % 3]!,
        region: i % 2 === 0 ? 'eu-west' : 'eu-north',
        tier: i % 100 === 7 ? 'degraded' : 'audit',
        kind: i % 100 === 7 ? 'degraded' : 'inference',
      }),
    );
  }
  own.sort((a, b) => (a.id < b.id ? -1 : 1));
  await submitReceipts(receipts, own);
  await submitReceipts(receipts, [makeReceipt('org_b')]);
  await integrateAll(ledger);
  const memory = makeCheckpointMemory();
  const signer = makeCheckpointSigner();
  await publishCheckpoints(ledger, { signer, memory, originOf, limit: 10, intervalMs: 0 });
});

const tile = (path: string, orgId = 'org_a'): Promise<Uint8Array | null> =>
  reader.tile(orgId, parseTilePath(path)!);

describe('tiles', () => {
  it.each(['0/000', '0/001', '0/002.p/188', '0/002.p/1', '0/000.p/7', '1/000.p/2', '1/000.p/1'])(
    '%s is what C2SP tlog-tiles defines',
    async (path) => {
      const leaves = own.map((receipt) => leafOf(receipt.body));
      const { level, index, width } = parseTilePath(path) as {
        level: number;
        index: number;
        width: number;
      };
      const expected = referenceTile(level, index, leaves).subarray(0, width * 32);
      expect(Buffer.from((await tile(path))!).equals(expected)).toBe(true);
    },
  );

  it.each([
    '0/002',
    '0/002.p/189',
    '0/003.p/1',
    '1/000',
    '1/000.p/3',
    '2/000.p/1',
    'entries/002',
    'entries/003.p/1',
  ])('the tile %s is not given out, because no checkpoint covers it', async (path) => {
    expect(await tile(path)).toBeNull();
  });

  it('a bundle of entries holds their exact bytes', async () => {
    const bundle = Buffer.from((await tile('entries/002.p/188'))!);
    let at = 0;
    for (const receipt of own.slice(512)) {
      const length = bundle.readUInt16BE(at);
      expect(bundle.subarray(at + 2, at + 2 + length).equals(receipt.body)).toBe(true);
      at += 2 + length;
    }
    expect(at).toBe(bundle.length);
  });
});

describe('lists', () => {
  it.each(['asc', 'desc'] as const)('pages of entries have no gap (%s)', async (order) => {
    const seen: number[] = [];
    for (let after: string | undefined; ;) {
      const cursor = after === undefined ? {} : { after };
      const page = await reader.listEntries({ orgId: 'org_a', limit: 99, order, ...cursor });
      seen.push(...page.items.map((entry) => entry.index));
      after = page.items.at(-1)?.receiptId;
      if (!page.hasMore) break;
    }
    const all = Array.from({ length: 700 }, (_, i) => i);
    expect(seen).toEqual(order === 'asc' ? all : all.toReversed());
  });

  it('entries can be listed by kind and by the time of their integration', async () => {
    const degraded = await reader.listEntries({
      orgId: 'org_a',
      limit: 100,
      order: 'asc',
      kind: 'degraded',
    });
    expect(degraded.items.map((entry) => entry.receiptId)).toEqual(
      own.filter((receipt) => receipt.kind === 'degraded').map((receipt) => receipt.id),
    );
    const first = (await reader.entry('org_a', own[0]!.id))!.integratedAt;
    const last = (await reader.entry('org_a', own[699]!.id))!.integratedAt;
    const list = (from: number, to: number) =>
      reader.listEntries({ orgId: 'org_a', limit: 1, order: 'asc', from, to });
    expect((await list(first, last + 1)).items[0]!.index).toBe(0);
    expect((await list(last + 1, last + 2)).items).toEqual([]);
    expect((await list(0, first)).items).toEqual([]);
  });

  it.each(['asc', 'desc'] as const)(
    'pages of receipts hold what meets every filter (%s)',
    async (order) => {
      const wanted = own.filter(
        (each) => each.model === 'llama' && each.region === 'eu-north' && each.tier === 'audit',
      );
      const seen: string[] = [];
      for (let after: string | undefined; ;) {
        const cursor = after === undefined ? {} : { after };
        const filter = { model: 'llama', region: 'eu-north', tier: 'audit' };
        const page = await reader.listReceipts({
          orgId: 'org_a',
          limit: 20,
          order,
          ...filter,
          ...cursor,
        });
        seen.push(...page.items.map((receipt) => receipt.id));
        after = page.items.at(-1)?.id;
        if (!page.hasMore) break;
      }
      const ids = wanted.map((each) => each.id);
      expect(seen).toEqual(order === 'asc' ? ids : ids.toReversed());
    },
  );

  it('receipts can be listed by the time of their request, with their exact bytes', async () => {
    const from = timeOfId(own[300]!.id);
    const to = timeOfId(own[500]!.id);
    const wanted = own.filter(({ id }) => timeOfId(id) >= from && timeOfId(id) < to);
    const page = await reader.listReceipts({
      orgId: 'org_a',
      limit: 1_000,
      order: 'asc',
      from,
      to,
    });
    expect(page.items.map((each) => each.id)).toEqual(wanted.map((each) => each.id));
    expect(page.items.every((each, i) => wanted[i]!.body.equals(each.body))).toBe(true);
  });

  it('a list refuses to continue after an item that it does not have', async () => {
    const page = { orgId: 'org_b', limit: 5, order: 'asc', after: own[0]!.id } as const;
    await expect(reader.listEntries(page)).rejects.toMatchObject({ code: 'invalid_after' });
    await expect(reader.listReceipts(page)).rejects.toMatchObject({ code: 'invalid_after' });
  });
});

describe('proofs', () => {
  it('a receipt has no proof before a checkpoint covers it [codes.proof_not_ready]', async () => {
    const late = makeReceipt('org_late');
    await submitReceipts(receipts, [late]);
    expect(await reader.proof('org_late', late.id)).toBeNull();
    await integrateAll(ledger);
    expect(await reader.proof('org_late', late.id)).toBeNull();
    expect(await reader.entry('org_late', late.id)).toMatchObject({ index: 0 });
    expect((await reader.receipt('org_late', late.id))!.id).toBe(late.id);
  });

  it('consistency can be proved only between trees that were published', async () => {
    expect(await reader.consistency('org_a', 10, 701)).toBeNull();
    expect(await reader.consistency('org_a', 10, 5)).toBeNull();
    expect(await reader.consistency('org_a', 700, 700)).toEqual([]);
    expect(await reader.consistency('org_nobody', 0, 1)).toBeNull();
  });
});

describe('revisions', () => {
  const revise = (
    original: SubmittedReceipt,
    revision: SubmittedReceipt,
    orgId = original.orgId,
  ): Promise<unknown> =>
    database
      .poolAs('docket_recalculation', 1)
      .query(
        'insert into receipt_revision (original_id, revision_id, org_id) values ($1, $2, $3)',
        [original.id, revision.id, orgId],
      );

  it('any receipt of a chain leads to the whole chain; each has one successor', async () => {
    const chain = [makeReceipt('org_a'), makeReceipt('org_a'), makeReceipt('org_a')];
    await submitReceipts(receipts, chain);
    await revise(chain[0]!, chain[1]!);
    await revise(chain[1]!, chain[2]!);
    const ids = chain.map((receipt) => receipt.id);
    for (const id of ids) expect(await reader.revisions('org_a', id)).toEqual(ids);
    expect(await reader.successor('org_a', ids[0]!)).toBe(ids[1]);
    expect(await reader.successor('org_a', ids[2]!)).toBeNull();
    await expect(revise(chain[0]!, chain[2]!)).rejects.toMatchObject({ code: '23505' });
    expect(await reader.revisions('org_b', ids[0]!)).toEqual([]);
  });

  it('chains of revisions stay within their organisation [accounts.other-organisations]', async () => {
    const [mine, theirs] = [makeReceipt('org_a'), makeReceipt('org_b')];
    await submitReceipts(receipts, [mine, theirs]);
    await expect(revise(theirs, mine, 'org_a')).rejects.toMatchObject({ code: '23503' });
  });
});

describe('organisation B', () => {
  it('an organisation sees nothing of the log of another', async () => {
    const id = own[0]!.id;
    expect(await reader.entry('org_b', id)).toBeNull();
    expect(await reader.receipt('org_b', id)).toBeNull();
    expect(await reader.proof('org_b', id)).toBeNull();
    expect(await reader.successor('org_b', id)).toBeNull();
    expect(await reader.revisions('org_b', id)).toEqual([]);
    expect(await tile('0/000', 'org_b')).toBeNull();
    const receiptsOfB = await reader.listReceipts({ orgId: 'org_b', limit: 100, order: 'asc' });
    const known = new Set(own.map((receipt) => receipt.id));
    expect(receiptsOfB.items.some((receipt) => known.has(receipt.id))).toBe(false);
    expect(
      (await reader.listEntries({ orgId: 'org_b', limit: 100, order: 'asc' })).items,
    ).toHaveLength(1);
  });
});
