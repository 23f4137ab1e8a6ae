/** What a standby of PostgreSQL, or a backup, has of what was published, when it takes the primary's place. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Pool } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { examinePublished } from '#cli/fsck/published.ts';
import { findBinaries, startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import {
  collectFindings,
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';
import { childEnvironment } from '#test/support/child-environment.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { copyData, startReplica } from '#test/support/replica.ts';
import { until } from '#test/support/until.ts';

const CLI = join(import.meta.dirname, '../../../cli');
const home = await mkdtemp(join(tmpdir(), 'docket-primary-'));
const primary = await startEmbeddedPostgres({ dataDir: home, durable: false });
atFileEnd(() => primary.stop());
await migrateToLatest(primary.url);
const standby = await startReplica(primary.url, home);
atFileEnd(() => standby.stop());

const poolAt = (url: string): Pool => {
  const pool = createPool({ url, max: 4, applicationName: 'test' });
  atFileEnd(() => pool.end());
  return pool;
};
const [onPrimary, onStandby] = [poolAt(primary.url), poolAt(standby.url)];
const signer = makeCheckpointSigner();
const memory = makeCheckpointMemory();

const set = async (pool: Pool, setting: string): Promise<void> => {
  await pool.query(`alter system set ${setting}`);
  await pool.query('select pg_reload_conf()');
};

async function grow(pool: Pool, count: number) {
  await submitReceipts(pool, makeReceipts('org_a', count));
  await integrateAll(pool);
  return publishCheckpoints(pool, { signer, memory, originOf, limit: 10, intervalMs: 0 });
}

const examine = (pool: Pool) =>
  examinePublished(pool, {
    remembered: new Map(memory.heads),
    recall: (logs) => memory.recall(logs),
  });

const holds = async (pool: Pool, condition: string): Promise<boolean> =>
  (await pool.query<{ holds: boolean }>(`select ${condition} as holds`)).rows[0]!.holds;

describe('a standby [survives.restore]', () => {
  it('that is synchronous has all that was published, whenever it is cut off', async () => {
    // Tests run without waiting for disks; here each commit waits for the standby's word.
    await onPrimary.query('alter role current_user set synchronous_commit = on');
    await set(onPrimary, `synchronous_standby_names = '*'`);
    await until(() =>
      holds(onPrimary, `exists (select from pg_stat_replication where sync_state = 'sync')`),
    );
    const synchronous = poolAt(primary.url);
    await grow(synchronous, 3);
    await set(onStandby, `primary_conninfo = ''`);
    await until(() => holds(onStandby, 'not exists (select from pg_stat_wal_receiver)'));
    const waiting = grow(synchronous, 2);
    try {
      await until(() =>
        holds(onPrimary, `exists (select from pg_stat_activity where wait_event = 'SyncRep')`),
      );
      expect(memory.heads.get('org_a')?.size).toBe(3);
      await until(() => holds(onStandby, 'pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()'));
      expect(await examine(onStandby)).toEqual([]);
    } finally {
      await set(onPrimary, `synchronous_standby_names = ''`);
      await waiting;
    }
    expect(memory.heads.get('org_a')?.size).toBe(5);
  });

  it('that was behind is sound once it is promoted, and fsck says what it has lost before its log halts', async () => {
    await grow(onPrimary, 1_229);
    await onStandby.query('select pg_promote()');
    expect(await collectFindings(onStandby, { signatures: null })).toEqual([
      expect.objectContaining({ kind: 'signatures_unchecked' }),
    ]);
    const behind = {
      kind: 'behind',
      severity: 'loss',
      orgId: 'org_a',
      subject: 'log',
      detail: '1,234 entries published, 3 here, as Redis remembers.',
    };
    expect(await examine(onStandby)).toEqual([behind]);
    expect(await grow(onStandby, 1)).toMatchObject({ signed: [], halted: [{ orgId: 'org_a' }] });
    expect(await examine(onPrimary)).toEqual([]);
  });
});

describe('docket backup --check [survives.restore]', () => {
  const folder = join(home, 'backup');
  const scratch = join(home, 'scratch');
  let docket: (...args: string[]) => ReturnType<typeof runDocket>;
  /** Also where commands ask. */
  let publish: (count: number) => Promise<void>;

  beforeAll(async () => {
    await mkdir(folder);
    await mkdir(scratch);
    await copyData(primary.url, home, join(folder, 'base'));
    const redis = await startTestRedis();
    const client = connectRedis({ url: redis.url, name: 'test', use: 'patient' });
    atFileEnd(async () => client.disconnect());
    publish = async (count) => {
      await grow(onPrimary, count);
      await createCheckpointMemory(client).remember(memory.heads);
    };
    const { postgres } = await findBinaries();
    const env = { DATABASE_URL: primary.url, REDIS_URL: redis.url };
    docket = (...args) =>
      runDocket(['backup', '--programs', dirname(postgres), '--scratch', scratch, ...args], env);
  });

  it('finds what the archive holds sound, says what came after it, and leaves backup and disk as they were', async () => {
    await publish(3);
    // As `archive_command` does.
    await onPrimary.query('select pg_switch_wal()');
    await cp(join(home, 'data', 'pg_wal'), join(folder, 'wal'), { recursive: true });
    const isAsItWas = async () => [
      await readdir(folder, { recursive: true }),
      await readFile(join(folder, 'base', 'backup_label'), 'utf8'),
    ];
    const before = await isAsItWas();
    const sound = await docket(folder, '--check');
    expect(sound).toMatchObject({ code: 0, stderr: '' });
    expect(sound.stdout).toMatch(
      /^base +\S+\/base\nbegun +\d+ \w+ \d{4}, \d\d:\d\d UTC\nwal +\S+\/wal\npostgresql +18\nlast_transaction +\d+ \w+ \d{4}, \d\d:\d\d UTC\n/,
    );
    expect(sound.stdout).toContain('A copy was restored. The ledger is sound: 1237 entries');
    await publish(2);
    const behind = await docket(folder, '--check');
    expect(behind.code).toBe(4);
    expect(behind.stdout).toContain(
      'loss  org_a  log  behind: 1,239 entries published, 1,237 here, as Redis remembers.',
    );
    expect(behind.stdout).toMatch(/A restore would lose what is named above, unless .*\n$/);
    const { stdout } = await docket(folder, '--check', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      verdict: 'behind',
      entries: 1_237,
      backup: { base: join(folder, 'base'), wal: join(folder, 'wal') },
    });
    expect(await isAsItWas()).toEqual(before);
    expect(await readdir(scratch)).toEqual([]);
  });

  it('leaves neither the copy nor its server behind when it is told to stop', async () => {
    // An archive whose first file never comes, so that the server waits for it for ever.
    const label = await readFile(join(folder, 'base', 'backup_label'), 'utf8');
    const slow = join(home, 'slow-wal');
    await mkdir(slow);
    await promisify(execFile)('mkfifo', [join(slow, /\(file (\w+)\)/.exec(label)![1]!)]);
    const { postgres } = await findBinaries();
    const command = [join(CLI, 'docket.ts'), 'backup', folder, '--check', '--wal', slow];
    const places = ['--programs', dirname(postgres), '--scratch', scratch];
    const child = spawn(process.execPath, [...command, ...places], {
      env: { ...childEnvironment(), DATABASE_URL: primary.url },
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    const copyOf = async () =>
      (await readdir(scratch, { recursive: true })).map((name) => join(scratch, name));
    await until(async () => (await copyOf()).some((name) => name.endsWith('postmaster.pid')));
    const pidFile = (await copyOf()).find((name) => name.endsWith('postmaster.pid'))!;
    const pid = Number((await readFile(pidFile, 'utf8')).split('\n')[0]);
    child.kill('SIGTERM');
    expect(await ended).toEqual([143, null]);
    expect(await readdir(scratch)).toEqual([]);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('says why a folder is no backup, and why a copy does not start', async () => {
    expect(await docket(scratch, '--check')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has no base backup: neither it nor a folder in it has/),
    });
    expect((await docket(join(scratch, 'none'))).stderr).toMatch(
      /none is no folder that can be read/,
    );
    const elsewhere = await docket(folder, '--check', '--scratch', join(scratch, 'none'));
    expect(elsewhere.stderr).toMatch(/^docket: A copy cannot lie in \S+none \(--scratch\): /);
    const label = await readFile(join(folder, 'base', 'backup_label'), 'utf8');
    await rm(join(folder, 'wal', /\(file (\w+)\)/.exec(label)![1]!));
    const torn = await docket(folder, '--check');
    expect(torn).toMatchObject({ code: 1, stdout: '' });
    expect(torn.stderr).toMatch(/^docket: PostgreSQL of the copy did not start/);
    expect(await readdir(scratch)).toEqual([]);
  });
});
