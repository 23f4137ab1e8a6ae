import { beforeAll, describe, expect, it } from 'vitest';
import { createRevisionStore } from '#shared/receipts/postgres/revisions.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { UsageFigures, UsageGrouping } from '#shared/receipts/usage.ts';
import { recalculate } from '#workers/recalculation/recalculate.ts';
import { revise } from '#workers/recalculation/revise.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  commitReceipts,
  inferenceRecord,
  issuer,
  makeReceiptSigner,
  mendedCatalogue,
  methodology,
  UNSIZED,
} from '#test/support/issuing.ts';
import { integrateAll } from '#test/support/ledger.ts';
import { recalculateDeps } from '#test/support/recalculating.ts';
import { estimateInput } from '#shared/methodology/estimate-input.ts';

const database = await createTestDatabase();
const { signer } = makeReceiptSigner();
const DAY = 86_400_000;
const NOON = Date.UTC(2026, 10, 18, 12);
const reader = createUsageReader(database.poolAs('docket_api', 1));

const at = (time: number, more: Partial<InferenceRecord> = {}): InferenceRecord =>
  inferenceRecord({
    requestId: newId('req', time),
    startedAt: time,
    endedAt: time + 900,
    ...more,
  });
const usage = (groupBy: UsageGrouping, from = NOON - 3 * DAY, to = NOON + 3 * DAY, org = 'org_a') =>
  reader.usage({ orgId: org, from, to, groupBy });
const totals = (groups: readonly UsageFigures[]) => ({
  requests: groups.reduce((sum, { requests }) => sum + requests, 0),
  covered: groups.reduce((sum, { covered }) => sum + covered, 0),
  uncovered: groups.reduce((sum, { uncovered }) => sum + uncovered, 0),
  refused: groups.reduce((sum, { refused }) => sum + refused, 0),
  energy: groups.reduce((sum, { energy }) => sum + energy, 0),
});
const energyOf = async (id: string): Promise<number> => {
  const { rows } = await database.pool.query<{ body: Buffer }>(
    'select body from ledger_body where entry_id = $1',
    [id],
  );
  const document = JSON.parse(rows[0]!.body.toString()) as ReceiptDocument;
  return Number(document.measurement!.result[0]!.value);
};

let whole: string[];
let degraded: string;

beforeAll(async () => {
  const { responseDigest: _, ...answered } = at(NOON);
  const refused: InferenceRecord = {
    ...answered,
    outcome: 'refused',
    policy: { version: '2026-11-01', rule: 'a' },
  };
  const receipts = database.poolAs('docket_receipts', 1);
  whole = await commitReceipts(receipts, signer, [
    at(NOON - DAY),
    at(NOON, { keyId: 'key_b', region: 'us-east' }),
    at(NOON + 1, { model: 'llama-3.3-70b' }),
    // The last millisecond of a day, and the first of the next.
    at(NOON + DAY / 2 - 1),
    at(NOON + DAY / 2),
  ]);
  [degraded = ''] = await commitReceipts(receipts, signer, [
    at(NOON + 2, { model: UNSIZED }),
    at(NOON + 3, { model: UNSIZED, keyId: 'key_b' }),
  ]);
  await commitReceipts(receipts, signer, [refused, at(NOON, { orgId: 'org_b' })]);
  await integrateAll(database.poolAs('docket_ledger', 1));
});

