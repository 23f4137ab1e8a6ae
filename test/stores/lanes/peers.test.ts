import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { examinePeers } from '#cli/doctor/peers.ts';
import { aliveKey, FORMAT_KEY, FORMAT_MEMBER, PEERS_KEY } from '#shared/lanes/keys.ts';
import { KNOWN } from '#shared/lanes/messages.ts';
import {
  differencesOf,
  type Peer,
  PeerProblem,
  Peers,
  registerFormat,
} from '#shared/lanes/redis/peers.ts';
import { createRegistry } from '#shared/process/health-server.ts';
import { keepPeers } from '#shared/process/keep-peers.ts';
import type { ProcessContext } from '#shared/process/run-process.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

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

afterEach(() => void vi.useRealTimers());

describe('processes that use the same lanes', () => {
  it('the later of two with other shards does not serve, and the earlier one does [survives.other-shards]', () => {
    expect(beside({ shards: 2, startedAt: 1 }).problem).toBe(
      'SHARDS is 4 here and 2 in api-2, which runs. Mend that, or stop the other',
    );
    expect(beside({ shards: 2, startedAt: 3 })).toEqual(NONE);
    expect(beside({ shards: 2 }, 'api-0').problem).toContain('SHARDS');
    expect(beside({ shards: 2 }, 'api-2')).toEqual(NONE);
  });

  it('a process does not serve beside one whose messages it cannot read, also when it was first [survives.other-shards]', () => {
    expect(beside({ writes: 2, reads: [1, 2], startedAt: 3 }).problem).toBe(
      'api-2, which runs, writes format 2, which docket/1 cannot read. Stop those of docket/1 first, or upgrade through a build that reads both',
    );
    expect(beside({ reads: [1, 2], startedAt: 3 })).toEqual(NONE);
  });

  it('a process does not start beside one that could not read its messages, which goes on [survives.other-shards]', () => {
    expect(beside({ reads: [0], startedAt: 1 }).problem).toBe(
      'api-2, which runs, cannot read format 1, which docket/1 writes. Stop those of docket/1 first, or upgrade through a build that reads both',
    );
    expect(beside({ reads: [0], startedAt: 3 })).toEqual(NONE);
  });

  it.each([
    ['a newer api', 'inference', ['api-1', 'inference-2'], 'request'],
    ['a newer inference worker', 'receipts', ['inference-1', 'receipts-2'], 'outcome'],
  ] as const)(
    '%s and an older %s worker do not serve together, whichever starts, and each serves beside its like [survives.other-shards]',
    (_, __, [writerId, readerId], kind) => {
      const told = [...KNOWN[kind]];
      const older: Peer = { ...ME, build: 'docket/0', knows: KNOWN };
      const newer: Peer = {
        ...ME,
        build: 'docket/2',
        knows: { ...KNOWN, [kind]: [...told, 'secrecy'] },
      };
      const meets = (me: Peer, id: string, other: Peer, otherId: string) =>
        differencesOf(me, id, new Map([[otherId, { ...other, startedAt: 1 }]])).problem;
      const said = new RegExp(`docket/0 does not know \`secrecy\` of ${kind}s, .* docket/2 hands`);
      expect(meets(newer, writerId, older, readerId)).toMatch(said);
      expect(meets(older, readerId, newer, writerId)).toMatch(said);
      // In the order of an upgrade, and beside a build that says nothing of what it knows.
      expect(meets(newer, readerId, older, writerId)).toBeUndefined();
      expect(meets(older, writerId, newer, readerId)).toBeUndefined();
      expect(meets(newer, readerId, older, readerId)).toBeUndefined();
      expect(meets(newer, writerId, ME, readerId)).toBeUndefined();
    },
  );

  it('a process takes nothing from lanes that hold what it cannot read, though none that wrote it runs [survives.other-shards]', async () => {
    const client = connectTo((await startTestRedis()).url);
    const build = (writes: number, ...reads: number[]) => ({
      writes,
      reads,
      build: `docket/${writes}`,
    });
    await registerFormat(client, build(1, 1));
    await registerFormat(client, build(3, 1, 2, 3));
    // The release before reads what the one after it writes, and takes nothing back by writing its own.
    await registerFormat(client, build(2, 1, 2, 3));
    await expect(registerFormat(client, build(1, 1, 2))).rejects.toThrow(
      'written in format 3, and docket/1 reads 1 and 2. Start the build that wrote it, or a later one',
    );
    await expect(registerFormat(client, build(5, 4, 5))).rejects.toThrow(
      'written in format 3, and docket/5 reads 4 and 5. Upgrade through a build that reads 3 and writes 4',
    );
  });

  it('another build or catalogue is counted, and hinders no process', () => {
    expect(beside({ build: 'docket/2' })).toEqual({ ...NONE, builds: 1 });
    expect(beside({ catalogue: 'c2' })).toEqual({ ...NONE, catalogues: 1 });
  });

  it('processes hear of each other while they live; one that died or left hinders no other and is forgotten [survives.other-shards]', async () => {
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
  });

  it('one that may not start is not seen by those that run, which stay ready [survives.other-shards]', async () => {
    const client = connectTo((await startTestRedis()).url);
    const [running, newcomer] = [new Peers(client, 'api-1'), new Peers(client, 'api-2')];
    for (const id of ['api-1', 'api-2']) await client.set(aliveKey(id), '1');
    await running.compare({ ...ME, startedAt: 1 });
    const refused = await newcomer.compare({ ...ME, writes: 2, reads: [2] });
    expect(refused.problem).toContain('which docket/1 cannot read');
    expect(await running.compare({ ...ME, startedAt: 1 })).toEqual(NONE);
  });

  it('docket doctor names the builds and the catalogues of those that live, and warns where they differ [operators.build]', async () => {
    const client = connectTo((await startTestRedis()).url);
    const verdicts = async (): Promise<string[]> =>
      (await examinePeers(client)).map(
        ({ name, verdict, detail }) => `${name} ${verdict}: ${detail}`,
      );
    expect(await verdicts()).toEqual([
      'builds skipped: no api, inference or receipts process runs on this Redis',
    ]);
    const says = async (id: string, peer: Peer): Promise<void> => {
      await client.hset(PEERS_KEY, id, JSON.stringify(peer));
      await client.set(aliveKey(id), '1');
    };
    await says('api-1', ME);
    await says('api-2', { ...ME, build: 'docket/2' });
    expect(await verdicts()).toEqual([
      'builds warning: docket/1 in 1 process, docket/2 in 1 process',
      'catalogues ok: c1 in 2 processes',
    ]);
    await client.del(aliveKey('api-2'));
    expect(await verdicts()).toEqual([
      'builds ok: docket/1 in 1 process',
      'catalogues ok: c1 in 1 process',
    ]);
  });

  it('a process that cannot read what is on the lanes, or what one writes that runs, is not ready, and says so once [survives.other-shards]', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const client = connectTo((await startTestRedis()).url);
    const lines: string[] = [];
    const registry = createRegistry('api', false);
    const peers = keepPeers(
      {
        config: { shards: 1 } as ProcessContext['config'],
        log: pino({}, { write: (line) => void lines.push(line) }),
        registry,
        processId: 'api-1',
      },
      client,
      () => 'c1',
    );
    await client.zadd(FORMAT_KEY, 2, FORMAT_MEMBER);
    await expect(peers.join()).rejects.toThrow(PeerProblem);
    expect(await client.hkeys(PEERS_KEY)).toEqual([]);
    await client.del(FORMAT_KEY);
    await peers.join();
    expect(await client.zscore(FORMAT_KEY, FORMAT_MEMBER)).toBe('1');
    await peers.check();
    const other = { ...ME, startedAt: Date.now() + 1, shards: 1, writes: 2, reads: [1, 2] };
    await client.hset(PEERS_KEY, 'api-2', JSON.stringify(other));
    await client.set(aliveKey('api-2'), '1');
    const isReady = (): Promise<boolean> =>
      peers.check().then(
        () => true,
        () => false,
      );
    const looks = async (ready: boolean): Promise<void> => {
      vi.advanceTimersByTime(60_000);
      await until(async () => (await isReady()) === ready, `it has looked: ready is ${ready}`);
    };
    await looks(false);
    // That the second look is over is seen by what else it found.
    await client.hset(PEERS_KEY, 'api-3', JSON.stringify({ ...other, catalogue: 'c2' }));
    await client.set(aliveKey('api-3'), '1');
    vi.advanceTimersByTime(60_000);
    await until(
      async () =>
        /^docket_peers_differing\{.*of="catalogue".*\} 1$/m.test(await registry.metrics()),
      'it has looked twice',
    );
    expect(await isReady()).toBe(false);
    expect(lines.filter((line) => line.includes('writes format 2'))).toHaveLength(1);
    await client.del(aliveKey('api-2'), aliveKey('api-3'));
    await looks(true);
    await peers.leave();
  });
});
