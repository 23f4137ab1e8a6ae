/** Many receipts travel to PostgreSQL as one parameter and are cut apart there: no byte may end up in a neighbour. */
import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { ReceiptRow } from '#shared/receipts/columns.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';

const database = await createTestDatabase();
const store = createReceiptStore(database.poolAs('docket_receipts'));

function row(text: string, receiptId: string = newId('rcpt')): ReceiptRow {
  return {
    receiptId,
    orgId: 'org_bytes',
    keyId: 'key_bytes',
    model: 'bytes',
    region: 'eu-west',
    route: 'chat.completions',
    outcome: 'complete',
    issuedAt: Date.now(),
    inputTokens: 1,
    cachedInputTokens: 0,
    outputTokens: null,
    energy: 1e-7,
    gwp: null,
    water: null,
    adpe: null,
    adpf: null,
    refusalRule: null,
    tags: null,
    cost: null,
    bounds: null,
    dataQuality: null,
    kind: 'inference',
    tier: 'enterprise',
    text,
  };
}

interface Stored {
  entry_id: string;
  body: Buffer;
  leaf_hash: Buffer;
  promised: Buffer;
}

async function stored(rows: readonly ReceiptRow[]): Promise<Map<string, Stored>> {
  const { rows: found } = await database.pool.query<Stored>(
    `select b.entry_id, b.body, b.leaf_hash, p.leaf_hash as promised
     from ledger_body b join receipt_pending p using (entry_id) where b.entry_id = any ($1)`,
    [rows.map(({ receiptId }) => receiptId)],
  );
  return new Map(found.map((each) => [each.entry_id, each]));
}

describe('a batch of receipts', () => {
  it('a receipt is stored byte for byte, under the leaf hash of RFC 6962 that is also promised', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 });
    await forAllAsync(
      [fc.array(text, { minLength: 1, maxLength: 20 })],
      { numRuns: runs(50) },
      async (texts) => {
        const rows = texts.map((each) => row(each));
        expect(await store.commit(rows)).toBe(true);
        const found = await stored(rows);
        for (const { receiptId, text: given } of rows) {
          const { body, leaf_hash, promised } = found.get(receiptId)!;
          expect(body.toString()).toBe(given);
          const leaf = hash('sha256', Buffer.concat([Uint8Array.of(0), body]), 'hex');
          expect([leaf_hash.toString('hex'), promised.toString('hex')]).toEqual([leaf, leaf]);
        }
      },
    );
  });

  it('a batch leaves a receipt that is stored already as it is, stores the others, and says so', async () => {
    const first = row('{"first":"é"}');
    expect(await store.commit([first])).toBe(true);
    const second = row('{"second":1}');
    expect(await store.commit([row('{"again":1}', first.receiptId), second])).toBe(false);
    const texts = await store.read([first.receiptId, second.receiptId, newId('rcpt')]);
    expect(texts).toEqual(
      new Map([
        [first.receiptId, first.text],
        [second.receiptId, second.text],
      ]),
    );
  });
});