describe('what an organisation has used', () => {
  it('usage is counted by day in UTC, each request once', async () => {
    const groups = await usage('day');
    expect(groups.map(({ group, requests }) => [group, requests])).toEqual([
      ['2026-11-17', 1],
      ['2026-11-18', 6],
      ['2026-11-19', 1],
    ]);
    expect(groups[1]).toMatchObject({ covered: 3, uncovered: 2, refused: 1, inputTokens: 455 });
  });

  it.each<[UsageGrouping, string[]]>([
    ['model', ['llama-3.1-8b', 'llama-3.3-70b', UNSIZED]],
    ['region', ['eu-west', 'us-east']],
    ['key', ['key_a', 'key_b']],
  ])('usage is the same in total by %s', async (groupBy, names) => {
    const groups = await usage(groupBy);
    expect(groups.map(({ group }) => group)).toEqual(names);
    const { energy, ...counts } = totals(groups);
    expect(counts).toEqual({ requests: 8, covered: 5, uncovered: 2, refused: 1 });
    const stated = (await Promise.all(whole.map(energyOf))).reduce((a, b) => a + b, 0);
    expect(energy / stated).toBeCloseTo(1, 9);
  });

  it('usage is that of the period alone, its start included and its end not', async () => {
    expect(totals(await usage('model', NOON, NOON + 1))).toMatchObject({ requests: 2 });
    expect(totals(await usage('model', NOON + 1, NOON + 2))).toMatchObject({ requests: 1 });
    expect(await usage('day', NOON + 5 * DAY, NOON + 6 * DAY)).toEqual([]);
  });

  it('the usage of an organisation holds nothing of others', async () => {
    expect(totals(await usage('day', NOON - DAY, NOON + DAY, 'org_b'))).toMatchObject({
      requests: 1,
    });
    expect(await usage('day', NOON - DAY, NOON + DAY, 'org_c')).toEqual([]);
  });
});

describe('a request whose receipt was revised', () => {
  it('a revised request is counted once, on its own day, with the footprint of the receipt that stands', async () => {
    const before = totals(await usage('day'));
    const worker = recalculateDeps(
      database.poolAs('docket_recalculation', 1),
      signer,
      mendedCatalogue(),
    );
    expect(await recalculate(worker, degraded)).toBe('recalculated');
    const { rows } = await database.pool.query<{ revision_id: string }>(
      'select revision_id from receipt_revision where original_id = $1',
      [degraded],
    );
    const added = await energyOf(rows[0]!.revision_id);
    for (const groupBy of ['day', 'model', 'region', 'key'] as const) {
      const { energy, ...counts } = totals(await usage(groupBy));
      expect(counts).toEqual({ requests: 8, covered: 6, uncovered: 1, refused: 1 });
      expect(energy / (before.energy + added)).toBeCloseTo(1, 9);
    }
    // Its recalculation is of today, and no request of today.
    expect(await usage('day', Date.now() - DAY, Date.now() + DAY)).toEqual([]);
  });

  it('a request that was revised twice has the footprint of the second revision', async () => {
    await integrateAll(database.poolAs('docket_ledger', 1));
    const pool = database.poolAs('docket_recalculation', 1);
    let current = whole[0]!;
    const before = totals(await usage('day'));
    const old = await energyOf(current);
    let newest = 0;
    for (const outputTokens of [100, 1_000]) {
      const { rows } = await database.pool.query<{ body: Buffer; index: string }>(
        `select b.body, e.index from ledger_body b join ledger_entry e using (entry_id) where b.entry_id = $1`,
        [current],
      );
      const record = at(NOON - DAY, { usage: { ...at(NOON).usage, outputTokens } });
      const measurement = methodology.estimate(estimateInput(mendedCatalogue(), record));
      const row = revise(
        { issuer, signer: () => signer, now: Date.now, newReceiptId: (ms) => newId('rcpt', ms) },
        {
          original: {
            receiptId: current,
            orgId: 'org_a',
            keyId: 'key_a',
            leafIndex: Number(rows[0]!.index),
            bytes: rows[0]!.body,
          },
          document: JSON.parse(rows[0]!.body.toString()) as ReceiptDocument,
          record,
          measurement,
          gridZone: 'FRA',
          kind: 'restated',
          reason: 'A test.',
        },
      );
      expect(await createRevisionStore(pool).commit([row])).toContain(row.receiptId);
      await integrateAll(database.poolAs('docket_ledger', 1));
      current = row.receiptId;
      newest = await energyOf(current);
    }
    const { energy, ...counts } = totals(await usage('day'));
    expect(counts).toEqual({ requests: 8, covered: 6, uncovered: 1, refused: 1 });
    expect(energy / (before.energy - old + newest)).toBeCloseTo(1, 9);
  });
});
