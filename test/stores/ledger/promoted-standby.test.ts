/** What a standby of PostgreSQL has of what was published, when it takes the primary's place. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { examinePublished } from '#cli/fsck/published.ts';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
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
import { startReplica } from '#test/support/replica.ts';
import { until } from '#test/support/until.ts';

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
