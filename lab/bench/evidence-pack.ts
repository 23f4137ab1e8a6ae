/**
 * The cost of a pack: npm run bench evidence-pack [receipts] [derivations]
 * Makes real signed receipts in a database of its own (not part of the time), exports them, and verifies the pack with
 * `docket verify` and with the script that every pack holds; each in a process of its own, so that peak memory is
 * theirs. Each derivation adds a lineage document to the pack. Prints seconds, receipts per second and peak RSS.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { createDirectoryStore } from '#shared/packs/files/directory.ts';
import { PackLab } from '#test/support/packs.ts';
import { runCommand } from './gateway/run-command.ts';
import { readNumbers } from './support/arguments.ts';

/** Receipts of one derivation that are made in a row. */
const IN_A_ROW = 1_000;
/** Of the process that makes a pack: the database and the directory. */
const build = process.argv.slice(4);
const { receipts, derivations } = readNumbers(
  'evidence-pack [receipts] [derivations]',
  { receipts: 100_000, derivations: 1_000 },
  build.length === 2 ? process.argv.slice(2, 4) : undefined,
);

/** One run of the builder, in this process: the peak is that of a process which does nothing else. */
async function buildOne(url: string, directory: string): Promise<void> {
  const pool = createPool({ url, max: 3, role: 'docket_exports', applicationName: 'bench' });
  const lab = new PackLab(pool, directory);
  const upload = await createDirectoryStore(join(directory, 'packs')).create('exp_bench', 0);
  const range = { firstIndex: 0, lastIndex: receipts - 1, checkpointSize: receipts };
  const started = performance.now();
  const pack = await lab.pack('/dev/null', range, { sink: (bytes) => upload.write(bytes) });
  await upload.commit();
  report('export', performance.now() - started, { megabytes: Math.round(pack.sizeBytes / 1e6) });
  await pool.end();
}

function report(what: string, ms: number, more: object = {}): void {
  const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  const line = {
    what,
    receipts,
    seconds: Number((ms / 1_000).toFixed(1)),
    perSecond: Math.round((receipts / ms) * 1_000),
    ...(what === 'export' ? { peakRssMb: Math.round(Number(peak) / 1_024) } : {}),
    ...more,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function fill(url: string, directory: string): Promise<void> {
  await migrateToLatest(url);
  const pool = createPool({ url, max: 3, applicationName: 'bench' });
  const lab = new PackLab(pool, directory);
  const started = performance.now();
  for (let done = 0; done < receipts; done += IN_A_ROW) {
    // A model served in larger batches costs each request less, which makes another derivation.
    lab.footprint = { ...lab.footprint, batch: 1 + ((done / IN_A_ROW) % derivations) };
    await lab.issue(Math.min(IN_A_ROW, receipts - done));
    const size = await lab.integrate();
    if (size !== Math.min(done + IN_A_ROW, receipts)) throw new Error('the ledger has a gap');
    process.stderr.write(`\r${size} of ${receipts} receipts made`);
  }
  process.stderr.write('\n');
  report('fill', performance.now() - started);
  writeFileSync(join(directory, 'did.json'), lab.documents.didDocument());
  await pool.end();
}

async function verify(program: string, args: readonly string[]): Promise<void> {
  const { code, seconds, peakMb } = await runCommand(program, args);
  if (code !== 0) throw new Error(`${program} found the pack bad`);
  const name = program === process.execPath ? 'docket verify' : 'verify.py';
  report(`verify with ${name}`, seconds * 1_000, { peakRssMb: Math.round(peakMb) });
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'docket-bench-'));
  // As root, PostgreSQL runs as another user.
  chmodSync(directory, 0o755);
  const server = await startEmbeddedPostgres({
    dataDir: join(directory, 'postgres'),
    durable: false,
  });
  try {
    await fill(server.url, directory);
    const self = new URL(import.meta.url).pathname;
    const args = [self, String(receipts), String(derivations), server.url, directory];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    process.stdout.write(stdout);
    const pack = join(directory, 'packs/exp_bench.zip');
    const did = join(directory, 'did.json');
    process.stdout.write(`a pack of ${statSync(pack).size} bytes\n`);
    const cli = new URL('../../cli/docket.ts', import.meta.url).pathname;
    await verify(process.execPath, [cli, 'verify', pack, '--trust', did]);
    const script = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;
    await verify('python3', [script, pack, '--trust', did]);
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

const [url, directory] = build;
await (url === undefined || directory === undefined ? main() : buildOne(url, directory));
