/** Errors as the drivers throw them, of servers that are away and of servers that refuse what they are asked. */
import { Cluster, type Redis } from 'ioredis';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { failureOfStore, isStoreAway } from '#shared/kernel/store-away.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const server = await startTestRedis();
/** Of the services that listen below 1,024 none has had this one for decades. */
const CLOSED_PORT = 1;

async function errorOf(question: Promise<unknown>): Promise<unknown> {
  return question.then(
    () => expect.fail('it was answered'),
    (error: unknown) => error,
  );
}

/** Asks the server of the tests, once it is connected to. */
async function asking(ask: (redis: Redis) => Promise<void>): Promise<void> {
  const redis = connectRedis({ url: server.url, name: 'test', use: 'interactive' }) as Redis;
  try {
    await until(() => redis.status === 'ready');
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

describe('a store is away [errors.store]', () => {
  it('where nothing listens, and where PostgreSQL cancels, ends or refuses a connection', async () => {
    const { url, pool } = database;
    const away = new URL(url);
    away.port = String(CLOSED_PORT);
    const nowhere = createPool({ url: away.href, max: 1, applicationName: 'test' });
    expect(isStoreAway(await errorOf(nowhere.query('select 1')))).toBe(true);
    await nowhere.end();
    const hasty = createPool({ url, max: 1, applicationName: 'test', statementTimeoutMs: 50 });
    expect(isStoreAway(await errorOf(hasty.query('select pg_sleep(60)')))).toBe(true);
    await hasty.end();
    const client = await pool.connect();
    client.on('error', () => {});
    const ended = errorOf(client.query('select pg_terminate_backend(pg_backend_pid())'));
    expect(isStoreAway(await ended)).toBe(true);
    expect(isStoreAway(await errorOf(client.query('select 1')))).toBe(true);
    client.release(true);
    const standby = 'set transaction read only; create table mine (id integer)';
    expect(isStoreAway(await errorOf(pool.query(standby)))).toBe(true);
  });

  it('where Redis does not listen, or takes no writes', async () => {
    const nowhere = connectRedis({
      url: `redis://127.0.0.1:${CLOSED_PORT}`,
      name: 'test',
      use: 'interactive',
    });
    expect(isStoreAway(await errorOf(nowhere.get('a')))).toBe(true);
    nowhere.disconnect();
    await asking(async (redis) => {
      await redis.replicaof('127.0.0.1', 1);
      expect(isStoreAway(await errorOf(redis.set('a', 'b')))).toBe(true);
      await redis.replicaof('NO', 'ONE');
    });
  });

  it('where slots of a cluster go to another master between two commands and their sending', async () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: CLOSED_PORT }], { lazyConnect: true });
    const together = cluster.pipeline().get('a').get('b');
    // As its next look at the slots would find them.
    const masters = Array.from({ length: 16_384 }, (_, slot) => (slot < 8_192 ? 0 : 1));
    Object.assign(cluster, { slots: masters.map((master) => [master]), _groupsBySlot: masters });
    expect(isStoreAway(await errorOf(together.exec()))).toBe(true);
    cluster.disconnect();
  });

  it('not where it refuses what it is asked, which is a fault of ours', async () => {
    const { pool } = database;
    for (const statement of ['select nothing', 'select 1/0', 'select * from no_table'])
      expect(failureOfStore(await errorOf(pool.query(statement))).code).toBe('internal_error');
    await asking(async (redis) => {
      await redis.set('text', 'a');
      expect(isStoreAway(await errorOf(redis.lpush('text', 'b')))).toBe(false);
      expect(isStoreAway(await errorOf(redis.eval('return nothing()', 0)))).toBe(false);
    });
  });

  it('where an error comes from one that says so', async () => {
    const cut = Object.assign(new Error('read'), { code: 'ECONNRESET' });
    const fault = failureOfStore(new Error('the look-up failed', { cause: cut }));
    expect([fault.code, fault.retryAfterMs]).toEqual(['store_unavailable', 1_000]);
    expect(fault.message).not.toContain('read');
    expect(isStoreAway(new Error('MOVED 15224 127.0.0.1:7001'))).toBe(true);
    // As the object store is asked, by undici.
    const unreached = await errorOf(request(`http://127.0.0.1:${CLOSED_PORT}`));
    expect(isStoreAway(unreached)).toBe(true);
    const circle = new Error('a');
    circle.cause = circle;
    for (const other of [circle, new TypeError('x is undefined'), 'ECONNRESET', undefined])
      expect(isStoreAway(other)).toBe(false);
  });
});
