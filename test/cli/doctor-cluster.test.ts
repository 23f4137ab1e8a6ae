import { beforeAll, describe, expect, it } from 'vitest';
import { examineRedis } from '#cli/doctor/redis.ts';
import { startTestRedisCluster } from '#test/support/redis-cluster.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { withDocumentedRights } from '#test/support/redis-rights.ts';

let nodes: string[];

beforeAll(async () => {
  nodes = (await startTestRedisCluster()).split(',');
});

async function topologyOf(url: string, shards: number) {
  const findings = await examineRedis(url, { allowVolatileRedis: true, shards });
  return findings.find(({ name }) => name === 'Redis topology');
}

describe('docket doctor', () => {
  it('tells a cluster, of which any one node is named, from a single server', async () => {
    for (const node of nodes) {
      expect(await topologyOf(node, 8)).toMatchObject({
        verdict: 'warning',
        detail: 'a cluster of 3 masters and 0 replicas, SHARDS is 8',
        fix: expect.stringContaining('replica') as string,
      });
    }
    const { url } = await startTestRedis();
    expect(await topologyOf(url, 8)).toMatchObject({ verdict: 'ok', detail: 'one node' });
  });

  it('needs no more rights than are documented, and warns where the channel is missing that ledger workers listen to', async () => {
    const rightsOf = async (url: string): Promise<unknown> => {
      const findings = await examineRedis(url, { allowVolatileRedis: true, shards: 8 });
      return findings.find(({ name }) => name === 'Redis rights');
    };
    const [restricted] = await Promise.all(nodes.map(withDocumentedRights));
    expect(await rightsOf(restricted!)).toMatchObject({ verdict: 'ok' });
    const { url } = await startTestRedis({
      settings: ['user docket on >secret ~* resetchannels +@all'],
    });
    expect(await rightsOf(url.replace('//', '//docket:secret@'))).toMatchObject({
      verdict: 'warning',
      detail: expect.stringContaining('ledger:owed') as string,
      fix: expect.stringContaining('&ledger:owed') as string,
    });
  });
});
