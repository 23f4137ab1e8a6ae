/**
 * Measures how fast promises become entries: `npm run bench ledger-integration [entries] [organisations]`. Starts a
 * PostgreSQL of its own. Bodies have 3,500 bytes, as receipts do. Submission is not part of the time.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Pool } from 'pg';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { integrateBatch } from '#shared/ledger/postgres/integration.ts';
import {
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipt,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';
import { readNumbers } from './support/arguments.ts';

const { entries: ENTRIES, organisations: ORGANISATIONS } = readNumbers(
  'ledger-integration [entries] [organisations]',
  { entries: 40_000, organisations: 20 },
);
const SUBMITTED_AT_ONCE = 1_000;
const BATCH = 2_000;

const directory = await mkdtemp(join(tmpdir(), 'docket-bench-ledger-'));
const server = await startEmbeddedPostgres({ dataDir: directory, durable: false });
const pool = createPool({ url: server.url, max: 2, applicationName: 'bench' });
try {
  await migrateToLatest(pool);
  await submit(pool);
  process.stdout.write(`${JSON.stringify(await integrate(pool))}\n`);
} finally {
  await pool.end();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}

async function submit(db: Pool): Promise<void> {
  const filler = 'x'.repeat(3_400);
  for (let done = 0; done < ENTRIES; done += SUBMITTED_AT_ONCE) {
    const receipts = Array.from({ length: SUBMITTED_AT_ONCE }, (_, i) => {
      const organisation = String((done + i) % ORGANISATIONS).padStart(26, '0');
      const receipt = makeReceipt(`org_${organisation}`);
      return { ...receipt, body: Buffer.from(`{"id":"${receipt.id}","filler":"${filler}"}`) };
    });
    await submitReceipts(db, receipts);
  }
  await db.query('checkpoint');
}

async function integrate(db: Pool): Promise<Record<string, number>> {
  const checkpoints = {
    signer: makeCheckpointSigner(),
    memory: makeCheckpointMemory(),
    originOf,
    limit: 200,
    intervalMs: 1_000,
  };
  const cpu = process.cpuUsage();
  const start = performance.now();
  let [integrated, batches, publishing] = [0, 0, 0];
  for (;;) {
    const result = await integrateBatch(db, BATCH);
    if (result.claimed === 0) break;
    integrated += result.integrated;
    batches += 1;
    const before = performance.now();
    await publishCheckpoints(db, checkpoints);
    publishing += performance.now() - before;
  }
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return {
    integrated,
    batches,
    milliseconds: Math.round(ms),
    perSecond: Math.round((integrated / ms) * 1_000),
    ofWhichPublishingMs: Math.round(publishing),
    nodeCpuMs: Math.round((user + system) / 1_000),
  };
}
