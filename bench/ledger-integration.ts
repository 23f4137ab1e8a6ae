import { performance } from 'node:perf_hooks';
import { Pool } from 'pg';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { integrateBatch } from '#shared/ledger/postgres/integration.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import {
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipt,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';

/**
 * The speed at which promises become entries: node bench/ledger-integration.ts <url of an empty database> [entries] [organisations]
 * Bodies have 3,500 bytes, as receipts do. Submission is not part of the time.
 */
const [url = '', count = '40000', organisations = '20'] = process.argv.slice(2);
await migrateToLatest(url);
const pool = new Pool({ connectionString: url, max: 2 });
const filler = 'x'.repeat(3_400);
const total = Number(count);
for (let done = 0; done < total; done += 1_000) {
  const receipts = Array.from({ length: 1_000 }, (_, i) => {
    const receipt = makeReceipt(
      `org_${String((done + i) % Number(organisations)).padStart(26, '0')}`,
    );
    return { ...receipt, body: Buffer.from(`{"id":"${receipt.id}","filler":"${filler}"}`) };
  });
  await submitReceipts(pool, receipts);
}
await pool.query('checkpoint');

const signer = makeCheckpointSigner();
const memory = makeCheckpointMemory();
const cpu = process.cpuUsage();
const start = performance.now();
let integrated = 0;
let batches = 0;
let publishing = 0;
for (;;) {
  const result = await integrateBatch(pool, 2_000);
  if (result.claimed === 0) break;
  integrated += result.integrated;
  batches += 1;
  const before = performance.now();
  await publishCheckpoints(pool, { signer, memory, originOf, limit: 200, intervalMs: 1_000 });
  publishing += performance.now() - before;
}
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(cpu);
const report = {
  integrated,
  batches,
  milliseconds: Math.round(ms),
  perSecond: Math.round((integrated / ms) * 1_000),
  ofWhichPublishingMs: Math.round(publishing),
  nodeCpuMs: Math.round((user + system) / 1_000),
};
process.stdout.write(`${JSON.stringify(report)}\n`);
await pool.end();
