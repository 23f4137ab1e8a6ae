import { beforeEach, describe, expect, it } from 'vitest';
import { createRecalculationRequests } from '#shared/receipts/postgres/recalculation-requests.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import { recalculate } from '#workers/recalculation/recalculate.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  catalogue,
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  mendedCatalogue,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';
import { recalculateDeps, seenEvents, type SeenEvents } from '#test/support/recalculating.ts';

const database = await createTestDatabase();
const { signer } = makeReceiptSigner();
const unsized = (more = {}) => inferenceRecord({ model: UNSIZED, upstreamModel: UNSIZED, ...more });

let events: SeenEvents;
beforeEach(() => {
  events = seenEvents();
});

const issue = (...records: ReturnType<typeof unsized>[]) =>
  issueReceipts(receiptPools(database, 2), signer, records);
const depsWith = (of: Catalogue) =>
  recalculateDeps(database.poolAs('docket_recalculation'), signer, of, { events });
const requests = () =>
  createRecalculationRequests(database.poolAs('docket_api', 2), systemSurroundings);
/** A key of the organisation, which says why. */
const BY = {
  actor: { kind: 'key' as const, id: 'key_a', address: '192.0.2.7' },
  reason: 'size is known',
};
const rowOf = async (id: string) => {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    'select *, due_at > now() as waits from recalculation where receipt_id = $1',
    [id],
  );
  return rows[0];
};

describe('a caller who flags a receipt', () => {
  it('a flagged receipt is tried now, once, whether it waits or was given up', async () => {
    const [id] = await issue(unsized());
    await recalculate(depsWith(catalogue), id!);
    await database.pool.query(
      `update recalculation set state = 'parked', attempts = 8 where receipt_id = $1`,
      [id],
    );
    expect(await requests().flag('org_a', id!, BY)).toBe('flagged');
    expect(await rowOf(id!)).toMatchObject({ state: 'pending', attempts: 0, waits: false });
    expect(await requests().flag('org_a', id!, BY)).toBe('pending');
    expect(await recalculate(depsWith(catalogue), id!)).toBe('failed');
    expect(await requests().flag('org_a', id!, BY)).toBe('flagged');
  });

  it('leaves who asked and why in the audit log, once, and the reason on the revision', async () => {
    const orgId = 'org_asks';
    const [id] = await issue(unsized({ orgId }));
    expect(await requests().flag(orgId, id!, BY)).toBe('flagged');
    expect(await requests().flag(orgId, id!, { ...BY, reason: 'again' })).toBe('pending');
    const { rows } = await database.pool.query(
      'select action, actor_kind, actor_id, address, subject, reason from audit_log where org_id = $1',
      [orgId],
    );
    expect(rows).toEqual([
      {
        action: 'receipt.recalculation_requested',
        actor_kind: 'key',
        actor_id: 'key_a',
        address: '192.0.2.7',
        subject: id,
        reason: 'size is known',
      },
    ]);
    expect(await recalculate(depsWith(mendedCatalogue()), id!)).toBe('recalculated');
    expect(JSON.parse(events.rows[0]!.text)).toMatchObject({
      revisionReason: 'methodology_failed',
      revisionNote: 'size is known',
    });
  });

  it('a flag is refused for receipts of others, whole ones, and those that were recalculated', async () => {
    const [degraded, whole] = await issue(unsized(), inferenceRecord());
    expect(await requests().flag('org_b', degraded!, BY)).toBe('unknown');
    expect(await requests().flag('org_a', 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC', BY)).toBe('unknown');
    expect(await requests().flag('org_a', whole!, BY)).toBe('not_degraded');
    await recalculate(depsWith(mendedCatalogue()), degraded!);
    expect(await requests().flag('org_a', degraded!, BY)).toBe('not_degraded');
    expect(await requests().flag('org_a', events.rows[0]!.receiptId, BY)).toBe('not_degraded');
    expect(await rowOf(degraded!)).toBeUndefined();
  });

  it('one of two simultaneous flags gets through', async () => {
    const [id] = await issue(unsized());
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, () => requests().flag('org_a', id!, BY)),
    );
    expect(outcomes.filter((outcome) => outcome === 'flagged')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'pending')).toHaveLength(5);
  });

  it('a flag in the moment of the revision leaves nothing behind that never ends', async () => {
    const [id] = await issue(unsized());
    await recalculate(depsWith(mendedCatalogue()), id!);
    await database.pool.query(
      `insert into recalculation (receipt_id, org_id, flagged_at) values ($1, 'org_a', now())`,
      [id],
    );
    expect(await recalculate(depsWith(mendedCatalogue()), id!)).toBe('settled');
    expect(await rowOf(id!)).toBeUndefined();
    expect(events.rows).toHaveLength(1);
  });

  it('an operator can flag everything that was issued since a day', async () => {
    const [id] = await issue(unsized({ orgId: 'org_since' }));
    await recalculate(depsWith(catalogue), id!);
    const operator = createRecalculationRequests(
      database.poolAs('docket_operator', 1),
      systemSurroundings,
    );
    const by = { actor: { kind: 'operator' as const, id: 'ines' }, reason: 'mended' };
    expect(await operator.requestSince('org_since', Date.now() + 60_000, by)).toBe(0);
    expect(await operator.requestSince('org_since', Date.now() - 60_000, by)).toBe(1);
    expect(await rowOf(id!)).toMatchObject({ waits: false, attempts: 0 });
    const { rows } = await database.pool.query(
      `select action, actor_id, reason from audit_log where org_id = 'org_since' order by sequence`,
    );
    const entry = {
      action: 'receipts.recalculation_requested',
      actor_id: 'ines',
      reason: 'mended',
    };
    expect(rows).toEqual([entry, entry]);
  });
});
