import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { examinePostgres } from '#cli/doctor/postgres.ts';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { BEHIND_MAX_MS, Replica } from '#shared/kernel/postgres/replica.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { createPackSource } from '#shared/packs/postgres/pack-source.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { ORG, PackLab } from '#test/support/packs.ts';
import { startReplica } from '#test/support/replica.ts';
import { until } from '#test/support/until.ts';

const home = await mkdtemp(join(tmpdir(), 'docket-primary-'));
const primary = await startEmbeddedPostgres({ dataDir: home, durable: false });
atFileEnd(() => primary.stop());
await migrateToLatest(primary.url);
const streaming = await startReplica(primary.url, home);
atFileEnd(() => streaming.stop());

const poolAt = (url: string): Pool => {
  const pool = createPool({ url, max: 3, applicationName: 'test' });
  atFileEnd(() => pool.end());
  return pool;
};
const pool = poolAt(primary.url);
const onReplica = poolAt(streaming.url);
const lab = new PackLab(pool, home);

/** A replica under watch, for which time passes only when the test says so. */
function watched(url: string) {
  const said: string[] = [];
  let readFrom: string | undefined;
  let passedMs = 0;
  const replica = new Replica({
    url,
    primaryUrl: primary.url,
    applicationName: 'test',
    now: () => passedMs,
    events: {
      used: () => said.push('used'),
      leftOut: (reason) => said.push(reason),
      read: (from) => (readFrom = from),
    },
  });
  atFileEnd(() => replica.close());
  const reads = replica.over(pool, 2);
  const ledger = createLedgerReader(pool, reads);
  return {
    replica,
    reads,
    ledger,
    said,
    pass: (ms: number) => (passedMs += ms),
    /** Where a list was read. */
    async listed() {
      const { items } = await ledger.listReceipts({ orgId: ORG, limit: 100, order: 'asc' });
      return { from: readFrom, ids: items.map(({ id }) => id) };
    },
    lastFrom: () => readFrom,
  };
}

/** Looks until the replica has caught up. */
async function caughtUp({ replica, said }: ReturnType<typeof watched>): Promise<void> {
  await until(async () => {
    await replica.look();
    return said.at(-1) === 'used';
  });
}

/** A server and its backends: each answers by itself. */
async function processesOf({ pid }: { pid: number }): Promise<number[]> {
  const { rows } = await onReplica.query<{ pid: number }>('select pid from pg_stat_activity');
  return [pid, ...rows.map((row) => row.pid)];
}

describe('a replica that streams [survives.replica]', () => {
  it('is read for lists while it is known to be near, and for nothing before it was looked at', async () => {
    const [receipt] = await lab.issue(1);
    const one = watched(streaming.url);
    expect((await one.listed()).from).toBe('primary');
    await caughtUp(one);
    expect(await one.listed()).toEqual({ from: 'replica', ids: [receipt!.id] });
    one.pass(BEHIND_MAX_MS + 1);
    expect((await one.listed()).from).toBe('primary');
  });

  it('that is behind hides no receipt from who asks for it by its id, is read from while that is short, and no longer [survives.replica]', async () => {
    const one = watched(streaming.url);
    await caughtUp(one);
    const before = await one.listed();
    await onReplica.query('select pg_wal_replay_pause()');
    try {
      const [late] = await lab.issue(1);
      expect((await one.ledger.receipt(ORG, late!.id))?.id).toBe(late!.id);
      expect(await one.listed()).toEqual(before);
      // Its caller goes on from a receipt that the replica does not have yet.
      const page = { orgId: ORG, limit: 9, order: 'asc', after: late!.id } as const;
      expect((await one.ledger.listReceipts(page)).items).toEqual([]);
      expect(one.lastFrom()).toBe('primary');
      one.pass(BEHIND_MAX_MS + 1);
      await one.replica.look();
      expect(one.said.at(-1)).toBe('it is too far behind');
      const { from, ids } = await one.listed();
      expect(from).toBe('primary');
      expect(ids).toContain(late!.id);
    } finally {
      await onReplica.query('select pg_wal_replay_resume()');
    }
    await caughtUp(one);
    expect((await one.listed()).from).toBe('replica');
  });

  it('gives a pack what lies below its checkpoint only once it has that checkpoint', async () => {
    const one = watched(streaming.url);
    await caughtUp(one);
    await onReplica.query('select pg_wal_replay_pause()');
    const source = createPackSource(pool, one.reads);
    try {
      const size = await lab.integrate();
      expect(await source.entries(ORG, 0, size, size)).toHaveLength(size);
      expect(one.lastFrom()).toBe('primary');
      await onReplica.query('select pg_wal_replay_resume()');
      await until(async () => {
        await one.replica.look();
        const entries = await source.entries(ORG, 0, size, size);
        expect(entries).toHaveLength(size);
        return one.lastFrom() === 'replica';
      });
    } finally {
      await onReplica.query('select pg_wal_replay_resume()');
    }
  });

  it('is shown by docket doctor, with how far it is behind', async () => {
    const findings = await examinePostgres({
      url: primary.url,
      ours: false,
      readUrl: streaming.url,
    });
    expect(findings.find(({ name }) => name === 'PostgreSQL replica')).toMatchObject({
      verdict: 'ok',
      detail: expect.stringMatching(/^DATABASE_READ_URL is \d+ ms behind at most$/) as string,
    });
  });

  it('is left out where it is the primary itself', async () => {
    const one = watched(primary.url);
    await one.replica.look();
    expect(one.said).toEqual(['it is a primary, and no replica']);
    expect((await one.listed()).from).toBe('primary');
  });

  it('that hangs or dies costs who reads from it one attempt, and others nothing [survives.replica]', async () => {
    const one = watched(streaming.url);
    await caughtUp(one);
    const stopped = await processesOf(streaming);
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    try {
      const waits = one.listed();
      void one.replica.look();
      expect((await waits).from).toBe('primary');
      expect(one.said.at(-1)).toBe('it gives no answer');
      expect((await one.listed()).from).toBe('primary');
    } finally {
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
    }
    await caughtUp(one);
    expect((await one.listed()).from).toBe('replica');
    streaming.kill();
    await streaming.exited;
    const { from, ids } = await one.listed();
    expect(from).toBe('primary');
    expect(ids.length).toBeGreaterThan(1);
    expect(one.said.at(-1)).not.toBe('used');
  });
});
