import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { startTestRedis } from '#test/support/redis.ts';

let client: Redis;
let watcher: Redis;

beforeAll(async () => {
  const { url } = await startTestRedis();
  client = connectRedis({ url, name: 'test', use: 'interactive' }) as Redis;
  watcher = connectRedis({ url, name: 'watcher', use: 'blocking' }) as Redis;
  await new Promise((resolve) => client.once('ready', resolve));
  await client.ping();
});
afterAll(() => {
  client.disconnect();
  watcher.disconnect();
});

async function readsSoFar(): Promise<number> {
  return Number(/total_reads_processed:(\d+)/.exec(await watcher.info('stats'))![1]);
}

describe('commands of one turn', () => {
  it('commands of one turn reach the server in one write, and are answered in their order', async () => {
    const before = await readsSoFar();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => client.rpush('list', `value ${i}`)),
    );
    const own = 2;
    expect((await readsSoFar()) - before).toBeLessThanOrEqual(own + 1);
    expect(answers).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  });

  it('commands of one turn may hold text and bytes', async () => {
    const bytes = Buffer.from([0, 255, 13, 10]);
    const [, , stored] = await Promise.all([
      client.set('text', 'grüße'),
      client.set('bytes', bytes),
      client.getBuffer('bytes'),
    ]);
    expect(stored).toEqual(bytes);
    expect(await client.get('text')).toBe('grüße');
  });

  it('commands fail at once when the connection breaks before they are answered, and later ones work again', async () => {
    const blocked = client.blpop('nothing', 0);
    // It fails before the test waits for it.
    blocked.catch(() => {});
    await watcher.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await expect(blocked).rejects.toThrow();
    await new Promise((resolve) => client.once('ready', resolve));
    expect(await client.ping()).toBe('PONG');
  });
});
