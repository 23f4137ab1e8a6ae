import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { ensureRedisBinary } from '#embedded/stores/redis-binary.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { findLeftovers, removeDeadRuns, RUN_PREFIX } from './leftovers.ts';
import { queryOnce, withDatabase } from './sql.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the run's PostgreSQL, as superuser; tests take `createTestDatabase` instead. */
    postgresUrl: string;
  }
}

/** Name of the migrated database that the tests' own are cloned from. */
export const TEMPLATE = 'docket_template';

/** A run takes about a gigabyte. */
const IN_MEMORY_BYTES_MIN = 3 * 1024 ** 3;

const ROOT = join(import.meta.dirname, '../..');
/** What `npm run check` knows of files that are as they were, which a test runs too; and bundles of packages. */
const OF_CHECKS = '.cache';

interface Run {
  directory: string;
  /** Names in the repository's own folder before the run. */
  rootEntries: ReadonlySet<string>;
  id: string;
  postgres: EmbeddedPostgres;
}

/** Several projects of one run share one server: the first to need it starts it, the last stops it. */
const shared = globalThis as { docketTestRun?: { users: number; run: Promise<Run> } };

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  shared.docketTestRun ??= { users: 0, run: startRun() };
  const current = shared.docketTestRun;
  current.users += 1;
  const run = await current.run;
  project.provide('postgresUrl', run.postgres.url);
  return async () => {
    current.users -= 1;
    if (current.users === 0) await finishRun(run);
  };
}

/** Everything of the run goes into one temporary directory, named after the process. */
async function startRun(): Promise<Run> {
  const parent = await runsDirectory();
  await removeDeadRuns(parent);
  await ensureRedisBinary((line) => process.stderr.write(`${line}\n`));
  const directory = await mkdtemp(join(parent, `${RUN_PREFIX}${process.pid}-`));
  // PostgreSQL may run as another user, who has to get to its files.
  await chmod(directory, 0o711);
  const id = randomBytes(8).toString('hex');
  process.env['TMPDIR'] = directory;
  process.env['DOCKET_TEST_RUN'] = id;
  // A start of the product is mostly compiling.
  process.env['NODE_COMPILE_CACHE'] = join(directory, 'compile-cache');
  const postgres = await startEmbeddedPostgres({
    dataDir: join(directory, 'postgres'),
    durable: false,
    maxConnections: 500,
  });
  const run = { directory, rootEntries: new Set(await readdir(ROOT)), id, postgres };
  try {
    const [preloaded] = await Promise.all([
      bundle(join(directory, 'bundles')),
      makeTemplate(postgres.url),
    ]);
    // For the files of tests, and the processes that they start.
    const quick = `--require=${JSON.stringify(preloaded)}`;
    process.env['NODE_OPTIONS'] =
      `${process.env['NODE_OPTIONS'] ?? ''} --conditions=docket-test ${quick}`.trim();
    process.env['DOCKET_TEST_SHIPPED'] = quick;
    return run;
  } catch (error) {
    await finishRun(run);
    throw error;
  }
}

/**
 * Where the directories of runs are: in memory where there is much of it. A test's database is some six hundred files, which
 * are copied there in a tenth of the time that a disk takes.
 */
async function runsDirectory(): Promise<string> {
  const inMemory = '/dev/shm';
  const { bavail, bsize } = await statfs(inMemory).catch(() => ({ bavail: 0, bsize: 0 }));
  const isRoomy =
    bavail * bsize >= IN_MEMORY_BYTES_MIN && process.availableMemory() >= 2 * IN_MEMORY_BYTES_MIN;
  return isRoomy ? inMemory : tmpdir();
}

async function makeTemplate(url: string): Promise<void> {
  await queryOnce(url, `create database ${TEMPLATE}`);
  await migrateToLatest(withDatabase(url, TEMPLATE));
}

/** In a process of its own: it may load every package. */
async function bundle(directory: string): Promise<string> {
  const program = join(import.meta.dirname, 'bundling-process.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program, directory]);
  return stdout;
}

/** Fails a run that leaves a process or a file behind, even when all its tests passed. */
async function finishRun({ directory, rootEntries, id, postgres }: Run): Promise<void> {
  await postgres.stop();
  const leftovers = await findLeftovers(directory, id);
  for (const { pid } of leftovers) process.kill(pid, 'SIGKILL');
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  const files = (await readdir(ROOT)).filter(
    (name) => !rootEntries.has(name) && name !== OF_CHECKS,
  );
  complain(
    'The tests left processes running',
    leftovers.map(({ pid, command }) => `${pid} ${command}`),
  );
  complain('The tests left files outside their temporary directory', files);
}

function complain(problem: string, items: readonly string[]): void {
  if (items.length === 0) return;
  process.stderr.write(`\n${problem}:\n${items.map((item) => `  ${item}`).join('\n')}\n`);
  process.exitCode = 1;
}
