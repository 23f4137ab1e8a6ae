/**
 * What grows with what is stored: one system is filled with receipts to one size after the other, and at each size it is
 * asked the same things: 64 connections of plain requests, integration into the ledger, lists, single receipts, usage of
 * a month, an evidence pack, fsck, the drop of a month. The receipts are made by the code of the receipts worker, spread
 * over the thirty days before now, of one organisation: for the ledger that is the worst case.
 *
 * Usage: npm run bench growth -- [--sizes 10000,100000,1000000] [--seconds 5] [--rounds 3] [--packed 100000]
 *
 * TMPDIR names where the data lies; a million receipts take 6 GB.
 */
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEnvironment } from '#shared/config/config.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { openFiller } from './gateway/fill.ts';
import { launchGateway } from './gateway/launch.ts';
import { cpuByProcess, memoryByProcess } from './gateway/processes.ts';
import { type Figures, runLoad, runRound, type Target } from './gateway/rounds.ts';
import { runCommand } from './gateway/run-command.ts';
import { openSession } from './gateway/session.ts';
import { median, table } from './gateway/tables.ts';
import { readList, readNumber, readOptions } from './support/arguments.ts';

const USAGE =
  'growth -- [--sizes 10000,100000,1000000] [--seconds 5] [--rounds 3] [--packed 100000]';
const values = readOptions(USAGE, {
  sizes: { type: 'string', default: '10000,100000,1000000' },
  seconds: { type: 'string', default: '5' },
  rounds: { type: 'string', default: '3' },
  /** Receipts of the evidence pack, where there are so many. */
  packed: { type: 'string', default: '100000' },
});
const sizes = readList(USAGE, 'sizes', values.sizes);
const [loadSeconds, loadRounds, packed] = (['seconds', 'rounds', 'packed'] as const).map((name) =>
  readNumber(USAGE, name, values[name]),
) as [number, number, number];
const CHECKOUT = resolve(import.meta.dirname, '../..');
const LOAD = { connections: 64, streamed: false, seconds: loadSeconds };
/** Requests that are timed one after the other, of each kind. */
const ASKED = 30;
/** Receipts that wait when integration is timed. */
const INTEGRATED = 20_000;

