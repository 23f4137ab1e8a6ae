import type { Pool } from 'pg';
import { expect, it } from 'vitest';
import { HOUR_MS } from '#shared/kernel/time.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { readTraffic } from '#shared/requests/postgres/traffic.ts';
import { activeAccount, createRegistries } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const api = database.poolAs('docket_api');

it('operators see requests, errors and times over all organisations since a moment, each refusal that a row counts, and whether that is all [requests.record]', async () => {
  const [one, two] = [await activeAccount(registries), await activeAccount(registries)];
  const now = Date.now();
  await writeRequests(api, [
    requestRow({ orgId: one.id, totalMs: 100 }),
    requestRow({ orgId: one.id, totalMs: 300, region: 'us-east' }),
    requestRow({ orgId: one.id, at: now - 2 * HOUR_MS }),
    refusedRow({ orgId: two.id, requests: 12, lastMs: 5 }),
    requestRow({ orgId: two.id, status: 503, code: 'region_degraded', totalMs: 9_000 }),
  ]);
  const { rows, isWhole } = await readTraffic(api, { since: now - HOUR_MS });
  const of = (by: string) => rows.filter((row) => row.by === by);
  expect(isWhole).toBe(true);
  expect(of('all')).toEqual([
    {
      by: 'all',
      name: '',
      title: null,
      requests: 15,
      refused: 12,
      failed: 1,
      p50: 200,
      p95: 290,
      p99: 298,
    },
  ]);
  expect(of('organisation').map(({ name, title, requests }) => [name, title, requests])).toEqual([
    [two.id, two.name, 13],
    [one.id, one.name, 2],
  ]);
  expect(of('code').find(({ name }) => name === 'region_degraded')).toMatchObject({
    failed: 1,
    p50: null,
  });
  const hours = new Set(
    [now - HOUR_MS, now].map(
      (at) => `${new Date(at).toISOString().slice(0, 13).replace('T', ' ')}:00`,
    ),
  );
  for (const { name } of of('hour')) expect(hours).toContain(name);
  const cut = await readTraffic(api, { since: now - HOUR_MS }, { ofOrganisation: 1, rows: 100 });
  expect(cut.isWhole).toBe(false);
  const ofOne = await readTraffic(api, { since: now - HOUR_MS, orgId: one.id });
  expect(ofOne.rows.find(({ by }) => by === 'all')).toMatchObject({ requests: 2, p50: 200 });
  const none = await readTraffic(api, { since: now + HOUR_MS });
  expect(none).toMatchObject({ isWhole: true, rows: [{ requests: 0 }] });
});

it('of organisations with many requests no more are read than are counted [requests.record]', async () => {
  const now = Date.now();
  for (const { id: orgId } of [await activeAccount(registries), await activeAccount(registries)])
    await writeRequests(
      api,
      Array.from({ length: 20 }, () => requestRow({ orgId })),
    );
  const client = await database.pool.connect();
  try {
    await client.query('begin; set local enable_seqscan = off');
    const max = { ofOrganisation: 20, rows: 5 };
    const { isWhole } = await readTraffic(client as unknown as Pool, { since: now - HOUR_MS }, max);
    expect(isWhole).toBe(false);
    const { rows } = await client.query<{ read: number }>(
      `select sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::int as read from pg_stat_xact_user_tables
         where relid in (select inhrelid from pg_inherits where inhparent = 'request'::regclass)`,
    );
    expect(rows[0]!.read).toBeGreaterThan(0);
    expect(rows[0]!.read).toBeLessThan(10);
  } finally {
    await client.query('rollback');
    client.release();
  }
});
