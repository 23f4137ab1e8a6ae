import { beforeAll, expect, it } from 'vitest';
import { createCircuitBoard } from '#shared/catalogue/redis/circuits.ts';
import { chatBody, codeOf, post } from '#test/support/calls.ts';
import { writeTwoRegions } from '#test/support/catalogues.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

let system: System;

beforeAll(async () => {
  system = await startSystem({ env: { CATALOGUE: writeTwoRegions() } });
});

/** What becomes of requests for the region that are sent to an api process at the same time. */
const askAtOnce = (port: number, requests: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: requests }, async () => {
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      const body = chatBody({ model: 'everywhere', region: 'north' });
      const answer = await post(system, '/chat/completions', body, { baseUrl });
      return answer.status === 200 ? 'answered' : String(await codeOf(answer));
    }),
  );

it(
  'a region whose circuit is open lets one request through when its trial is due, and all of them after its success',
  { tags: ['codes.region_degraded', 'survives.region'] },
  async () => {
    const client = connectTo(system.redis.url);
    // Another worker, for which every call to the only endpoint of the region has failed.
    const board = createCircuitBoard(client, 'inference-elsewhere');
    let trial = false;
    const say = (): Promise<void> =>
      board.publish([{ region: 'north', endpoint: 'north-1', open: true, trial }]);
    await say();
    const saying = setInterval(() => void say(), 500);
    try {
      // It knows of the circuit from its start: an answer would speak against the other worker for seconds.
      const { port } = await system.start('api');
      expect(await askAtOnce(port, 4)).toEqual(Array.from({ length: 4 }, () => 'region_degraded'));

      trial = true;
      await say();
      let tried: string[] = [];
      await until(async () => {
        tried = await askAtOnce(port, 8);
        return tried.includes('answered');
      }, 'a request is let through');
      expect(tried.toSorted()).toEqual([
        'answered',
        ...Array.from({ length: 7 }, () => 'region_degraded'),
      ]);

      await until(
        async () => (await askAtOnce(port, 8)).every((became) => became === 'answered'),
        'the region is open to all',
      );
    } finally {
      clearInterval(saying);
    }
  },
);
