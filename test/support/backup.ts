import type { Pool } from 'pg';
import { tamper } from './ledger.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** A backup that is restored: another database with every row that this one has now. */
export async function copyOf(pool: Pool): Promise<TestDatabase> {
  const copy = await createTestDatabase();
  const { rows: tables } = await pool.query<{ name: string; columns: string }>(
    `select c.relname as name, string_agg(quote_ident(a.attname), ', ') as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' group by c.relname`,
  );
  for (const { name, columns } of tables) {
    const { rows } = await pool.query<{ all: string }>(
      `select coalesce(json_agg(t), '[]')::text as all from ${name} t`,
    );
    await tamper(
      copy.pool,
      `insert into ${name} (${columns}) overriding system value
       select ${columns} from json_populate_recordset(null::${name}, $1) on conflict do nothing`,
      [rows[0]!.all],
    );
  }
  return copy;
}
