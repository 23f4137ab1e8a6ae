import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '#embedded/stores/redis.ts';

const running: RedisServer[] = [];

async function start(dataDir?: string): Promise<RedisServer> {
  const server = await startRedisServer(dataDir === undefined ? {} : { dataDir });
  running.push(server);
  return server;
}

async function ask<T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()));
});

describe('the Redis of one machine', () => {
  it('keeps what it was told over a stop, appends to a file and never evicts', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'docket-redis-'));
    const first = await start(dataDir);
    await ask(first.url, (redis) => redis.set('kept', 'yes'));
    await first.stop();
    const second = await start(dataDir);
    expect(await ask(second.url, (redis) => redis.get('kept'))).toBe('yes');
    const settings = await ask(second.url, (redis) => redis.config('GET', 'appendonly'));
    expect(settings).toEqual(['appendonly', 'yes']);
    const policy = await ask(second.url, (redis) => redis.config('GET', 'maxmemory-policy'));
    expect(policy).toEqual(['maxmemory-policy', 'noeviction']);
  });

  it('starts many at once, each on a port of its own', async () => {
    const servers = await Promise.all(Array.from({ length: 8 }, () => start()));
    expect(new Set(servers.map(({ url }) => url)).size).toBe(8);
  });
});
