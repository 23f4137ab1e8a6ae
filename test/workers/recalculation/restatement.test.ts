import { beforeEach, describe, expect, it } from 'vitest';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { createRecalculationRequests } from '#shared/receipts/postgres/recalculation-requests.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createRestatementStore } from '#shared/receipts/postgres/revisions.ts';
import { createMethodology } from '#shared/methodology/docket-1.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { restate, type RestateDeps } from '#workers/recalculation/restate.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  commitReceipts,
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  methodology,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';
import { integrateAll } from '#test/support/ledger.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { revisionDeps, seenEvents, type SeenEvents } from '#test/support/recalculating.ts';

/** What a next release might bring: the same formulas over corrected grid factors. */
function nextMethodology(): Methodology {
  const set = newestFactorSet();
  const grid = set.grid.map((record) => ({
    ...record,
    gwp_kgco2e_per_kwh: record.gwp_kgco2e_per_kwh * 2,
  }));
  return createMethodology({ ...set, version: '2099-01', grid });
}

const database = await createTestDatabase();
const { signer, keys } = makeReceiptSigner();
const next = nextMethodology();
let events: SeenEvents;
let orgId: string;
beforeEach(() => {
  events = seenEvents();
  orgId = newId('org');
});

const pools = () => receiptPools(database, 2);
const record = (more = {}) => inferenceRecord({ orgId, ...more });
const issue = (...records: ReturnType<typeof record>[]) => issueReceipts(pools(), signer, records);
const deps = (more: Partial<RestateDeps> = {}): RestateDeps => {
  const pool = database.poolAs('docket_recalculation', 2);
  return {
    ...revisionDeps(pool, () => signer),
    methodology: next,
    events,
    ...more,
  };
};
const operator = () =>
  createRecalculationRequests(database.poolAs('docket_operator', 1), systemSurroundings);
const reader = () => createLedgerReader(database.poolAs('docket_api', 2));
/** Asks for a run in a second of its own: what was issued before the request is in it. */
const request = async () => {
  await operator().requestSince(orgId, 0, { actor: { kind: 'operator', id: 'test' } });
  await database.pool.query(
    `update restatement set end_id = receipt_id_at(now() + interval '1 second')`,
  );
};
const run = (more: Partial<RestateDeps> = {}) =>
  restate(deps(more), orgId, AbortSignal.timeout(60_000));
const documentOf = async (id: string): Promise<ReceiptDocument> =>
  JSON.parse(Buffer.from((await reader().receipt(orgId, id))!.body).toString()) as ReceiptDocument;

describe('a newer methodology', () => {
  it('a newer methodology restates each receipt that stands, from what the receipt itself carries', async () => {
    const [id] = await issue(record({ usage: { ...record().usage, statedJoules: 7 } }));
    const before = await reader().receipt(orgId, id!);
    await request();
    await run();
    const [row] = events.rows;
    expect(row).toMatchObject({ kind: 'restated', supersedes: id, tier: 'enterprise' });
    expect(verifyReceipt(Buffer.from(row!.text), keys, Date.now())).toMatchObject({ code: 'good' });
    const [old, restated] = [await documentOf(id!), await documentOf(row!.receiptId)];
    expect(restated).toMatchObject({
      credentialSubject: old.credentialSubject,
      revisionNumber: 1,
      wasRevisionOf: { id: old.id },
      revisionReason: 'new_methodology',
      measurement: { dataQuality: 'TS' },
    });
    const gwp = (document: ReceiptDocument) => Number(document.measurement!.result[1]!.value);
    expect(gwp(restated)).toBeGreaterThan(gwp(old));
    expect(restated.measurement!.result[0]).toEqual(old.measurement!.result[0]);
    expect(await reader().receipt(orgId, id!)).toEqual(before);
  });

  it('restating leaves alone what the same methodology computed, what was refused, and what is degraded', async () => {
    await issue(record({ model: UNSIZED, upstreamModel: UNSIZED }), record());
    await request();
    await run({ methodology });
    expect(events.rows).toEqual([]);
    expect(await operator().restatement(orgId)).toMatchObject({
      examined: 1,
      restated: 0,
      skipped: 0,
      finishedAt: expect.any(Number) as number,
    });
  });

  it('a restatement can be restated by the next methodology: a chain, with one current member', async () => {
    const [id] = await issue(record());
    await request();
    await run();
    await integrateAll(pools().ledger);
    await request();
    await run({ methodology });
    await integrateAll(pools().ledger);
    const [first, second] = events.rows;
    expect(second).toMatchObject({ supersedes: first!.receiptId });
    expect(await documentOf(second!.receiptId)).toMatchObject({ revisionNumber: 2 });
    expect(await reader().revisions(orgId, first!.receiptId)).toEqual([
      id,
      first!.receiptId,
      second!.receiptId,
    ]);
    const { rows } = await database.pool.query<{ first_id: string }>(
      'select distinct first_id from receipt_revision where org_id = $1',
      [orgId],
    );
    expect(rows).toEqual([{ first_id: id }]);
  });

  it('restating skips and counts what is not in the ledger and what gets no estimate', async () => {
    await issue(record({ usage: { ...record().usage, inputTokens: 5, cachedInputTokens: 0 } }));
    await commitReceipts(pools().receipts, signer, [record()]);
    await request();
    const failing: Methodology = {
      ...next,
      estimate: (input) => next.estimate({ ...input, zone: 'nowhere' }),
    };
    await run({ methodology: failing });
    expect(events.rows).toEqual([]);
    expect(events.skipped).toHaveLength(1);
    expect(await operator().restatement(orgId)).toMatchObject({ examined: 2, skipped: 2 });
  });
});

describe('a run', () => {
  const many = (count: number) => issue(...Array.from({ length: count }, () => record()));

  it('a run of restating goes on where it was when its process died, and restates nothing twice', async () => {
    const ids = await many(600);
    await request();
    const real = deps();
    let pages = 0;
    const dying: RestateDeps['restatements'] = {
      page: real.restatements.page,
      derivations: real.restatements.derivations,
      advance: async (...args) => {
        pages += 1;
        // The second page is committed, and that is not written down.
        if (pages === 2) throw new Error('killed');
        await real.restatements.advance(...args);
      },
    };
    await expect(run({ restatements: dying })).rejects.toThrow('killed');
    expect(await operator().restatement(orgId)).toMatchObject({
      examined: 256,
      restated: 256,
    });
    await run();
    expect(events.rows).toHaveLength(600);
    expect(new Set(events.rows.map(({ supersedes }) => supersedes))).toEqual(new Set(ids));
    expect((await operator().restatement(orgId))!.finishedAt).not.toBeNull();
  });

  it('a run of restating that two processes work on at once restates each receipt once', async () => {
    await many(300);
    await request();
    await Promise.all([run(), run(), run()]);
    expect(events.rows).toHaveLength(300);
    const { rows } = await database.pool.query('select from receipt_revision where org_id = $1', [
      orgId,
    ]);
    expect(rows).toHaveLength(300);
    expect(await integrateAll(pools().ledger)).toEqual({ quarantined: [], halted: [] });
  });

  it('a run of restating stops when its process is told to, and can be gone on with', async () => {
    await many(3);
    await request();
    await restate(deps(), orgId, AbortSignal.abort());
    expect(
      await createRestatementStore(database.poolAs('docket_recalculation', 1)).unfinished(),
    ).toContain(orgId);
  });
});
