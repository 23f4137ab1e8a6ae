import type { Pool } from 'pg';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { sumUpAnew } from '#shared/ledger/postgres/usage-anew.ts';
import { waitUntilCounted } from '#lab/screenshots/furnish.ts';
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
  await inTransaction(pool, async (client) => {
    // The instance's own ledger worker writes into it as well.
    await client.query('select 1 from ledger_head where org_id = $1 for update', [org_id]);
    await client.query(INTEGRATE, [org_id]);
  });
  await pool.query('vacuum analyze ledger_entry');
  // The instance's own ledger worker does the same; what neither has done is read receipt by receipt.
  while ((await sumUpAnew(pool, 10_000)) || (await isLagging(pool, org_id)));
  await pool.query('vacuum analyze usage_hour');
  await pool.query('vacuum analyze usage_day');
  await pool.end();
}

/**
 * Gives it so many requests of the last thirty days, of which one in fifty failed, and waits until the instance's housekeeping has
 * counted them.
 */
export async function fillRequests(
  { database_url, org_id }: Pick<DevFile, 'database_url' | 'org_id'>,
  requests: number,
): Promise<void> {
  const pool = createPool({ url: database_url, max: 2, applicationName: 'bench' });
  const end = Date.now();
  for (let from = 1; from <= requests; from += BATCH) {
    const to = Math.min(requests, from + BATCH - 1);
    await pool.query(FILL_REQUESTS, [end, requests, from, to, org_id]);
  }
  await waitUntilCounted(database_url);
  await pool.query('vacuum analyze request');
  await pool.query('vacuum analyze request_count');
  await pool.end();
}

const FILL_REQUESTS = `
  insert into request (id, org_id, key_id, route, status, code, model, region, streamed, tags, has_receipt, input_tokens,
    output_tokens, queued_ms, first_ms, total_ms, upstream_calls, requests)
  select request_id_at(at) || lpad(upper(to_hex(i)), 16, '0'), $5, 'key_' || i % 8, 'POST /v1/chat/completions',
    case when i % 50 = 0 then 503 else 200 end, case when i % 50 = 0 then 'upstream_error' end,
    'model-' || i % 12, (array['eu-west', 'eu-north', 'us-east'])[i % 3 + 1], true,
    array['team=t' || i % 20], i % 50 <> 0, 200 + i % 900, 300 + i % 500, i % 40, 90 + i % 700, 300 + i * 7 % 9000, 1, 1
  from (select i, to_timestamp($1::float8 / 1000 - ($2::bigint - i) * 2592000.0 / $2) as at
        from generate_series($3::bigint, $4::bigint) i) t`;

/** Gives its audit log so many entries, whose hashes are none: what it weighs is asked for, and nothing of it is checked. */
export async function fillAuditLog(
  { database_url, org_id }: Pick<DevFile, 'database_url' | 'org_id'>,
  entries: number,
): Promise<void> {
  const pool = createPool({ url: database_url, max: 1, applicationName: 'bench' });
  await pool.query('alter table audit_log disable trigger user');
  await pool.query(
    `insert into audit_log (org_id, sequence, id, at, action, actor_kind, actor_id, address, subject, reason, details, previous_hash, hash)
     select $1, (select coalesce(max(sequence) + 1, 0) from audit_log where org_id = $1) + i, 'aud_' || lpad(upper(to_hex(i + 9999999)), 26, '0'),
       now(), 'key.revoked', 'user', 'usr_01JD0A9F6R4N8P1S5VZC7B2DEG', '192.0.2.1', 'key_01JD0A9F6R4N8P1S5VZC7B2DEG', repeat('x', 200),
       '{"name":"a key","scopes":["inference:read","inference:write"]}', decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex')
     from generate_series(0, $2::int - 1) i`,
    [org_id, entries],
  );
  // The acts that follow go on behind these.
  await pool.query(
    `update audit_head set hash = decode(repeat('00', 32), 'hex'),
       size = (select max(sequence) + 1 from audit_log where org_id = $1) where org_id = $1`,
    [org_id],
  );
  await pool.query('alter table audit_log enable trigger user');
  await pool.query('vacuum analyze audit_log');
  await pool.end();
}

async function isLagging(pool: Pool, orgId: string): Promise<boolean> {
  const { rows } = await pool.query<{ lags: boolean }>(
    'select usage_size < size as lags from ledger_head where org_id = $1',
    [orgId],
  );
  return rows[0]!.lags;
}
