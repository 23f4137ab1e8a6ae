import { beforeAll, describe, expect, it } from 'vitest';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';

const database = await createTestDatabase();

beforeAll(async () => {
  const [one, two] = makeReceipts('org_a', 300);
  await submitReceipts(database.poolAs('docket_receipts', 1), [
    ...makeReceipts('org_a', 300),
    one!,
    two!,
  ]);
  const ledger = database.poolAs('docket_ledger', 1);
  await integrateAll(ledger);
  const [signer, memory] = [makeCheckpointSigner(), makeCheckpointMemory()];
  await publishCheckpoints(ledger, { signer, memory, originOf, limit: 10, intervalMs: 0 });
  await database.pool.query(
    'insert into receipt_revision (original_id, revision_id, org_id) values ($1, $2, $3)',
    [one!.id, two!.id, 'org_a'],
  );
});

describe('what was written', () => {
  const TABLES = ['ledger_body', 'ledger_entry', 'ledger_checkpoint', 'receipt_revision'];

  it.each(TABLES)(
    'rows of %s cannot be changed or removed, not even by the owner of the table [evidence.append-only, survives.edits]',
    async (table) => {
      const refused = { code: '42501' };
      await expect(
        database.pool.query(`update ${table} set org_id = 'org_x'`),
      ).rejects.toMatchObject(refused);
      await expect(database.pool.query(`delete from ${table}`)).rejects.toMatchObject(refused);
      await expect(database.pool.query(`truncate ${table}`)).rejects.toMatchObject(refused);
    },
  );

  it('tiles, partitions and heads cannot be removed or moved back by the owner either', async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      `select relname as name from pg_class where relispartition and relkind = 'r' and relname like 'ledger_body%'`,
    );
    expect(rows.length).toBeGreaterThan(4);
    const refused = { code: '42501' };
    for (const { name } of rows) {
      await expect(database.pool.query(`truncate ${name}`)).rejects.toMatchObject(refused);
    }
    await expect(database.pool.query('update ledger_tile set index = index')).rejects.toMatchObject(
      refused,
    );
    await expect(database.pool.query('truncate ledger_tile')).rejects.toMatchObject(refused);
    await expect(database.pool.query('delete from ledger_head')).rejects.toMatchObject(refused);
    await expect(
      database.pool.query('update ledger_head set size = size - 1 where size > 0'),
    ).rejects.toMatchObject({
      code: '23514',
    });
  });

  it.each([
    ['docket_api', 'insert into ledger_head (org_id) values (1)'],
    ['docket_api', 'delete from receipt_pending'],
    ['docket_receipts', 'delete from receipt_pending'],
    ['docket_receipts', 'select from ledger_checkpoint'],
    ['docket_ledger', 'update ledger_entry set kind = kind'],
    ['docket_ledger', 'delete from ledger_body'],
    ['docket_ledger', `insert into ledger_body (entry_id) values ('x')`],
    ['docket_exports', 'insert into ledger_checkpoint (org_id) values (1)'],
    ['docket_purge', 'select from ledger_body'],
    ['docket_operator', 'delete from ledger_entry'],
    ['docket_api', 'select ensure_ledger_partitions()'],
  ] as const)('the role %s is not allowed to %s', async (role, statement) => {
    await expect(database.poolAs(role, 1).query(statement)).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('housekeeping makes the partitions of months to come, as often as it likes', async () => {
    const housekeeping = database.poolAs('docket_housekeeping', 1);
    const made = await housekeeping.query('select ensure_ledger_partitions(5)');
    expect(made.rowCount).toBe(2);
    expect((await housekeeping.query('select ensure_ledger_partitions(5)')).rowCount).toBe(0);
    await expect(housekeeping.query('select ensure_ledger_partitions(99)')).rejects.toThrow(
      'at most 24',
    );
    // Pages of every one are vacuumed for good while they are young.
    const { rows } = await database.pool.query(
      `select c.reloptions from pg_partition_tree('ledger_body') t join pg_class c on c.oid = t.relid
       where t.isleaf`,
    );
    expect(rows.length).toBeGreaterThan(7);
    for (const { reloptions } of rows) {
      expect(reloptions).toContain('autovacuum_vacuum_insert_threshold=10000');
      expect(reloptions).toContain('autovacuum_freeze_min_age=0');
    }
  });
});
