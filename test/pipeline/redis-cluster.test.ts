import { beforeAll, describe, expect, it } from 'vitest';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { post } from '#test/support/http.ts';
import { sendLoad } from '#test/support/load.ts';
import { expectSigned, type Receipt } from '#test/support/receipts.ts';
import { startTestRedisCluster } from '#test/support/redis-cluster.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const SHARDS = '4';
let system: System;
let redisUrl: string;

beforeAll(async () => {
  redisUrl = await startTestRedisCluster();
  // Any one node is enough.
  const [seed] = redisUrl.split(',');
  system = await startSystem({
    redisUrl: seed!,
    env: { SHARDS },
    replicas: { inference: 2, api: 2 },
  });
});

describe('a Redis Cluster of three nodes with four shards', () => {
  it('a Redis Cluster carries chat, streams and receipts like a single node', async () => {
    const seen = await sendLoad(system, { requests: 60, concurrency: 12 });
    expect(seen.filter(({ answered, signed }) => !answered || !signed)).toEqual([]);
  });

  it('idempotent requests run once over a Redis Cluster, with one receipt', async () => {
    const body = JSON.stringify({
      model: 'llama-3.1-8b',
      messages: [{ role: 'user', content: 'once' }],
      max_tokens: 4,
    });
    const answers = await Promise.all(
      Array.from({ length: 10 }, async () =>
        (await post(system, '/chat/completions', body, { 'idempotency-key': 'cluster' })).text(),
      ),
    );
    expect(new Set(answers).size).toBe(1);
    await expectSigned(system, (JSON.parse(answers[0]!) as { receipt: Receipt }).receipt);
  });

  it('a Redis Cluster delivers again what a killed worker held', async () => {
    const [victim] = system.processes('inference');
    const seen = await sendLoad(system, {
      requests: 60,
      concurrency: 12,
      onProgress: (finished) => {
        if (finished === 15) victim!.kill('SIGKILL');
      },
    });
    expect(seen.filter(({ answered }) => answered).length).toBeGreaterThan(30);
    const client = connectRedis({ url: redisUrl, name: 'test', use: 'patient' });
    try {
      const lanes = Array.from({ length: Number(SHARDS) }, (_, k) => [
        `{s${k}}:lane:inference:eu-west`,
        `{s${k}}:lane:receipts`,
      ]).flat();
      await until(async () => {
        const lengths = await Promise.all(lanes.map((lane) => client.xlen(lane)));
        return lengths.every((length) => length === 0);
      }, 'every lane is empty');
    } finally {
      client.disconnect();
    }
  });
});
