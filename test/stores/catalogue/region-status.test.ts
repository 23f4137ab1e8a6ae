import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import {
  createRegionStatusStore,
  watchRegionStatus,
} from '#shared/catalogue/redis/region-status.ts';
import { startTestRedis } from '#test/support/redis.ts';

const server = await startTestRedis();
let client: RedisClient;
let watch: ReturnType<typeof watchRegionStatus> | undefined;

beforeEach(async () => {
  client = connectRedis({ url: server.url, name: 'test', use: 'patient' });
  await client.flushall();
});
afterEach(async () => {
  await watch?.stop();
  watch = undefined;
  client.disconnect();
});

const never = (error: Error): void => {
  throw error;
};

/** The watch promises a second; a busy machine may need some more. */
const SOON = { timeout: 60_000, interval: 20 };

describe('the region status store', () => {
  it('keeps what was set last, for each region', async () => {
    const store = createRegionStatusStore(client);
    expect([...(await store.list())]).toEqual([]);
    await store.set('eu-west', 'degraded');
    await store.set('eu-north', 'decommissioned');
    await store.set('eu-west', 'normal');
    expect(new Map(await store.list())).toEqual(
      new Map([
        ['eu-west', 'normal'],
        ['eu-north', 'decommissioned'],
      ]),
    );
  });

  it('passes over a status that this version does not know', async () => {
    await client.hset('regions:status', 'eu-west', 'on-fire');
    expect((await createRegionStatusStore(client).list()).size).toBe(0);
  });
});

describe('the watch of a process', () => {
  it('knows the settings once it has started, and a change soon after', async () => {
    const store = createRegionStatusStore(client);
    await store.set('eu-west', 'degraded');
    watch = watchRegionStatus(client, never);
    expect(watch.current().size).toBe(0);
    await watch.start();
    expect(watch.current().get('eu-west')).toBe('degraded');
    await store.set('eu-west', 'normal');
    await vi.waitFor(() => expect(watch?.current().get('eu-west')).toBe('normal'), SOON);
  });

  it('keeps the old settings while the store cannot be read, says so, and goes on when it can', async () => {
    const store = createRegionStatusStore(client);
    await store.set('eu-west', 'degraded');
    const errors: Error[] = [];
    watch = watchRegionStatus(client, (error) => errors.push(error));
    await watch.start();
    // A value of another kind under the name makes every read fail, as a store that refuses does.
    await client.set('regions:status', 'not a hash');
    await vi.waitFor(() => expect(errors).not.toEqual([]), SOON);
    expect(watch.current().get('eu-west')).toBe('degraded');
    await client.del('regions:status');
    await vi.waitFor(() => expect(watch?.current().size).toBe(0), SOON);
  });
});
