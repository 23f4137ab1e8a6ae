import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '#patience';
import { createCircuitBoard, watchCircuits } from '#shared/catalogue/redis/circuits.ts';
import type { Redis } from 'ioredis';
import { connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';

const server = await startTestRedis();
let client: Redis;
let watch: ReturnType<typeof watchCircuits>;

beforeEach(async () => {
  client = connectTo(server.url);
  await client.flushall();
  watch = watchCircuits(client, (error) => {
    throw error;
  });
  await watch.start();
});
afterEach(async () => {
  await watch.stop();
  client.disconnect();
});

const OPEN = { region: 'eu', endpoint: 'a', open: true };
const SOON = { timeout: 60_000, interval: 20 };
/** Four seconds, where the product waits no longer than it is shipped to. */
const BELIEVED_MS = 4_000 * PATIENCE;
/** What the watch knows once it has come to know these. */
const known = (names: string[]) =>
  vi.waitFor(() => {
    const current = [...watch.current().open].toSorted();
    if (String(current) !== String(names)) throw new Error(`known are: ${String(current)}`);
    return current;
  }, SOON);

describe('the board of open circuits', () => {
  it('tells every process what a worker says, until the worker takes it back', async () => {
    const board = createCircuitBoard(client, 'w1');
    await board.publish([OPEN, { region: 'us', endpoint: 'a', open: true }]);
    expect(await known(['eu a', 'us a'])).toEqual(['eu a', 'us a']);
    await board.publish([OPEN]);
    expect(await known(['eu a'])).toEqual(['eu a']);
    await board.publish([]);
    expect(await known([])).toEqual([]);
  });

  it('believes no worker alone whose peers call the endpoint with success', async () => {
    const [one, other] = [createCircuitBoard(client, 'w1'), createCircuitBoard(client, 'w2')];
    await one.publish([OPEN]);
    expect(await known(['eu a'])).toEqual(['eu a']);
    await other.publish([{ ...OPEN, open: false }]);
    expect(await known([])).toEqual([]);
    await other.publish([OPEN]);
    expect(await known(['eu a'])).toEqual(['eu a']);
  });

  it('says which of the open circuits are due for a trial, until one is closed', async () => {
    const board = createCircuitBoard(client, 'w1');
    await board.publish([{ ...OPEN, trial: true, reached: true }]);
    expect(await known(['eu a'])).toEqual(['eu a']);
    expect([...watch.current().trial]).toEqual(['eu a']);
    expect([...watch.current().reached]).toEqual(['eu a']);
    await board.publish([OPEN]);
    await vi.waitFor(() => expect(watch.current().trial.size).toBe(0), SOON);
    expect([...watch.current().open]).toEqual(['eu a']);
  });

  it('forgets what a worker said that has died', async () => {
    await createCircuitBoard(client, 'w1').publish([OPEN]);
    expect(await known(['eu a'])).toEqual(['eu a']);
    const [member, until] = (await client.call('ZRANGE', 'circuits', 0, -1, 'WITHSCORES')) as [
      string,
      string,
    ];
    expect(Number(until) - Date.now()).toBeLessThanOrEqual(BELIEVED_MS);
    await client.zadd('circuits', Number(until) - BELIEVED_MS - 1, member);
    expect(await known([])).toEqual([]);
    expect(await client.exists('circuits')).toBe(0);
  });
});
