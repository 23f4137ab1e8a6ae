import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { chatBody, post } from '#test/support/calls.ts';
import { isDeep } from '#test/support/depth.ts';
import { sendLoad } from '#test/support/load.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** Long enough for every kept connection and retry to be put to the test. */
const OUTAGE_MS = isDeep ? 20_000 : 8_000;

describe('PostgreSQL away under load', () => {
  it('no inference fails while PostgreSQL is away, and every receipt owed is issued and integrated afterwards [survives.postgres]', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'docket-outage-'));
    const first = await startEmbeddedPostgres({ dataDir, durable: false });
    const port = Number(new URL(first.url).port);
    await migrateToLatest(first.url);
    const pool = createPool({ url: first.url, max: 4, applicationName: 'test' });
    let server = first;
    onTestFinished(async () => {
      await pool.end();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    });
    const system = await startSystem({
      replicas: {},
      database: { url: first.url, pool },
      env: { RECEIPT_WAIT_MS: '300' },
    });
    await sendLoad(system, { requests: 20, concurrency: 4 });

    const repeat = async (key: string) => {
      const response = await post(system, '/chat/completions', chatBody(), {
        headers: { 'idempotency-key': key },
        signal: AbortSignal.timeout(15_000),
      });
      return { status: response.status, text: await response.text() };
    };
    await first.stop();
    const back = Date.now() + OUTAGE_MS;
    const seen = [];
    while (Date.now() < back) {
      seen.push(...(await sendLoad(system, { requests: 16, concurrency: 8 })));
    }
    const [api] = system.processes('api');
    const ready = await fetch(`http://127.0.0.1:${api!.metricsPort}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.json()).toEqual({ status: 'degraded', failing: ['postgres'] });
    // The receipt of its first answer cannot be committed now: who repeats it is told so, and does not wait for it.
    expect((await repeat('while away')).status).toBe(200);
    const told = await repeat('while away');
    expect(told.text).toContain('"code":"dispatch_unavailable"');
    const reading = await fetch(`${system.baseUrl}/receipts`, {
      headers: { authorization: `Bearer ${system.key}` },
    });
    expect([reading.status, reading.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await reading.json()).toMatchObject({ error: { code: 'store_unavailable' } });
    server = await startEmbeddedPostgres({ dataDir, port, durable: false });
    seen.push(...(await sendLoad(system, { requests: 20, concurrency: 4 })));

    expect(seen.filter(({ answered }) => !answered)).toEqual([]);
    expect(seen.some(({ signed }) => !signed)).toBe(true);
    // Nothing of the estimate has failed: no answer is called degraded.
    expect(seen.filter(({ signed, pending }) => signed === pending)).toEqual([]);
    await until(
      async () => (await sendLoad(system, { requests: 1, concurrency: 1 }))[0]!.signed,
      'receipts are signed in time again',
    );
    await until(
      async () => (await repeat('while away')).status === 200,
      'the answer is given back',
    );
    const totals = await integrated(system);
    expect(totals.gaps).toBe(0);
    const { rows } = await pool.query<{ missing: string }>(
      `SELECT count(*) AS missing FROM unnest($1::text[]) AS wanted (id)
       WHERE NOT EXISTS (SELECT FROM ledger_entry e WHERE e.entry_id = wanted.id)`,
      [seen.map(({ receiptId }) => receiptId)],
    );
    expect(Number(rows[0]!.missing)).toBe(0);
    // An unknown key during an outage must not be called invalid; it is known again now.
    expect(
      (
        await fetch(`${system.baseUrl}/models`, {
          headers: { authorization: `Bearer ${system.demo.keys.audit}` },
        })
      ).status,
    ).toBe(200);
  });
});
