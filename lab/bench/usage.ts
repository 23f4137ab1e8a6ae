/**
 * The time to sum up a month with a million receipts of one organisation: `npm run bench usage [receipts] [runs]`.
 * Starts a PostgreSQL of its own. A hundredth of the receipts is revised in the second round.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { sumUpAnew } from '#shared/ledger/postgres/usage-anew.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import { FILL, INTEGRATE } from '#test/support/synthetic-receipts.ts';
import { readNumbers } from './support/arguments.ts';

const { receipts: RECEIPTS, runs: RUNS } = readNumbers('usage [receipts] [runs]', {
  receipts: 1_000_000,
  runs: 5,
});
/** Spread over the thirty days before this. */
const END = Date.now();
const BATCH = 50_000;

const REVISE = `
  with revised as (
    select entry_id, 'rcpt_' || upper(substr(md5(entry_id), 1, 26)) as successor from ledger_body
    where org_id = 'org_a' and kind = 'inference' and ('x' || substr(md5(entry_id), 1, 4))::bit(16)::int % 100 = 0
  ), body as (
    insert into ledger_body (entry_id, org_id, kind, supersedes, key_id, model, region, tier, route, outcome, issued_at,
      input_tokens, cached_input_tokens, output_tokens, energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj, bounds, data_quality, leaf_hash, body)
    select r.successor, b.org_id, 'restated', b.entry_id, key_id, model, region, tier, route, outcome, now(),
      input_tokens, cached_input_tokens, output_tokens, energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj, bounds, data_quality, leaf_hash, body
    from revised r join ledger_body b using (entry_id) returning 1)
  insert into receipt_revision (original_id, revision_id, org_id) select entry_id, successor, 'org_a' from revised`;

const directory = await mkdtemp(join(tmpdir(), 'docket-bench-usage-'));
const server = await startEmbeddedPostgres({ dataDir: directory, durable: false });
const pool = createPool({ url: server.url, max: 2, applicationName: 'bench' });
try {
  await migrateToLatest(pool);
  for (let from = 1; from <= RECEIPTS; from += BATCH) {
    await pool.query(FILL, [END, RECEIPTS, from, Math.min(RECEIPTS, from + BATCH - 1), 'org_a']);
  }
  // As autovacuum does by itself a minute after rows have come in.
  await pool.query('vacuum analyze ledger_body');
  console.log(`${RECEIPTS} receipts of one organisation in 30 days`);
  await integrate();
  await measure('none revised');
  const { rowCount } = await pool.query(REVISE);
  await pool.query('vacuum analyze ledger_body');
  await pool.query('vacuum analyze receipt_revision');
  await integrate();
  await measure(`${rowCount} revised`);
} finally {
  await pool.end();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}

async function integrate(): Promise<void> {
  await pool.query(INTEGRATE, ['org_a']);
  await pool.query('vacuum analyze ledger_entry');
  const start = performance.now();
  while (await sumUpAnew(pool, 10_000));
  console.log(`summed up in ${Math.round(performance.now() - start)} ms`);
  await pool.query('vacuum analyze usage_hour');
  await pool.query('vacuum analyze usage_day');
}

async function measure(round: string): Promise<void> {
  const api = createPool({ url: server.url, role: 'docket_api', max: 1, applicationName: 'bench' });
  const reader = createUsageReader(api);
  const ranges = [
    ['30 days', { from: END - 31 * DAY_MS, to: END + DAY_MS }],
    ['up to now', { from: Math.floor(END / DAY_MS - 31) * DAY_MS, to: Date.now() }],
    // Cut in the middle of an hour, and of the ledger.
    ['an odd period', { from: END - 29.51 * DAY_MS, to: END - 0.51 * DAY_MS }],
    ['most indexes', { firstIndex: 1_000, lastIndex: RECEIPTS - 1_000 }],
  ] as const;
  for (const [name, range] of ranges)
    for (const groupBy of ['day', 'model'] as const) {
      const times: number[] = [];
      let requests = 0;
      for (let i = 0; i < RUNS; i += 1) {
        const start = performance.now();
        const { total } = await reader.usage({ orgId: 'org_a', range, groupBy: [groupBy] });
        times.push(performance.now() - start);
        requests = total.requests;
      }
      const [best, worst] = [Math.min(...times), Math.max(...times)].map(Math.round);
      console.log(
        `${round.padEnd(16)} ${name.padEnd(13)} by ${groupBy.padEnd(7)} ${requests} requests  ${best}-${worst} ms`,
      );
    }
  await api.end();
}
