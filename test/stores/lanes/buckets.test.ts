import { expect, it } from 'vitest';
import { Buckets } from '#shared/lanes/redis/buckets.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';

const RATE = { requestsPerSecond: 1, burst: 20 };

it(
  'reads of an organisation share one rate over all api processes, and take nothing from its changes or from others',
  { tags: ['limits.reads'] },
  async () => {
    const { url } = await startTestRedis();
    const clients = [connectTo(url), connectTo(url)];
    const processes = clients.map((client) => new Buckets(defineLaneScripts(client), 1));
    const begun = performance.now();
    const waits = await Promise.all(
      Array.from({ length: 60 }, (_, i) => processes[i % 2]!.take('org_a', 'reads', RATE)),
    );
    const refilled = Math.ceil((performance.now() - begun) / 1_000);
    const taken = waits.filter((wait) => wait === 0).length;
    expect(taken).toBeGreaterThanOrEqual(20);
    expect(taken).toBeLessThanOrEqual(20 + refilled);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
    expect(await processes[0]!.take('org_a', 'changes', RATE)).toBe(0);
    expect(await processes[0]!.take('org_b', 'reads', RATE)).toBe(0);
    expect(await clients[0]!.pttl('{s0}:bucket:reads:org_a')).toBeGreaterThan(0);
    for (const client of clients) client.disconnect();
  },
);
