import { describe, expect, it } from 'vitest';
import { aliveKey, PEERS_KEY } from '#shared/lanes/keys.ts';
import { differencesOf, type Peer, Peers } from '#shared/lanes/redis/peers.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';

const tags = ['survives.other-shards'];
const NONE = { problem: undefined, builds: 0, catalogues: 0 };
const ME: Peer = {
  startedAt: 2,
  shards: 4,
  writes: 1,
  reads: [1],
  build: 'docket/1',
  catalogue: 'c1',
};

const beside = (other: Partial<Peer>, otherId = 'api-2', id = 'api-1') =>
  differencesOf(ME, id, new Map([[otherId, { ...ME, ...other }]]));

describe('processes that use the same lanes', () => {
  it(
    'the later of two with other shards does not serve, and the earlier one does',
    { tags },
    () => {
      expect(beside({ shards: 2, startedAt: 1 }).problem).toBe(
        'SHARDS is 4 here and 2 in api-2, which runs',
      );
      expect(beside({ shards: 2, startedAt: 3 })).toEqual(NONE);
      expect(beside({ shards: 2 }, 'api-0').problem).toContain('SHARDS');
      expect(beside({ shards: 2 }, 'api-2')).toEqual(NONE);
    },
  );

  it(
    'a process does not serve beside one whose messages it cannot read, also when it was first',
    { tags },
    () => {
      expect(beside({ writes: 2, reads: [1, 2], startedAt: 3 }).problem).toBe(
        'api-2, which runs, writes format 2, which docket/1 cannot read',
      );
      expect(beside({ reads: [1, 2], startedAt: 3 })).toEqual(NONE);
    },
  );

  it('another build or catalogue is counted, and hinders nobody', () => {
    expect(beside({ build: 'docket/2' })).toEqual({ ...NONE, builds: 1 });
    expect(beside({ catalogue: 'c2' })).toEqual({ ...NONE, catalogues: 1 });
  });

  it(
    'processes hear of each other while they live; one that died or left hinders nobody and is forgotten',
    { tags },
    async () => {
      const client = connectTo((await startTestRedis()).url);
      const [first, second] = [new Peers(client, 'api-1'), new Peers(client, 'api-2')];
      await client.set(aliveKey('api-1'), '1');
      expect(await first.compare({ ...ME, startedAt: 1 })).toEqual(NONE);
      expect((await second.compare({ ...ME, shards: 1 })).problem).toContain('SHARDS is 1 here');
      await second.leave();
      expect(await client.hkeys(PEERS_KEY)).toEqual(['api-1']);
      await client.del(aliveKey('api-1'));
      expect(await second.compare({ ...ME, shards: 1 })).toEqual(NONE);
      expect(await client.hkeys(PEERS_KEY)).toEqual(['api-2']);
    },
  );
});
