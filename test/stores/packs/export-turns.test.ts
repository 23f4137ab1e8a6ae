import { expect, it } from 'vitest';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createExportJobs } from '#shared/packs/postgres/export-jobs.ts';
import { createTestDatabase } from '#test/support/database.ts';

const { pool } = await createTestDatabase();

/** How many exports have been read by looking at all of them. */
async function scanned(): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pool.query<{ rows: string }>(
    `select seq_tup_read as rows from pg_stat_user_tables where relname = 'export'`,
  );
  return Number(rows[0]!.rows);
}

it('whose turn it is to have a pack built is found without a look at the packs that are there already', async () => {
  await pool.query(
    `insert into export (id, org_id, status, first_index, last_index, checkpoint_size, started_at, finished_at,
       expires_at, size_bytes, sha256)
     select 'exp_' || n, 'org_' || n % 100, 'ready', 0, 0, 1, now() - n * interval '1 s', now(), now() + interval '7 d', 1,
       repeat('0', 64)
     from generate_series(1, 20000) as n`,
  );
  await pool.query(
    `insert into export (id, org_id, first_index, last_index, checkpoint_size)
     select 'exp_due_' || org_id, org_id, 0, 0, 1 from unnest(array['org_7', 'org_8', 'org_new']) as org_id`,
  );
  await pool.query('analyze export');
  const before = await scanned();
  const due = await createExportJobs(pool, systemSurroundings).due(10);
  expect(due).toEqual(['exp_due_org_new', 'exp_due_org_8', 'exp_due_org_7']);
  expect((await scanned()) - before).toBe(0);
});
