import { beforeAll, describe, expect, it } from 'vitest';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import type { Scope } from '#shared/keys/credential.ts';
import type { LineageDocument } from '#shared/lineage/document.ts';
import { recalculate } from '#workers/recalculation/recalculate.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  commitReceipts,
  inferenceRecord,
  issuer,
  makeReceiptSigner,
  mendedCatalogue,
  UNSIZED,
} from '#test/support/issuing.ts';
import { integrateAll } from '#test/support/ledger.ts';
import { openEdge } from '#test/support/app.ts';
import { recalculateDeps, seenEvents } from '#test/support/recalculating.ts';

const database = await createTestDatabase();
const { signer } = makeReceiptSigner();
const ledger = createLedgerReader(database.poolAs('docket_api', 2));
const edge = await openEdge(database.poolAs('docket_api', 2));
const SCOPE: Scope[] = ['service:lineage'];
const key = edge.keyFor('org_a', SCOPE);
const get = (id: string, asking: string | null = key) =>
  edge.get(`/receipts/${id}/lineage`, asking);

const ids: Record<string, string> = {};
beforeAll(async () => {
  const receipts = database.poolAs('docket_receipts', 1);
  const [audit, plus, enterprise, degraded, degradedAudit] = await commitReceipts(
    receipts,
    signer,
    [
      inferenceRecord({ tier: 'audit' }),
      inferenceRecord({ tier: 'audit_plus' }),
      inferenceRecord({ tier: 'enterprise' }),
      inferenceRecord({ model: UNSIZED }),
      inferenceRecord({ model: UNSIZED, tier: 'audit' }),
    ],
  );
  Object.assign(ids, { audit, plus, enterprise, degraded, degradedAudit });
  await integrateAll(database.poolAs('docket_ledger', 1));
});

describe('GET /receipts/{id}/lineage', () => {
  it.each(['audit', 'plus', 'enterprise'])(
    'GET /receipts/{id}/lineage 200: linked data for the tier %s [operations.lineage]',
    async (tier) => {
      const answer = await get(ids[tier]!);
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toContain('application/ld+json');
      const document = answer.json() as LineageDocument;
      const entry = (await ledger.entry('org_a', ids[tier]!))!;
      expect(document.id).toBe(`${issuer.receipts}${ids[tier]}/lineage`);
      expect(document.ledger).toMatchObject({
        log: `${issuer.logs}org_a`,
        leafIndex: entry.index,
      });
      expect(document.measurement!.steps.length).toBeGreaterThan(10);
      expect((await get(ids[tier]!)).text).toBe(answer.text);
    },
  );

  it('the lineage of a recalculated receipt has the whole chain, from either end', async () => {
    const before = (await get(ids['degraded']!)).json() as LineageDocument;
    expect(before.measurement).toBeUndefined();
    expect(before.degradation).toMatchObject({ code: 'model_size_unknown' });
    const events = seenEvents();
    const pool = database.poolAs('docket_recalculation', 1);
    await recalculate(
      recalculateDeps(pool, signer, mendedCatalogue(), { events }),
      ids['degraded']!,
    );
    await integrateAll(database.poolAs('docket_ledger', 1));
    const successor = events.rows[0]!.receiptId;
    const [old, revised] = await Promise.all(
      [ids['degraded']!, successor].map(async (id) => (await get(id)).json() as LineageDocument),
    );
    expect(old!.revisions).toEqual(revised!.revisions);
    expect(revised!.revisions.map(({ kind }) => kind)).toEqual(['degraded', 'recalculated']);
    expect(revised!.revisions[1]!.wasRevisionOf).toBe(issuer.receipts + ids['degraded']!);
    expect(revised!.measurement!.dataQuality).toBe('T3');
  });

  it('the lineage has no place in the ledger before the receipt is integrated', async () => {
    const receipts = database.poolAs('docket_receipts', 1);
    const [fresh] = await commitReceipts(receipts, signer, [inferenceRecord()]);
    const { status, text } = await get(fresh!);
    expect(status).toBe(200);
    expect(JSON.parse(text)).not.toHaveProperty('ledger');
    await integrateAll(database.poolAs('docket_ledger', 1));
    expect(JSON.parse((await get(fresh!)).text)).toHaveProperty('ledger');
  });

  it('GET /receipts/{id}/lineage 404 for a receipt of another organisation, and for none', async () => {
    const stranger = edge.keyFor('org_b', SCOPE);
    for (const answer of [
      await get(ids['plus']!, stranger),
      await get('rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC'),
    ]) {
      expect(answer.status).toBe(404);
      expect(answer.json().error.code).toBe('receipt_not_found');
    }
  });

  it('GET /receipts/{id}/lineage 401 without a key, 403 without the scope', async () => {
    expect((await get(ids['plus']!, null)).status).toBe(401);
    const reader = edge.keyFor('org_a', ['service:read']);
    expect((await get(ids['plus']!, reader)).json().error.code).toBe('insufficient_scope');
  });
});
