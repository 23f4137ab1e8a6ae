import { beforeEach, describe, expect, it } from 'vitest';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { createTestDatabase } from '#test/support/database.ts';

const { pool } = await createTestDatabase();
await pool.query('create table note (text text primary key)');
beforeEach(() => pool.query('truncate note'));

async function notes(): Promise<string[]> {
  const { rows } = await pool.query<{ text: string }>('select text from note order by text');
  return rows.map(({ text }) => text);
}

describe('a transaction', () => {
  it('is committed when its work resolves, and leaves nothing when it rejects', async () => {
    await inTransaction(pool, (client) => client.query(`insert into note values ('kept')`));
    const lost = inTransaction(pool, async (client) => {
      await client.query(`insert into note values ('lost')`);
      throw new Error('changed my mind');
    });
    await expect(lost).rejects.toThrow('changed my mind');
    expect(await notes()).toEqual(['kept']);
  });

  it('includes the queries that are built on its client', async () => {
    const lost = inTransaction(pool, async (client) => {
      const db = queriesOn(client).withTables<{ note: { text: string } }>();
      await db.insertInto('note').values({ text: 'lost' }).execute();
      expect(await db.selectFrom('note').selectAll().execute()).toEqual([{ text: 'lost' }]);
      throw new Error('changed my mind');
    });
    await expect(lost).rejects.toThrow('changed my mind');
    expect(await notes()).toEqual([]);
  });

  it('rejects when a statement failed and its error was caught: nothing of it was kept', async () => {
    const swallowed = inTransaction(pool, async (client) => {
      await client.query(`insert into note values ('lost')`);
      await client.query('select 1 / 0').catch(() => undefined);
      return 'done';
    });
    await expect(swallowed).rejects.toThrow('rolled back');
    expect(await notes()).toEqual([]);
  });
});

describe('queries on a pool', () => {
  it('refuse to begin a transaction, whose statements could run on different connections', async () => {
    const begun = queriesOn(pool)
      .transaction()
      .execute((db) => db.selectFrom('account').select('id').execute());
    await expect(begun).rejects.toThrow('inTransaction');
  });

  it('count the rows that a statement has changed', async () => {
    const db = queriesOn(pool).withTables<{ note: { text: string } }>();
    await db
      .insertInto('note')
      .values([{ text: 'a' }, { text: 'b' }])
      .execute();
    const { numDeletedRows } = await db.deleteFrom('note').executeTakeFirstOrThrow();
    expect(numDeletedRows).toBe(2n);
  });
});
