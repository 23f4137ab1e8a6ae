import { afterAll, describe, expect, it } from 'vitest';
import { inferenceLane, receiptsLane, setAsideOf } from '#shared/lanes/keys.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { readLaneDepths } from '#shared/lanes/redis/depths.ts';
import { startTestRedis } from '#test/support/redis.ts';

const { url } = await startTestRedis();
const client = connectRedis({ url, name: 'test', use: 'patient' });
afterAll(() => client.disconnect());

describe('the depth of lanes', () => {
  it('tells what waits from what a worker holds, since when either, and what was set aside; a lane that is not there yet is empty [dashboard.operators]', async () => {
    const [lane, untouched, none] = [
      inferenceLane(0, 'eu-west'),
      receiptsLane(0),
      inferenceLane(0, 'nowhere'),
    ];
    for (const at of [1_000, 2_000, 3_000]) await client.xadd(lane, `${at}-0`, 'e', 'x');
    await client.xgroup('CREATE', lane, 'workers', '0');
    await client.xreadgroup('GROUP', 'workers', 'one', 'COUNT', 2, 'STREAMS', lane, '>');
    await client.xadd(setAsideOf(lane), '*', 'e', 'x');
    // Of a lane that no worker has read there is no group.
    await client.xadd(untouched, '5000-1', 'e', 'x');
    expect(await readLaneDepths(client, [lane, untouched, none])).toEqual([
      { lane, waiting: 1, running: 2, oldestAt: 1_000, waitingSince: 3_000, setAside: 1 },
      {
        lane: untouched,
        waiting: 1,
        running: 0,
        oldestAt: 5_000,
        waitingSince: 5_000,
        setAside: 0,
      },
      { lane: none, waiting: 0, running: 0, oldestAt: null, waitingSince: null, setAside: 0 },
    ]);
  });
});
