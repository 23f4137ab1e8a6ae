import { Redis } from 'ioredis';
import { claimPort } from '#embedded/ports.ts';
import type { RedisServer } from '#embedded/stores/redis.ts';
import { startTestRedis } from './redis.ts';
import { until } from './until.ts';

const NODES = 3;
const SLOTS = 16_384;

/** A Redis Cluster of three masters. Returns its URL: the nodes separated by commas. */
export async function startTestRedisCluster(): Promise<string> {
  const servers = await Promise.all(Array.from({ length: NODES }, () => startNode()));
  const nodes = servers.map(({ url }) => new Redis(url));
  try {
    const share = Math.ceil(SLOTS / NODES);
    await Promise.all(
      nodes.map((node, i) =>
        node.call('CLUSTER', 'ADDSLOTSRANGE', i * share, Math.min((i + 1) * share, SLOTS) - 1),
      ),
    );
    for (const { url, busPort } of servers.slice(1)) {
      await nodes[0]!.call('CLUSTER', 'MEET', '127.0.0.1', new URL(url).port, busPort);
    }
    await until(async () => {
      const states = await Promise.all(nodes.map((node) => node.cluster('INFO')));
      return states.every((state) => /cluster_state:ok/.test(state) && /known_nodes:3/.test(state));
    }, 'the nodes of the cluster know each other');
  } finally {
    for (const node of nodes) node.disconnect();
  }
  return servers.map(({ url }) => url).join(',');
}

/** A Redis Cluster of one master with all slots, and its replica. */
export async function startTestRedisClusterWithReplica(): Promise<{
  master: RedisServer;
  replica: RedisServer;
}> {
  const [master, replica] = await Promise.all([startNode(), startNode()]);
  const [first, second] = [new Redis(master.url), new Redis(replica.url)];
  try {
    await first.call('CLUSTER', 'ADDSLOTSRANGE', 0, SLOTS - 1);
    await first.call('CLUSTER', 'MEET', '127.0.0.1', new URL(replica.url).port, replica.busPort);
    await until(
      async () =>
        /cluster_state:ok/.test(await first.cluster('INFO')) &&
        /cluster_state:ok/.test(await second.cluster('INFO')),
      'the nodes know each other',
    );
    await second.call('CLUSTER', 'REPLICATE', await first.cluster('MYID'));
    await until(
      async () =>
        // A replica that was never written to is named to no client.
        (await first.incr('written')) > 0 &&
        // What clients are told, by whichever they ask.
        (await first.cluster('SLOTS'))[0]!.length === 4 &&
        (await second.cluster('SLOTS'))[0]!.length === 4,
      'the replica is in step',
    );
  } finally {
    for (const node of [first, second]) node.disconnect();
  }
  return { master, replica };
}

/** The default bus port is 10,000 above the port, which may be taken or beyond the last one. */
async function startNode(): Promise<RedisServer & { busPort: number }> {
  const busPort = await claimPort('127.0.0.1', 0);
  const server = await startTestRedis({
    settings: [
      'cluster-enabled yes',
      `cluster-port ${busPort}`,
      // Nodes tell each other what they are twice in this time.
      'cluster-node-timeout 4000',
      'repl-diskless-sync-delay 0',
    ],
  });
  return Object.assign(server, { busPort });
}
