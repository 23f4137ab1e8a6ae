import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RedisServer } from '../../dev/stores/redis.ts';
import { createCircuitBoard, watchCircuits } from '../../shared/adapters/redis/circuits.ts';
import type { CircuitWatch } from '../../shared/ports/circuits.ts';
import type { Redis } from 'ioredis';
import { connectTo } from '../support/lanes.ts';
import { startTestRedis } from '../support/redis.ts';

let server: RedisServer;
let client: Redis;
let watch: CircuitWatch;

beforeAll(async () => {
  server = await startTestRedis();
});
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
const known = (names: string[]) =>
  vi.waitFor(() => expect([...watch.current()].toSorted()).toEqual(names), {
    timeout: 8_000,
    interval: 20,
  });

describe('the board of open circuits', () => {
  it('tells every process what a worker says, until the worker takes it back', async () => {
    const board = createCircuitBoard(client, 'w1');
    await board.publish([OPEN, { region: 'us', endpoint: 'a', open: true }]);
    await known(['eu a', 'us a']);
    await board.publish([OPEN]);
    await known(['eu a']);
    await board.publish([]);
    await known([]);
  });

  it('believes nobody alone whose peers call the endpoint with success', async () => {
    const [one, other] = [createCircuitBoard(client, 'w1'), createCircuitBoard(client, 'w2')];
    await one.publish([OPEN]);
    await known(['eu a']);
    await other.publish([{ ...OPEN, open: false }]);
    await known([]);
    await other.publish([OPEN]);
    await known(['eu a']);
  });

  it('forgets what a worker said that has died', async () => {
    await createCircuitBoard(client, 'w1').publish([OPEN]);
    await known(['eu a']);
    await known([]);
    expect(await client.exists('circuits')).toBe(0);
  });
});
