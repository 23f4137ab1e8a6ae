import type { Pool } from 'pg';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { sumUpAnew } from '#shared/ledger/postgres/usage-anew.ts';
import type { DevFile } from '#embedded/launcher/dev-file.ts';
import { FILL, INTEGRATE } from '#test/support/synthetic-receipts.ts';

const BATCH = 50_000;

/** Gives the organisation of an instance that runs so many receipts of the last thirty days, and sums them up. */
export async function fillOrganisation(
  { database_url, org_id }: Pick<DevFile, 'database_url' | 'org_id'>,
  receipts: number,
): Promise<void> {
  const pool = createPool({ url: database_url, max: 2, applicationName: 'bench' });
  const end = Date.now();
  for (let from = 1; from <= receipts; from += BATCH) {
    const to = Math.min(receipts, from + BATCH - 1);
    await pool.query(FILL, [end, receipts, from, to, org_id]);
  }
  await pool.query('vacuum analyze ledger_body');
  await pool.query(INTEGRATE, [org_id]);
  await pool.query('vacuum analyze ledger_entry');
  // The instance's own ledger worker does the same; what neither has done is read receipt by receipt.
  while ((await sumUpAnew(pool, 10_000)) || (await isLagging(pool, org_id)));
  await pool.query('vacuum analyze usage_hour');
  await pool.query('vacuum analyze usage_day');
  await pool.end();
}

async function isLagging(pool: Pool, orgId: string): Promise<boolean> {
  const { rows } = await pool.query<{ lags: boolean }>(
    'select usage_size < size as lags from ledger_head where org_id = $1',
    [orgId],
  );
  return rows[0]!.lags;
}
