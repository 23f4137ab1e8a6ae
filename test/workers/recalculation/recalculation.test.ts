import { hash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { examineLedger } from '#cli/fsck/ledger.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { createRecalculationRequests } from '#shared/receipts/postgres/recalculation-requests.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createRevisionStore } from '#shared/receipts/postgres/revisions.ts';
import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import { ATTEMPTS_MAX, recalculate } from '#workers/recalculation/recalculate.ts';
import { Sweep } from '#workers/recalculation/sweep.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  catalogue,
  commitReceipts,
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  mendedCatalogue,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';
import { integrateAll } from '#test/support/ledger.ts';
import { recalculateDeps, seenEvents, type SeenEvents } from '#test/support/recalculating.ts';

const database = await createTestDatabase();
const { signer, keys } = makeReceiptSigner();
const unsized = (more = {}) => inferenceRecord({ model: UNSIZED, upstreamModel: UNSIZED, ...more });

let events: SeenEvents;
beforeEach(() => {
  events = seenEvents();
});

const pools = () => receiptPools(database, 2);
const depsWith = (of: Catalogue) =>
  recalculateDeps(database.poolAs('docket_recalculation'), signer, of, { events });
const issue = (...records: ReturnType<typeof unsized>[]) => issueReceipts(pools(), signer, records);
const reader = () => createLedgerReader(database.poolAs('docket_api', 2));
const documentOf = async (id: string, orgId = 'org_a'): Promise<ReceiptDocument> =>
  JSON.parse(Buffer.from((await reader().receipt(orgId, id))!.body).toString()) as ReceiptDocument;
const rowOf = async (id: string) => {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    'select *, due_at > now() as waits from recalculation where receipt_id = $1',
    [id],
  );
  return rows[0];
};
const makeDue = () => database.pool.query('update recalculation set due_at = now()');

describe('what is owed to a degraded receipt', () => {
  it('what is owed to a degraded receipt is written by the statement that commits the receipt, and only there', async () => {
    const [degraded, whole] = await commitReceipts(pools().receipts, signer, [
      unsized(),
      inferenceRecord(),
    ]);
    expect(await rowOf(degraded!)).toMatchObject({
      org_id: 'org_a',
      state: 'pending',
      attempts: 0,
    });
    expect(await rowOf(whole!)).toBeUndefined();
  });

  it('a recalculation is not due before the receipt is in its log, because a revision names the leaf it revises', async () => {
    const [id] = await commitReceipts(pools().receipts, signer, [unsized()]);
    const deps = depsWith(mendedCatalogue());
    const store = createRevisionStore(database.poolAs('docket_recalculation', 1));
    expect(await store.due(100)).not.toContain(id);
    expect(await recalculate(deps, id!)).toBe('settled');
    await integrateAll(pools().ledger);
    expect(await store.due(100)).toContain(id);
    expect(await recalculate(deps, id!)).toBe('recalculated');
    expect(await rowOf(id!)).toBeUndefined();
  });
});

describe('a recalculated receipt', () => {
  it('a recalculated receipt is a new, signed one that revises the exact bytes of the old, which stays as it was', async () => {
    const [id] = await issue(unsized({ tier: 'audit_plus' }));
    const before = await reader().receipt('org_a', id!);
    const { index } = (await reader().entry('org_a', id!))!;
    expect(await recalculate(depsWith(mendedCatalogue()), id!)).toBe('recalculated');
    const [row] = events.rows;
    expect(row).toMatchObject({
      kind: 'recalculated',
      supersedes: id,
      tier: 'audit_plus',
      keyId: 'key_a',
    });
    expect(verifyReceipt(Buffer.from(row!.text), keys, Date.now())).toMatchObject({ code: 'good' });
    const original = await documentOf(id!);
    const revised = await documentOf(row!.receiptId);
    expect(revised).toMatchObject({
      tier: 'audit_plus',
      type: ['VerifiableCredential', 'InferenceReceipt', 'RecalculatedReceipt'],
      credentialSubject: original.credentialSubject,
      measurement: { dataQuality: 'T3' },
      revisionNumber: 1,
      revisionReason: 'methodology_failed',
      wasRevisionOf: { id: original.id, leafIndex: index },
    });
    const digest = hash('sha256', before!.body, 'hex');
    expect(Buffer.from(revised.wasRevisionOf!.digest.slice(1), 'base64url').toString('hex')).toBe(
      `1220${digest}`,
    );
    expect(await reader().receipt('org_a', id!)).toEqual(before);
    await integrateAll(pools().ledger);
    expect(await reader().revisions('org_a', row!.receiptId)).toEqual([id, row!.receiptId]);
    expect(await reader().entry('org_a', row!.receiptId)).toMatchObject({
      kind: 'recalculated',
      supersedes: id,
    });
  });

  it('a recalculated receipt rests on the energy that the upstream stated at the time', async () => {
    const usage = { ...unsized().usage, statedJoules: 36 };
    const [id] = await issue(unsized({ usage }));
    await recalculate(depsWith(mendedCatalogue({ activeB: 8, totalB: 8 })), id!);
    const revised = await documentOf(events.rows[0]!.receiptId);
    expect(revised.measurement).toMatchObject({ dataQuality: 'TS' });
    expect(revised.credentialSubject.statedJoules).toBe('36');
  });

  it('a receipt is recalculated once when many try at the same time, and the ledger keeps moving', async () => {
    const [id] = await issue(unsized());
    const deps = depsWith(mendedCatalogue());
    const outcomes = await Promise.all(Array.from({ length: 12 }, () => recalculate(deps, id!)));
    expect(outcomes.filter((outcome) => outcome === 'recalculated')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'settled')).toHaveLength(11);
    expect(await integrateAll(pools().ledger)).toEqual({ quarantined: [], halted: [] });
    expect(await reader().revisions('org_a', id!)).toEqual([id, events.rows[0]!.receiptId]);
    expect(await recalculate(deps, id!)).toBe('settled');
  });

  it('fsck finds nothing wrong in a ledger with recalculated receipts', async () => {
    await integrateAll(pools().ledger);
    for await (const found of examineLedger(database.poolAs('docket_operator', 1), {
      signatures: null,
    }))
      expect(found.severity).not.toBe('damage');
  });
});

