import { beforeAll, describe, expect, it } from 'vitest';
import { encodeUlid } from '#shared/kernel/ids.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  checkSignaturesOf,
  collectFindings,
  integrateAll,
  makeReceipt,
  makeReceipts,
  submitReceipts,
} from '#test/support/ledger.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts');
const ledger = database.poolAs('docket_ledger');
const operator = database.poolAs('docket_operator', 1);

describe('retention', () => {
  const past = Date.UTC(2024, 4, 15);
  const old = (ms: number): string =>
    `rcpt_${encodeUlid(ms, crypto.getRandomValues(new Uint8Array(10)))}`;

  const firstOf = (month: number): string =>
    `rcpt_${encodeUlid(Date.UTC(2024, month), new Uint8Array(10)).slice(0, 10)}`;

  beforeAll(async () => {
    await database.pool.query(
      `create table ledger_body_2024_05 (like ledger_body including all);
       alter table ledger_body attach partition ledger_body_2024_05
         for values from ('${firstOf(4)}') to ('${firstOf(5)}')`,
    );
  });

  it('the database and this code cut months at the same receipt ids', async () => {
    const { rows } = await database.pool.query<{ id: string }>(
      `select receipt_id_at('2024-05-01Z') as id union all select receipt_id_at('2024-06-01Z')`,
    );
    expect(rows.map((row) => row.id)).toEqual([firstOf(4), firstOf(5)]);
  });

  it('retention drops the bodies of a month and keeps the hashes, and fsck tells it from a loss', async () => {
    const own = Array.from({ length: 3 }, (_, i) => makeReceipt('org_a', { id: old(past + i) }));
    await submitReceipts(receipts, [...own, ...makeReceipts('org_a', 2)]);
    const drop = `select drop_ledger_bodies('2024-05-20Z')`;
    await expect(database.pool.query(drop)).rejects.toThrow('not integrated');
    await integrateAll(ledger);
    await expect(ledger.query(drop)).rejects.toThrow('permission denied');
    await database.pool.query(drop);
    expect(await collectFindings(operator, { signatures: checkSignaturesOf([]) })).toMatchObject([
      { kind: 'bodies_expired', severity: 'note', detail: expect.stringContaining('3 bodies') },
    ]);
    await expect(database.pool.query(`select drop_ledger_bodies(now())`)).rejects.toThrow(
      'not over',
    );
  });
});