const session = await openSession();
try {
  const dataDir = join(session.dataDir, 'docket');
  const gateway = await launchGateway(session.children, CHECKOUT, dataDir, session.port);
  const pool = createPool({ url: gateway.dev.database_url, max: 3, applicationName: 'bench' });
  const filler = openFiller(gateway, dataDir, pool);
  const target: Target = { name: 'docket', ...gateway };
  // Few: what they leave is stored, too.
  await runLoad(session, target, { ...LOAD, seconds: 3 });
  const found = new Map<string, Figures[]>();
  for (const size of sizes) {
    const { title, figures } = await measure(size);
    found.set(title, figures);
    process.stdout.write(`\n${table(new Map([[title, figures]]))}`);
  }
  process.stdout.write(`\nAll sizes\n${table(found)}`);
  await pool.end();

  async function measure(size: number): Promise<{ title: string; figures: Figures[] }> {
    const one = new Map<string, number>();
    one.set('s to fill', await fillTo(size));
    await integration(one);
    one.set('receipts stored', await stored());
    // As autovacuum does by itself a minute later.
    await pool.query('vacuum analyze');
    const rounds: Figures[] = [];
    for (let round = 0; round < loadRounds; round += 1) {
      rounds.push(await runRound(session, target, LOAD));
      await untilIntegrated();
    }
    for (const [name, bytes] of memoryByProcess(gateway.processes)) {
      one.set(`MB: ${name}`, bytes / 1e6);
    }
    await reads(one);
    await pack(one);
    await fsck(one);
    await drop(one);
    const { rows } = await pool.query<{ bytes: string }>(
      'select pg_database_size(current_database()) as bytes',
    );
    one.set('MB on disk', Number(rows[0]!.bytes) / 1e6);
    return { title: size.toLocaleString('en'), figures: [...rounds, one] };
  }

  async function fillTo(size: number): Promise<number> {
    const started = performance.now();
    const missing = size - INTEGRATED - (await stored());
    if (missing > 0) await filler.fill(missing);
    await untilIntegrated();
    return (performance.now() - started) / 1_000;
  }

  async function stored(): Promise<number> {
    const { rows } = await pool.query<{ count: string }>(
      'select coalesce(sum(size), 0) as count from ledger_head where org_id = $1',
      [filler.orgId],
    );
    return Number(rows[0]!.count);
  }

  async function untilIntegrated(): Promise<void> {
    for (;;) {
      const { rows } = await pool.query('select from receipt_pending limit 1');
      if (rows.length === 0) return;
      await sleep(10);
    }
  }

  /** The ledger's worker is stopped while receipts are made, and has them all before it when it goes on. */
  async function integration(figures: Map<string, number>): Promise<void> {
    const worker = gateway.dev.processes.find(({ role }) => role === 'ledger')!;
    process.kill(worker.pid, 'SIGSTOP');
    await filler.fill(INTEGRATED, 60_000).finally(() => process.kill(worker.pid, 'SIGCONT'));
    const [before, started] = [cpuByProcess(gateway.processes), performance.now()];
    await untilIntegrated();
    const seconds = (performance.now() - started) / 1_000;
    const after = cpuByProcess(gateway.processes);
    figures.set('integrated/s', INTEGRATED / seconds);
    for (const name of ['background', 'postgres']) {
      const us = (after.get(name) ?? 0) - (before.get(name) ?? 0);
      figures.set(`µs per integration: ${name}`, us / INTEGRATED);
    }
  }

  async function reads(figures: Map<string, number>): Promise<void> {
    const time = async (what: string, path: string): Promise<void> => {
      const times: number[] = [];
      for (let i = 0; i < ASKED; i += 1) {
        const started = performance.now();
        await ask(path);
        times.push(performance.now() - started);
      }
      figures.set(`ms: ${what}`, median(times));
    };
    const middle = await pool.query<{ entry_id: string }>(
      'select entry_id from ledger_entry where org_id = $1 and index = $2',
      [filler.orgId, Math.floor((await stored()) / 2)],
    );
    const id = middle.rows[0]!.entry_id;
    await time('100 receipts, the newest', '/receipts?limit=100');
    await time('100 receipts, in the middle', `/receipts?limit=100&after=${id}`);
    await time('one receipt', `/receipts/${id}`);
    await time('proof of one', `/receipts/${id}/proof`);
    const at = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const from = `from=${at(today - 31 * DAY_MS)}`;
    await time('usage of whole days', `/usage?${from}&to=${at(today + DAY_MS)}&group_by=day`);
    // Of the hour that has begun, receipts are read one by one.
    await time('usage until now', `/usage?${from}&to=${at(Date.now())}&group_by=day`);
    figures.set('receipts of this hour', await ofThisHour());
  }

  async function ofThisHour(): Promise<number> {
    const { rows } = await pool.query<{ count: string }>(
      `select count(*) from ledger_body where entry_id >= receipt_id_at(date_trunc('hour', now()))`,
    );
    return Number(rows[0]!.count);
  }

  async function pack(figures: Map<string, number>): Promise<void> {
    const count = Math.min(packed, await stored());
    const before = cpuByProcess(gateway.processes).get('background') ?? 0;
    const started = performance.now();
    const body = { first_index: 0, last_index: count - 1, format: 'evidence-pack' };
    let job = await ask<Pack>('/exports', 'POST', body);
    while (job.status !== 'ready') {
      if (job.status === 'failed') throw new Error('the export failed');
      await sleep(100);
      job = await ask<Pack>(`/exports/${job.id}`);
    }
    figures.set('receipts packed', count);
    figures.set('s to pack', (performance.now() - started) / 1_000);
    const us = (cpuByProcess(gateway.processes).get('background') ?? 0) - before;
    figures.set('µs per packed receipt', us / count);
    figures.set(
      'MB: background, after a pack',
      memoryByProcess(gateway.processes).get('background')! / 1e6,
    );
    await ask(`/exports/${job.id}`, 'DELETE');
  }

  async function fsck(figures: Map<string, number>): Promise<void> {
    const command = join(CHECKOUT, 'cli/docket.ts');
    const env = { ...readEnvironment(), DOCKET_DATA_DIR: dataDir };
    const args = [command, 'ledger', 'fsck', '--org', filler.orgId];
    const { code, seconds, peakMb } = await runCommand(process.execPath, args, env);
    if (code !== 0) throw new Error(`fsck ended with ${code}`);
    figures.set('s for fsck', seconds);
    figures.set('MB: fsck', peakMb);
  }

  /** How long the drop of last month's bodies takes; it is taken back. */
  async function drop(figures: Map<string, number>): Promise<void> {
    const client = await pool.connect();
    try {
      await client.query('begin');
      const started = performance.now();
      await client.query(`select drop_ledger_bodies(now() - interval '1 month')`);
      figures.set('ms to drop a month', performance.now() - started);
    } finally {
      await client.query('rollback');
      client.release();
    }
  }

  async function ask<T = unknown>(path: string, method = 'GET', body?: object): Promise<T> {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { ...gateway.headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text.startsWith('{') ? JSON.parse(text) : undefined) as T;
  }
} finally {
  await session.close();
}

interface Pack {
  id: string;
  status: string;
}
