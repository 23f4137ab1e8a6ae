import { expect, it } from 'vitest';
import { inferenceLane, shardOf } from '#shared/lanes/keys.ts';
import { chatBody, post } from '#test/support/calls.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startSystem } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const SHARDS = 1;

it(
  'a request that Redis has lost is refused within seconds, as one that can be sent again',
  { tags: ['survives.empty-redis'] },
  async () => {
    const system = await startSystem({ replicas: {}, env: { SHARDS: `${SHARDS}` } });
    const ask = (): Promise<Response> => post(system, '/chat/completions', chatBody());
    expect((await ask()).status).toBe(200);
    const [worker] = system.processes('inference');
    worker!.kill('SIGSTOP');
    const client = connectTo(system.redis.url);
    const lane = inferenceLane(shardOf(system.orgId, SHARDS), 'eu-west');
    const waiting = ask();
    await until(async () => (await client.xlen(lane)) === 1, 'it is admitted');
    // As a Redis does that comes back without the last second of its append-only file.
    await client.del(lane);
    client.disconnect();

    const refused = await waiting;
    worker!.kill('SIGCONT');
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await refused.json()).toMatchObject({ error: { code: 'dispatch_unavailable' } });
    await until(async () => (await ask()).status === 200, 'it answers again');
  },
);