describe('a methodology that fails again', () => {
  it('a recalculation that fails is tried again after ever longer waits, then left to a person', async () => {
    const [id] = await issue(unsized());
    const deps = depsWith(catalogue);
    for (let attempt = 1; attempt < ATTEMPTS_MAX; attempt += 1) {
      expect(await recalculate(deps, id!)).toBe('failed');
      expect(await rowOf(id!)).toMatchObject({
        state: 'pending',
        attempts: attempt,
        waits: true,
        stage: 'model',
        code: 'model_size_unknown',
      });
      // The same job delivered twice is no further attempt.
      expect(await recalculate(deps, id!)).toBe('settled');
      await makeDue();
    }
    expect(await recalculate(deps, id!)).toBe('parked');
    await makeDue();
    expect(await recalculate(deps, id!)).toBe('settled');
    const waits = events.failures.map(({ retryInMs }) => retryInMs);
    expect(waits).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 480_000, 960_000]);
    expect(events.parkings).toMatchObject([
      { receiptId: id, attempts: ATTEMPTS_MAX, retryInMs: null },
    ]);
    const operator = createRecalculationRequests(
      database.poolAs('docket_operator', 1),
      systemSurroundings,
    );
    expect(await operator.waiting({ state: 'parked', limit: 10 })).toMatchObject([
      {
        receiptId: id,
        orgId: 'org_a',
        attempts: ATTEMPTS_MAX,
        code: 'model_size_unknown',
      },
    ]);
  });

  it('a receipt that cannot be read fails by itself and does not stop the others', async () => {
    const [id] = await issue(unsized());
    const broken = { ...depsWith(mendedCatalogue()), store: { ...depsWith(catalogue).store } };
    const owed = await broken.store.owed(id!);
    broken.store.owed = async () => ({ ...owed!, bytes: Buffer.from('{}') });
    expect(await recalculate(broken, id!)).toBe('failed');
    expect(events.failures).toMatchObject([{ stage: 'input', code: 'receipt_unusable' }]);
  });

  it('a database that cannot be reached counts as no attempt', async () => {
    const [id] = await issue(unsized());
    const deps = depsWith(mendedCatalogue());
    const away = {
      ...deps,
      store: { ...deps.store, commit: () => Promise.reject(new Error('away')) },
    };
    await expect(recalculate(away, id!)).rejects.toThrow('away');
    expect(await rowOf(id!)).toMatchObject({ attempts: 0, failed_at: null });
  });
});

describe('the sweep', () => {
  const sweepWith = (of: Catalogue) => {
    const added: string[] = [];
    const pool = database.poolAs('docket_recalculation', 2);
    const sweep = new Sweep({
      revisions: createRevisionStore(pool),
      restatements: { unfinished: async () => [] },
      addRecalculation: async (id) => void added.push(id),
      addRestatement: async () => {},
      basis: depsWith(of).basis,
      events,
    });
    return { sweep, added };
  };

  it('the sweep hands out what is due, and again for as long as it is, because a queue may be lost', async () => {
    const [id] = await issue(unsized());
    const { sweep, added } = sweepWith(catalogue);
    await sweep.run(AbortSignal.timeout(60_000));
    await sweep.run(AbortSignal.timeout(60_000));
    expect(added.filter((each) => each === id)).toHaveLength(2);
  });

  it('the sweep makes what failed on another catalogue due again, parked or not, and only once', async () => {
    const [waiting, parked] = await issue(unsized(), unsized());
    for (const id of [waiting!, parked!]) await recalculate(depsWith(catalogue), id);
    await database.pool.query(
      `update recalculation set state = 'parked', attempts = 8 where receipt_id = $1`,
      [parked],
    );
    const same = sweepWith(catalogue);
    await same.sweep.run(AbortSignal.timeout(60_000));
    expect(same.added).not.toContain(parked);
    const mended = sweepWith(mendedCatalogue());
    await mended.sweep.run(AbortSignal.timeout(60_000));
    expect(mended.added).toEqual(expect.arrayContaining([waiting, parked]));
    expect(await rowOf(parked!)).toMatchObject({ state: 'pending', attempts: 0 });
    await recalculate(depsWith(catalogue), parked!);
    await mended.sweep.run(AbortSignal.timeout(60_000));
    expect(await rowOf(parked!)).toMatchObject({ attempts: 1, waits: true });
  });
});
