import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
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

/** The default bus port is 10,000 above the port, which may be taken or beyond the last one. */
async function startNode(): Promise<{ url: string; busPort: number }> {
  const busPort = await freePort();
  const { url } = await startTestRedis({
    settings: ['cluster-enabled yes', `cluster-port ${busPort}`],
  });
  return { url, busPort };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
