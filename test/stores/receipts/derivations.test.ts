/** What receipts name besides themselves: written with the first that names it, by the same statement, and never changed. */
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { UnstorableReceipt } from '#shared/receipts/columns.ts';
import { derivationOf, parseDerivation } from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { derivationsOf, readDerivations } from '#shared/receipts/postgres/derivations.ts';
import { createRecalculationRequests } from '#shared/receipts/postgres/recalculation-requests.ts';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { issueReceipt } from '#workers/receipts/issue.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  catalogue,
  inferenceRecord,
  issuer,
  makeReceiptSigner,
  methodology,
  UNSIZED,
} from '#test/support/issuing.ts';

const database = await createTestDatabase();
const pool = database.poolAs('docket_receipts');
const api = database.poolAs('docket_api');
const { signer } = makeReceiptSigner();
const issue = (more: Parameters<typeof inferenceRecord>[0] = {}) =>
  issueReceipt(
    {
      issuer,
      signer: () => signer,
      estimate: methodology.estimate,
      catalogue: () => catalogue,
      now: Date.now,
    },
    inferenceRecord(more),
  ).row;
const count = async (table: string): Promise<number> =>
  Number(
    (await database.pool.query<{ n: string }>(`select count(*) as n from ${table}`)).rows[0]!.n,
  );

describe('a derivation record', () => {
  it('is stored with the first receipt that names it, and only then', async () => {
    const store = createReceiptStore(pool);
    const first = issue();
    await store.commit([first, issue()]);
    expect(await count('derivation')).toBe(1);
    await store.commit([issue()]);
    await createReceiptStore(pool).commit([issue()]);
    expect(await count('derivation')).toBe(1);
    const { digest, text } = first.derivation!;
    expect(await readDerivations(api, [digest])).toEqual(new Map([[digest, text]]));
    const { document } = parseReceipt(first.text);
    expect((await derivationsOf(api, [document]))(digest)).toEqual(parseDerivation(text, digest));
  });

  it('is made once for a deployment, and is another for another methodology or site', () => {
    expect(issue().derivation).toBe(issue().derivation);
    const one = issue();
    const again = derivationOf({ ...issuer }, methodology.estimate(estimateOf('example')));
    const elsewhere = derivationOf({ ...issuer }, methodology.estimate(estimateOf('another')));
    expect(again.digest).not.toBe(elsewhere.digest);
    expect(one.derivation!.text.length).toBeLessThan(1_500);
  });

  it('is not stored when its receipts are not: both are one statement', async () => {
    const store = createReceiptStore(pool);
    const row = { ...issue(), derivation: recordOf('{"only":"here"}') };
    await expect(store.commit([{ ...row, text: '' }])).rejects.toThrow(UnstorableReceipt);
    expect(await readDerivations(api, [row.derivation.digest])).toEqual(new Map());
    await store.commit([row]);
    expect((await readDerivations(api, [row.derivation.digest])).size).toBe(1);
  });

  it('has the name of its content, which cannot be changed', async () => {
    const { digest } = recordOf('{"a":1}');
    const insert = 'insert into derivation (digest, body) values ($1, $2)';
    await expect(database.pool.query(insert, [digest, Buffer.from('{"a":2}')])).rejects.toThrow(
      'derivation',
    );
    await database.pool.query(insert, [digest, Buffer.from('{"a":1}')]);
    await expect(database.pool.query('update derivation set body = body')).rejects.toThrow();
    await expect(database.pool.query('delete from derivation')).rejects.toThrow();
    await expect(database.pool.query('truncate derivation')).rejects.toThrow();
    await expect(pool.query('delete from derivation')).rejects.toThrow('permission denied');
  });
});

it('nothing is owed to a receipt whose tokens are not known: no other attempt will know them', async () => {
  const store = createReceiptStore(pool);
  const unknown = issue({
    outcome: 'partial',
    usage: { source: 'unknown', reason: 'caller_left' } as never,
  });
  expect(unknown).toMatchObject({ kind: 'degraded', tier: 'degraded', inputTokens: null });
  const unsized = issue({ model: UNSIZED });
  await store.commit([unknown, unsized]);
  const { rows } = await database.pool.query('select receipt_id from recalculation');
  expect(rows).toEqual([{ receipt_id: unsized.receiptId }]);
  const requests = createRecalculationRequests(api, systemSurroundings);
  const by = { actor: { kind: 'key' as const, id: 'key_a' } };
  expect(await requests.flag('org_a', unknown.receiptId, by)).toBe('not_degraded');
});

function recordOf(text: string) {
  const digest = Buffer.concat([Buffer.from([0x12, 0x20]), hash('sha256', text, 'buffer')]);
  return { digest: `u${digest.toString('base64url')}`, text };
}

function estimateOf(operator: string) {
  return {
    usage: inferenceRecord().usage,
    route: 'chat.completions' as const,
    model: { id: 'llama-3.1-8b', footprint: { ref: 'llama-3.1-8b' } },
    zone: 'FRA',
    site: { operator, pue: 1.2 },
    attempts: 1,
    latencyS: 1,
  };
}
