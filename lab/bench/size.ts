/**
 * Counts what a request leaves in PostgreSQL: bytes on disk and bytes written ahead, by table and index. Receipts are made and
 * committed by the code of the receipts worker, integrated by that of the ledger, and each has its row of what became of the
 * request. The counts do not depend on a machine's speed.
 *
 * Usage: npm run bench size -- [--requests 20000] [--organisations 20] [--database <URL of an empty database, as a superuser>]
 *
 * Without a database, it starts the PostgreSQL that comes with Docket.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { integrateBatch } from '#shared/ledger/postgres/integration.ts';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import type { RequestRow } from '#shared/requests/row.ts';
import {
  catalogue,
  inferenceRecord,
  issuer,
  makeReceiptSigner,
  methodology,
} from '#test/support/issuing.ts';
import { issueReceipt } from '#workers/receipts/issue.ts';
import { readNumber, readOptions } from './support/arguments.ts';

const USAGE =
  'size -- [--requests 20000] [--organisations 20] [--database <URL of an empty database, as a superuser>]';
const options = readOptions(USAGE, {
  requests: { type: 'string', default: '20000' },
  organisations: { type: 'string', default: '20' },
  database: { type: 'string' },
});
const REQUESTS = readNumber(USAGE, 'requests', options.requests);
const ORGANISATIONS = readNumber(USAGE, 'organisations', options.organisations);
/** As at 64 connections: receipts of a batch, and of a round of the ledger. */
const COMMITTED_AT_ONCE = 16;
const INTEGRATED_AT_ONCE = 320;
/** Of which what vacuum writes ahead is counted once their pages have been written out. */
const LATE = 3_200;
const VACUUMED = ['ledger_body', 'ledger_entry', 'ledger_tile', 'receipt_pending', 'request'];
/** Partitions count as the table that they are of. */
const NAME = String.raw`regexp_replace(c.relname, '_(default|\d{4}_\d\d(_\d\d)?)(?=_|$)', '')`;

const ORGS = Array.from({ length: ORGANISATIONS }, () => ({
  orgId: newId('org'),
  keyId: newId('key'),
}));

if (options.database === undefined) {
  const directory = await mkdtemp(join(tmpdir(), 'docket-bench-size-'));
  const server = await startEmbeddedPostgres({ dataDir: directory });
  await measure(server.url).finally(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });
} else await measure(options.database);

async function measure(url: string): Promise<void> {
  const pool = createPool({ url, max: 2, applicationName: 'bench' });
  try {
    await migrateToLatest(pool);
    await pool.query('create extension if not exists pg_walinspect');
    await store(pool, INTEGRATED_AT_ONCE);
    await pool.query('checkpoint');
    const [empty, from] = [await sizes(pool), await position(pool)];
    await store(pool, REQUESTS);
    const stored = await position(pool);
    print('on disk', less(await sizes(pool), empty), REQUESTS);
    // Before the next checkpoint, which removes what was written ahead.
    const rows = await writtenAhead(pool, from, stored, 'record_length - fpi_length');
    print('written ahead', rows, REQUESTS);
    const pages = await writtenAhead(pool, from, stored, 'fpi_length');
    print('written ahead as whole pages', pages, REQUESTS);
    print('written ahead by vacuum at once', await byVacuum(pool), REQUESTS);
    await store(pool, LATE);
    await pool.query('checkpoint');
    print('written ahead by vacuum after a checkpoint', await byVacuum(pool), LATE);
  } finally {
    await pool.end();
  }
}

async function store(pool: Pool, requests: number): Promise<void> {
  const { signer } = makeReceiptSigner();
  const deps = {
    issuer,
    signer: () => signer,
    estimate: methodology.estimate,
    catalogue: () => catalogue,
    now: Date.now,
  };
  const receipts = createReceiptStore(pool);
  for (let done = 0; done < requests; done += COMMITTED_AT_ONCE) {
    const records = Array.from({ length: COMMITTED_AT_ONCE }, (_, i) =>
      inferenceRecord({ ...ORGS[(done + i) % ORGANISATIONS]!, ...figures(done + i) }),
    );
    await receipts.commit(records.map((record) => issueReceipt(deps, record).row));
    await writeRequests(pool, records.map(requestRow));
    if ((done + COMMITTED_AT_ONCE) % INTEGRATED_AT_ONCE === 0) {
      await integrateBatch(pool, INTEGRATED_AT_ONCE);
    }
  }
  while ((await integrateBatch(pool, INTEGRATED_AT_ONCE)).claimed > 0);
}

