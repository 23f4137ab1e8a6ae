import { describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { mkdtemp } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const database = await createTestDatabase();

describe('a pool', () => {
  it('acts as its role from the first statement, on every connection', async () => {
    const pool = database.poolAs('docket_purge', 3);
    const users = await Promise.all(
      [1, 2, 3].map(async () => {
        const { rows } = await pool.query<{ name: string }>(
          'select current_user as name, pg_sleep(0.05)',
        );
        return rows[0]?.name;
      }),
    );
    expect(users).toEqual(['docket_purge', 'docket_purge', 'docket_purge']);
  });

  it('has no more rights than its role', async () => {
    const pool = database.poolAs('docket_purge');
    await expect(pool.query('create table mine (id integer)')).rejects.toMatchObject({
      code: '42501',
    });
    await expect(pool.query('select * from receipt_pending')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('keeps its role beside options that the URL brings', async () => {
    const url = new URL(database.url);
    url.searchParams.set('options', '-c work_mem=5MB');
    const pool = createPool({
      url: url.href,
      role: 'docket_api',
      max: 1,
      applicationName: 'test',
    });
    const { rows } = await pool.query(
      `select current_user as name, current_setting('work_mem') as memory`,
    );
    await pool.end();
    expect(rows).toEqual([{ name: 'docket_api', memory: '5MB' }]);
  });

  it('plans a statement that has a name once, where it keeps plans', async () => {
    const options = { url: database.url, max: 1, applicationName: 'test', keepsPlans: true };
    const pool = createPool({ ...options, role: 'docket_receipts' });
    // One for which PostgreSQL would take a plan of its own each time: what it reads depends on what is given.
    const text = 'select from unnest($1::text[]) as t (id) where id = (select current_user::text)';
    for (const id of ['a', 'b', 'c']) await pool.query({ name: 'kept', text, values: [[id]] });
    const { rows } = await pool.query(
      'select generic_plans, custom_plans from pg_prepared_statements',
    );
    await pool.end();
    expect(rows).toEqual([{ generic_plans: '3', custom_plans: '0' }]);
  });

  it('cancels a statement that takes too long', async () => {
    const options = { url: database.url, max: 1, applicationName: 'test', statementTimeoutMs: 100 };
    const pool = createPool(options);
    await expect(pool.query('select pg_sleep(60)')).rejects.toMatchObject({ code: '57014' });
    expect((await pool.query('select 1 as up')).rows).toEqual([{ up: 1 }]);
    await pool.end();
  });

  it('outlives PostgreSQL: fails while it is away, works again when it is back', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'docket-pool-'));
    const server = await startEmbeddedPostgres({ dataDir, durable: false });
    const port = Number(new URL(server.url).port);
    const pool = createPool({ url: server.url, max: 2, applicationName: 'test' });
    await pool.query('select 1');
    const inUse = pool.query('select pg_sleep(60)').then(
      () => 'answered',
      () => 'failed',
    );
    server.kill();
    expect(await inUse).toBe('failed');
    await expect(pool.query('select 1')).rejects.toThrow();
    const again = await startEmbeddedPostgres({ dataDir, durable: false, port });
    expect((await pool.query('select 1 as up')).rows).toEqual([{ up: 1 }]);
    await pool.end();
    await again.stop();
  });

  it('closes a connection that the network has swallowed instead of using it again [survives.database-connection]', async () => {
    const hole = await blackHole(new URL(database.url));
    const url = new URL(database.url);
    url.port = String(hole.port);
    const pool = createPool({
      url: url.href,
      max: 1,
      applicationName: 'test',
      statementTimeoutMs: 200,
    });
    const client = await pool.connect();
    hole.swallow();
    await expect(client.query('select 1')).rejects.toThrow(/timeout/);
    hole.close();
    client.release();
    expect(pool.totalCount).toBe(0);
    await pool.end();
  });
});

interface BlackHole {
  port: number;
  /** From now on bytes go in and none come out. */
  swallow: () => void;
  close: () => void;
}

/** Stands between a client and PostgreSQL. */
async function blackHole(target: URL): Promise<BlackHole> {
  const sockets: Socket[] = [];
  let swallowing = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    near.on('data', (bytes) => swallowing || far.write(bytes)).on('error', () => {});
    far.on('data', (bytes) => swallowing || near.write(bytes)).on('error', () => {});
    sockets.push(near, far);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    swallow: () => {
      swallowing = true;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