/** What differs from one request to the next. */
function figures(number: number): Partial<Pick<InferenceRecord, 'queuedMs' | 'upstreamMs'>> & {
  usage: {
    inputTokens: number;
    cachedInputTokens: number;
    outputTokens: number;
    source: 'upstream';
  };
} {
  return {
    queuedMs: number % 40,
    upstreamMs: 300 + (number % 2_000),
    usage: {
      inputTokens: 100 + (number % 1_000),
      cachedInputTokens: number % 100,
      outputTokens: 1 + (number % 500),
      source: 'upstream',
    },
  };
}

function requestRow(record: ReturnType<typeof inferenceRecord>): RequestRow {
  return {
    id: record.requestId,
    orgId: record.orgId,
    keyId: record.keyId,
    network: '192.0.2.1',
    route: 'POST /v1/chat/completions',
    status: 200,
    code: null,
    model: record.model,
    requestedModel: null,
    region: record.region,
    streamed: false,
    tags: null,
    hasReceipt: true,
    replayOf: null,
    inputTokens: record.usage.inputTokens,
    outputTokens: record.usage.outputTokens,
    queuedMs: 3,
    firstMs: null,
    totalMs: 1_300,
    upstreamCalls: 1,
    requests: 1,
    lastMs: null,
  };
}

type Bytes = ReadonlyMap<string, number>;

async function sizes(pool: Pool): Promise<Bytes> {
  const { rows } = await pool.query<{ name: string; bytes: string }>(
    `select ${NAME} as name, sum(pg_relation_size(c.oid) + coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)) as bytes
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'i') group by 1`,
  );
  return bytesOf(rows);
}

function less(now: Bytes, before: Bytes): Bytes {
  return new Map([...now].map(([name, bytes]) => [name, bytes - (before.get(name) ?? 0)]));
}

async function position(pool: Pool): Promise<string> {
  // Its commit has all before it written out, and no more can be read.
  await pool.query(`select pg_logical_emit_message(true, 'bench', '')`);
  const { rows } = await pool.query<{ lsn: string }>('select pg_current_wal_flush_lsn() as lsn');
  return rows[0]!.lsn;
}

/** As autovacuum does it where nothing is left for later. */
async function byVacuum(pool: Pool): Promise<Bytes> {
  const from = await position(pool);
  await pool.query(`vacuum (freeze) ${VACUUMED.join(', ')}`);
  return writtenAhead(pool, from, await position(pool), 'record_length');
}

/** By the first page that a record is about. */
async function writtenAhead(pool: Pool, from: string, to: string, bytes: string): Promise<Bytes> {
  const { rows } = await pool.query<{ name: string; bytes: string }>(
    `select coalesce(${NAME}, 'transactions and others') as name, sum(${bytes}) as bytes
     from pg_get_wal_records_info($1, $2) w
     left join pg_class c on pg_relation_filenode(c.oid) = substring(w.block_ref from 'rel \\d+/\\d+/(\\d+)')::oid
     group by 1`,
    [from, to],
  );
  return bytesOf(rows);
}

function bytesOf(rows: readonly { name: string; bytes: string }[]): Bytes {
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

function print(title: string, bytes: Bytes, requests: number): void {
  const all = [...bytes.values()].reduce((sum, each) => sum + each, 0);
  const line = (name: string, each: number): string =>
    `  ${name.slice(0, 40).padEnd(42)}${(each / requests).toFixed(0).padStart(6)}\n`;
  const most = [...bytes]
    .filter(([, each]) => each / requests >= 5)
    .toSorted(([, a], [, b]) => b - a);
  process.stdout.write(`bytes ${title}\n${line('all', all)}`);
  for (const [name, each] of most) process.stdout.write(line(name, each));
}
